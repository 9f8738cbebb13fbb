import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import fastify, { type FastifyBaseLogger, LogController } from 'fastify';
import type { Registry } from 'prom-client';
import type { Aggregator } from '../aggregator/aggregate.ts';
import type { SubnetReadiness } from '../aggregator/required-subnet.ts';
import type { Clock } from '../primitives/clock.ts';
import type { NodeID } from '../primitives/ids.ts';
import { type AccessOptions, registerAccess } from './access.ts';
import { allowOrigin, registerCors } from './cors.ts';
import { DrainingServer } from './draining-server.ts';
import { handleError, handleNotFound } from './error-handler.ts';
import type { Server } from './http-server.ts';
import { registerOpenApi } from './openapi-document.ts';
import { registerAggregateSignatures } from './routes/aggregate-signatures.ts';
import { registerHealth } from './routes/health.ts';
import { registerUpstreamRoutes, type UpstreamRouteOptions } from './routes/upstream.ts';

export interface ServerOptions {
  readonly aggregator: Aggregator;
  /** Names of the path's `{network}` served here. */
  readonly networks: readonly string[];
  readonly nodeID: NodeID;
  readonly readiness: () => readonly SubnetReadiness[];
  readonly registry: Registry;
  readonly logger: FastifyBaseLogger;
  /** The rest of the data API, the metrics service and the node RPC. */
  readonly upstream?: UpstreamRouteOptions;
  /** API keys and rate limits; without it everybody may do everything. */
  readonly access?: AccessOptions;
  /** Origins whose pages may use the service, as browsers send them; `*` alone is all, and none is the default. */
  readonly corsOrigins?: readonly string[];
  readonly clock: Clock;
  /** When the server closes, requests under way have this long. */
  readonly drainTimeoutMs: number;
  /** Routes beside the service's own, under the same error form and in the same OpenAPI document. */
  readonly registerMore?: (server: Server) => void;
}

/** Bodies of routes that say nothing else; the aggregation route allows more. */
const DEFAULT_BODY_LIMIT = 16 * 1024;
/** The longest parameter of a path that is right has 78 characters; up to this, its own check says what is wrong with it. */
const MAX_PARAM_LENGTH = 1_000;
/** Headers and body of one request must have arrived by then, so that slow senders cannot hold connections. */
const REQUEST_ARRIVAL_TIMEOUT_MS = 30_000;
const KEEP_ALIVE_TIMEOUT_MS = 72_000;

/** The HTTP server with all routes, not yet listening. */
export async function createServer(options: ServerOptions): Promise<Server> {
  const { logger, clock, drainTimeoutMs, corsOrigins = [] } = options;
  const { trustedProxies = [] } = options.access ?? {};
  const server: Server = fastify({
    serverFactory: (handler) =>
      new DrainingServer(
        { requestTimeout: REQUEST_ARRIVAL_TIMEOUT_MS, keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS },
        {
          clock,
          drainTimeoutMs,
          onTimeout: (requests) =>
            logger.warn({ requests, drainTimeoutMs }, 'requests are broken off, as the service stops'),
        },
        handler,
      ),
    loggerInstance: logger,
    logController: new LogController({ disableRequestLogging: true }),
    // One for all: no line is written of each request that a number of it would tie together.
    childLoggerFactory: (parent) => parent,
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
    trustProxy: trustedProxies.length > 0 && [...trustedProxies],
    bodyLimit: DEFAULT_BODY_LIMIT,
    frameworkErrors(error, request, reply) {
      allowOrigin(corsOrigins, request, reply);
      handleError(error, request, reply);
    },
    // Unknown fields are refused, and a "67" is no 67: silently mended input hides mistakes from the people who make them.
    ajv: { customOptions: { removeAdditional: false, coerceTypes: false, useDefaults: false } },
  }).withTypeProvider<TypeBoxTypeProvider>();
  server.setErrorHandler(handleError);
  // Bodies are JSON; Fastify would take plain text too, and then find that it is no object.
  server.removeContentTypeParser('text/plain');
  server.setNotFoundHandler(handleNotFound);
  // First, so that every answer has its headers, and a preflight needs nothing else.
  await registerCors(server, corsOrigins);

  await registerOpenApi(server, options.access !== undefined);
  const chargeCalls = options.access && (await registerAccess(server, options.access, options.registry));
  registerAggregateSignatures(server, options);
  registerHealth(server, options.nodeID, options.readiness);
  registerOperations(server, options);
  if (options.upstream !== undefined) await registerUpstreamRoutes(server, options.upstream, chargeCalls);
  options.registerMore?.(server);
  await server.ready();
  return server;
}

function registerOperations(server: Server, { registry }: ServerOptions): void {
  server.get('/metrics', { schema: { hide: true } }, async (_request, reply) => {
    return reply.type(registry.contentType).send(await registry.metrics());
  });
}
