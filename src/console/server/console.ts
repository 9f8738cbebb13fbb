import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import type { SendPage } from '../../api/health/start-page.ts';
import type { Server } from '../../http/request/http-server.ts';
import { JSON_TYPE } from '../../http/request/json-type.ts';
import { OPERATIONS_ACCESS } from '../../http/request/route-access.ts';
import { createDocumentBytes, sendDocument } from '../../http/server/document-bytes.ts';
import { Activity, type ActivityOptions } from './activity.ts';
import { consoleFacts, type ServedConsole } from './console-facts.ts';
import { createPageFiles, type LoadPageFiles, sendPageFile } from './page-files.ts';

interface ConsoleOptions extends ActivityOptions, ServedConsole {
  readonly files?: LoadPageFiles;
}

/** The console: a page for browsers and its routes. Disposing of it ends its samples. */
export interface Console extends Disposable {
  /** Answers a browser's `GET /`. */
  readonly sendPage: SendPage;
  /** Bundles the page before the first visitor. */
  prepare(): Promise<void>;
  registerRoutes(server: Server): void;
}

/** No inline code, no other origins, and no frames, because API keys are typed in here. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const config = { access: OPERATIONS_ACCESS };

/** Opens the page at `/` and the routes that only it needs. It is a client of the API like any other. */
export function openConsole(options: ConsoleOptions): Console {
  const { files = createPageFiles() } = options;
  // The figures come from the metrics, so they are missing if these have a separate port.
  const activity = options.hasFigures ? new Activity(options) : undefined;

  async function send(request: FastifyRequest, reply: FastifyReply, name: string): Promise<FastifyReply> {
    const file = (await files()).get(name);
    if (file === undefined) {
      reply.callNotFound();
      return reply;
    }
    reply.headers({ 'content-security-policy': CONTENT_SECURITY_POLICY, 'referrer-policy': 'no-referrer' });
    return sendPageFile(request, reply, file);
  }

  return {
    sendPage: (request: FastifyRequest, reply: FastifyReply) => send(request, reply, 'index.html'),
    prepare: async (): Promise<void> => void (await files()),
    registerRoutes(server: Server): void {
      const facts = createDocumentBytes(JSON.stringify(consoleFacts(options)), JSON_TYPE);
      server.get('/console/facts', { config, schema: { hide: true } }, async (request, reply) =>
        sendDocument(request, reply, facts),
      );
      if (activity !== undefined) {
        server.get('/console/activity', { config, schema: { hide: true } }, async (_request, reply) =>
          reply.type(JSON_TYPE).send(await activity.json()),
        );
      }
      server.get(
        '/console/:file',
        { config, schema: { hide: true, params: Type.Object({ file: Type.String() }) } },
        (request, reply) => send(request, reply, request.params.file),
      );
    },
    [Symbol.dispose]: (): void => activity?.[Symbol.dispose](),
  };
}
