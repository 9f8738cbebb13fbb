import type { FastifyReply, FastifyRequest } from 'fastify';
import type { SendPage } from '../../api/health/start-page.ts';
import { publicExample } from '../../api/openapi/example-request.ts';
import { OPERATIONS_ACCESS } from '../../http/access/route-access.ts';
import { ERROR_CODES } from '../../http/errors/error-codes.ts';
import type { Server } from '../../http/request/http-server.ts';
import { JSON_TYPE } from '../../http/request/json-type.ts';
import { createDocumentBytes, sendDocument } from '../../http/server/document-bytes.ts';
import type { Clock } from '../../lib/concurrency/clock.ts';
import { Type } from '../../lib/encoding/schema.ts';
import { Activity, type ActivityOptions } from './activity.ts';
import { createActivityDocument } from './activity-document.ts';
import { ActivityBody } from './activity-record.ts';
import type { ConsoleFacts } from './console-facts.ts';
import { createPageFiles, type PageFiles, sendPageFile } from './page-files.ts';

/** The page for people at `/`, with what only it needs. All else it gets from the API, as any other client does. */
export interface Console extends Disposable {
  /** Answers a browser's `GET /`. */
  readonly sendPage: SendPage;
  /** Makes what the first visitor would wait for. */
  prepare(): Promise<void>;
  registerRoutes(server: Server): void;
}

export interface ConsoleOptions extends ActivityOptions {
  /** Of this service. */
  readonly version: string;
  /** Whether there are examples of a devnet. */
  readonly hasDevnet: boolean;
  /** Whether what the metrics say may be shown here: not where they have an address of their own. */
  readonly hasFigures: boolean;
  readonly files?: PageFiles;
}

type FactsOptions = Pick<ConsoleOptions, 'networks' | 'version' | 'hasDevnet' | 'hasFigures'>;

/** Nothing inline, nothing evaluated, nothing from elsewhere; and no page of others may frame it, as keys are typed in here. */
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

export function openConsole({ hasFigures, files = createPageFiles(), ...options }: ConsoleOptions): Console {
  const activity = hasFigures ? new Activity(options) : undefined;

  async function send(request: FastifyRequest, reply: FastifyReply, name: string): Promise<FastifyReply> {
    const file = await files.file(name);
    if (file === undefined) {
      reply.callNotFound();
      return reply;
    }
    reply.headers({ 'content-security-policy': CONTENT_SECURITY_POLICY, 'referrer-policy': 'no-referrer' });
    return sendPageFile(request, reply, file);
  }

  return {
    sendPage: (request, reply) => send(request, reply, 'index.html'),
    prepare: () => files.make(),
    registerRoutes(server) {
      registerFacts(server, { ...options, hasFigures });
      if (activity !== undefined) registerActivity(server, activity, options.clock);
      server.get(
        '/console/:file',
        { config, schema: { hide: true, params: Type.Object({ file: Type.String() }) } },
        (request, reply) => send(request, reply, request.params.file),
      );
    },
    [Symbol.dispose]: () => activity?.[Symbol.dispose](),
  };
}

/** What the page asks for first. */
function registerFacts(server: Server, options: FactsOptions): void {
  const { networks, version, hasDevnet, hasFigures } = options;
  const example = publicExample(networks.flatMap(({ pathNames }) => pathNames))?.requests[0]?.value;
  const document = createDocumentBytes(
    JSON.stringify({
      version,
      networks: networks.map(({ name, pathNames }) => ({ name, aliases: pathNames.filter((alias) => alias !== name) })),
      ...{ hasDevnet, hasFigures },
      ...(!hasDevnet && example && { example }),
      errorCodes: ERROR_CODES,
    } satisfies ConsoleFacts),
    JSON_TYPE,
  );
  server.get('/console/facts', { config, schema: { hide: true } }, async (request, reply) =>
    sendDocument(request, reply, document),
  );
}

function registerActivity(server: Server, activity: Activity, clock: Clock): void {
  const current = createActivityDocument(() => activity.read(), clock);
  server.get(
    '/console/activity',
    {
      config,
      schema: {
        operationId: 'serviceActivity',
        tags: ['Health'],
        summary: 'What the service does, and did over the last hour: what its console shows',
        description:
          'It is missing where the metrics have a port of their own, as it says what they say. It is made anew once a second.',
        response: { 200: ActivityBody },
      },
    },
    async (_request, reply) => {
      const { bytes, contentType } = await current();
      const untyped: FastifyReply = reply;
      return untyped.type(contentType).send(bytes);
    },
  );
}
