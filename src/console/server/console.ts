import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import type { SendPage } from '../../api/health/start-page.ts';
import type { AccessOptions } from '../../http/access/access.ts';
import { isOperator } from '../../http/access/operator-access.ts';
import { HttpError } from '../../http/errors/http-error.ts';
import type { Server } from '../../http/request/http-server.ts';
import { JSON_TYPE } from '../../http/request/json-type.ts';
import { FIGURES_ACCESS, OPERATIONS_ACCESS } from '../../http/request/route-access.ts';
import { createDocumentBytes, type DocumentBytes, sendDocument } from '../../http/server/document-bytes.ts';
import { Activity, type ActivityOptions } from './activity.ts';
import { consoleFacts, type ServedConsole } from './console-facts.ts';
import { createPageFiles, type LoadPageFiles, sendPageFile } from './page-files.ts';

interface ConsoleOptions extends ActivityOptions, ServedConsole {
  readonly access: AccessOptions;
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
const hidden = { hide: true };

/** Opens the page at `/` and the routes that only it needs. It is a client of the API like any other. */
export function openConsole(options: ConsoleOptions): Console {
  const { files = createPageFiles(), access, networks, areFiguresPublic } = options;
  const activity = new Activity(options);

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
      const [facts, factsWithKey] = [false, true].map((isKeyNeeded) =>
        createDocumentBytes(JSON.stringify(consoleFacts(options, isKeyNeeded)), JSON_TYPE),
      ) as [DocumentBytes, DocumentBytes];
      server.get('/console/facts', { config, schema: hidden }, async (request, reply) =>
        sendDocument(request, reply, access.rules.requireKey === true ? factsWithKey : facts),
      );
      server.get(
        '/console/chains/:network',
        { config, schema: { ...hidden, params: Type.Object({ network: Type.String() }) } },
        async ({ params, context }) => {
          const network = networks.find(({ name }) => name === params.network);
          if (network === undefined) throw new HttpError('unknown_network', `there is no network ${params.network}`);
          return network.primaryChains.find(context.signal);
        },
      );
      // The metrics on a port of their own are not for clients, and nor are the figures, which are made of them.
      const figuresConfig = { access: areFiguresPublic ? OPERATIONS_ACCESS : FIGURES_ACCESS };
      server.get('/console/activity', { config: figuresConfig, schema: hidden }, async (request, reply) => {
        if (!areFiguresPublic && !isOperator(request, access, 'the figures are shown')) {
          throw new HttpError('forbidden', 'the figures are shown for an API key with the right operate only');
        }
        return reply.type(JSON_TYPE).send(await activity.json());
      });
      server.get(
        '/console/:file',
        { config, schema: { ...hidden, params: Type.Object({ file: Type.String() }) } },
        (request, reply) => send(request, reply, request.params.file),
      );
    },
    [Symbol.dispose]: (): void => activity[Symbol.dispose](),
  };
}
