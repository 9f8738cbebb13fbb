import type { FastifyReply, FastifyRequest } from 'fastify';
import type { SendPage } from '../../api/health/start-page.ts';
import { publicExample } from '../../api/openapi/example-request.ts';
import { OPERATIONS_ACCESS } from '../../http/access/route-access.ts';
import { ERROR_CODES } from '../../http/errors/error-codes.ts';
import type { Server } from '../../http/request/http-server.ts';
import { JSON_TYPE } from '../../http/request/json-type.ts';
import { createDocumentBytes, sendDocument } from '../../http/server/document-bytes.ts';
import { Type } from '../../lib/encoding/schema.ts';
import { MAX_UNSIGNED_MESSAGE_LENGTH } from '../../warp/unsigned-message.ts';
import { Activity, type ActivityOptions } from './activity.ts';
import type { ConsoleFacts } from './console-facts.ts';
import { createPageFiles, type LoadPageFiles, sendPageFile } from './page-files.ts';

/** The page at `/` and the routes that only it needs. It is a client of the API like any other. */
export interface Console extends Disposable {
  /** Answers a browser's `GET /`. */
  readonly sendPage: SendPage;
  /** Bundles the page before the first visitor. */
  prepare(): Promise<void>;
  registerRoutes(server: Server): void;
}

export interface ConsoleOptions extends ActivityOptions {
  readonly version: string;
  readonly hasDevnet: boolean;
  /** Whether figures may be shown: not if the metrics have a separate port. */
  readonly hasFigures: boolean;
  readonly files?: LoadPageFiles;
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

export function openConsole(options: ConsoleOptions): Console {
  const { files = createPageFiles() } = options;
  // It shows what the metrics show, so it is missing where they have a separate port.
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
    sendPage: (request, reply) => send(request, reply, 'index.html'),
    prepare: async () => void (await files()),
    registerRoutes(server) {
      registerFacts(server, options);
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
    [Symbol.dispose]: () => activity?.[Symbol.dispose](),
  };
}

function registerFacts(server: Server, { networks, version, hasDevnet, hasFigures }: ConsoleOptions): void {
  const example = publicExample(networks.flatMap(({ pathNames }) => pathNames))?.requests[0]?.value;
  const document = createDocumentBytes(
    JSON.stringify({
      version,
      networks: networks.map(({ name, pathNames }) => ({ name, aliases: pathNames.filter((alias) => alias !== name) })),
      ...{ hasDevnet, hasFigures, maxMessageBytes: MAX_UNSIGNED_MESSAGE_LENGTH },
      ...(!hasDevnet && example && { example }),
      errorCodes: ERROR_CODES,
    } satisfies ConsoleFacts),
    JSON_TYPE,
  );
  server.get('/console/facts', { config, schema: { hide: true } }, async (request, reply) =>
    sendDocument(request, reply, document),
  );
}
