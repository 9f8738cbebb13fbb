import fastifySwagger from '@fastify/swagger';
import fastifySwaggerUi from '@fastify/swagger-ui';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import fastify, { type FastifyBaseLogger, LogController } from 'fastify';
import type { Registry } from 'prom-client';
import type { Aggregator } from '../aggregator/aggregate.ts';
import type { L1Messages } from '../aggregator/l1-messages.ts';
import type { Readiness } from '../aggregator/validator-connections.ts';
import type { NodeID } from '../primitives/ids.ts';
import { type AccessOptions, registerAccess } from './access.ts';
import { handleError, handleNotFound } from './error-handler.ts';
import type { Server } from './http-server.ts';
import { describeAccess } from './openapi-document.ts';
import { registerAggregateSignatures } from './routes/aggregate-signatures.ts';
import { registerHealth } from './routes/health.ts';
import { registerUpstreamRoutes, type UpstreamRouteOptions } from './routes/upstream.ts';

export interface ServerOptions {
  readonly aggregator: Aggregator;
  readonly l1Messages: L1Messages;
  /** Names of the path's `{network}` served here. */
  readonly networks: readonly string[];
  readonly nodeID: NodeID;
  readonly readiness: () => Readiness;
  readonly registry: Registry;
  readonly logger: FastifyBaseLogger;
  /** The rest of the data API, the metrics service and the node RPC. */
  readonly upstream?: UpstreamRouteOptions;
  /** API keys and rate limits; without it everybody may do everything. */
  readonly access?: AccessOptions;
  /** Routes beside the service's own, under the same error form and in the same OpenAPI document. */
  readonly registerMore?: (server: Server) => void;
}

/** Bodies of routes that say nothing else; the aggregation route allows more. */
const DEFAULT_BODY_LIMIT = 16 * 1024;
/** Headers and body of one request must have arrived by then, so that slow senders cannot hold connections. */
const REQUEST_ARRIVAL_TIMEOUT_MS = 30_000;
const KEEP_ALIVE_TIMEOUT_MS = 72_000;

/** The HTTP server with all routes, not yet listening. */
export async function createServer(options: ServerOptions): Promise<Server> {
  const server: Server = fastify({
    loggerInstance: options.logger,
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: DEFAULT_BODY_LIMIT,
    requestTimeout: REQUEST_ARRIVAL_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    frameworkErrors: handleError,
    trustProxy: options.access === undefined ? false : [...options.access.trustedProxies],
    // Unknown fields are refused, and a "67" is no 67: silently mended input hides mistakes from the people who make them.
    ajv: { customOptions: { removeAdditional: false, coerceTypes: false, useDefaults: false } },
  }).withTypeProvider<TypeBoxTypeProvider>();
  server.setErrorHandler(handleError);
  // Bodies are JSON; Fastify would take plain text too, and then find that it is no object.
  server.removeContentTypeParser('text/plain');
  server.setNotFoundHandler(handleNotFound);

  await server.register(fastifySwagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Warp signature aggregator',
        description:
          'Turns Avalanche Warp messages into signed ones, and passes on what else the chain data API, the metrics service ' +
          'and the node RPC offer.',
        version: '1',
      },
    },
    transformObject(object) {
      const document = 'openapiObject' in object ? object.openapiObject : object.swaggerObject;
      if (options.access !== undefined) describeAccess(document as Parameters<typeof describeAccess>[0]);
      return document;
    },
  });
  // Its scripts and styles come from this service: no other host is asked.
  await server.register(fastifySwaggerUi, { routePrefix: '/docs', staticCSP: true, uiConfig: { deepLinking: true } });
  if (options.access !== undefined) await registerAccess(server, options.access);
  registerAggregateSignatures(server, options);
  registerHealth(server, options.nodeID, options.readiness);
  registerOperations(server, options);
  if (options.upstream !== undefined) await registerUpstreamRoutes(server, options.upstream);
  options.registerMore?.(server);
  await server.ready();
  return server;
}

function registerOperations(server: Server, { registry, readiness }: ServerOptions): void {
  server.get('/metrics', { schema: { hide: true } }, async (_request, reply) => {
    // Sets the connected-weight gauges as they are at the scrape.
    readiness();
    return reply.type(registry.contentType).send(await registry.metrics());
  });
  server.get('/openapi.json', { schema: { hide: true } }, async () => server.swagger());
}
