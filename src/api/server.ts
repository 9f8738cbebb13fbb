import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import fastify, { type FastifyReply, type FastifyRequest, LogController } from 'fastify';
import type { Registry } from 'prom-client';
import { type AccessOptions, registerAccess } from '../http/access/access.ts';
import { allowOrigin, registerCors } from '../http/access/cors.ts';
import { OPERATIONS_ACCESS, watchRouteAccess } from '../http/access/route-access.ts';
import { type ErrorForm, OWN_ERROR_FORM } from '../http/errors/error-form.ts';
import { RequestObserver } from '../http/observability/observe-requests.ts';
import { RequestLog } from '../http/observability/request-log.ts';
import { unescapeColons } from '../http/request/canonical-target.ts';
import type { Server } from '../http/request/http-server.ts';
import { dropJsonCharset } from '../http/request/json-type.ts';
import { findHeaderProblem } from '../http/request/request-headers.ts';
import { REQUEST_ID_HEADER, requestIDOf } from '../http/request/request-id.ts';
import { DrainingServer } from '../http/server/draining-server.ts';
import { createErrorHandler, handleNotFound, MAX_PARAM_LENGTH } from '../http/server/error-handler.ts';
import { answerMalformed } from '../http/server/malformed-requests.ts';
import { createMetricsText } from '../http/server/metrics-server.ts';
import { RequestBodies } from '../http/server/request-bodies.ts';
import { scheduleRequests } from '../http/server/schedule-requests.ts';
import type { Clock } from '../lib/concurrency/clock.ts';
import type { Network } from '../network/network.ts';
import { registerUpstreamRoutes, type UpstreamRouteOptions } from '../proxy/routes/upstream.ts';
import { createThrottledWarnings } from '../telemetry/log-throttle.ts';
import type { Logger } from '../telemetry/logger.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { NO_TRACER, type Tracer } from '../telemetry/spans.ts';
import { registerAggregateSignatures } from './aggregation/aggregate-signatures.ts';
import { registerGoRoutes } from './go-aggregator/go-routes.ts';
import { registerHealth, type ServiceState } from './health/health.ts';
import { registerStartPage, type SendPage } from './health/start-page.ts';
import { registerMessages } from './messages/messages.ts';
import { registerOpenApi } from './openapi/docs-page.ts';
import { type AggregationExamples, publicExample } from './openapi/example-request.ts';
import { registerSubnets } from './subnets/subnets.ts';
import { registerUptime } from './subnets/uptime.ts';

export interface ServerOptions {
  /** At least one. None has to be up: each answers for itself whether it is. */
  readonly networks: readonly Network[];
  /** Of this service, as its package says. */
  readonly version: string;
  /** What /metrics shows. */
  readonly registry: Registry;
  /** The metrics have an address of their own: this server has none. */
  readonly areMetricsElsewhere?: boolean;
  readonly state?: ServiceState;
  readonly metrics: Metrics;
  /** By default nothing is traced. */
  readonly tracer?: Tracer;
  readonly logger: Logger;
  /** The rest of the data API, the metrics service and the node RPC. */
  readonly upstream?: UpstreamRouteOptions;
  /** API keys and rate limits; without it everybody may do everything. */
  readonly access?: AccessOptions;
  /** Origins whose pages may use the service, as browsers send them; `*` alone is all, and none is the default. */
  readonly corsOrigins?: readonly string[];
  readonly clock: Clock;
  /** Of clients, at a time. */
  readonly maxConnections: number;
  /** Shared by all listeners of the process; by default the server has its own. */
  readonly bodies?: RequestBodies;
  /** When the server closes, requests under way have this long. */
  readonly drainTimeoutMs: number;
  /** Requests that can be tried on the page of the API, once there are some; the default is one of a public network. */
  readonly examples?: () => AggregationExamples | undefined;
  /** What browsers get at `/`; by default a page of links. */
  readonly startPage?: SendPage;
  /** Routes beside the service's own, under the same error form and in the same OpenAPI document. */
  readonly registerMore?: (server: Server) => void;
}

/** Bodies of routes that say nothing else; the aggregation route allows more. */
const DEFAULT_BODY_LIMIT = 16 * 1024;
/** Headers and body of one request must have arrived by then, so that slow senders cannot hold connections. */
const REQUEST_ARRIVAL_TIMEOUT_MS = 30_000;
/** Node's own interval would let them have twice as long. */
const ARRIVAL_CHECK_MS = 2_000;
const KEEP_ALIVE_TIMEOUT_MS = 72_000;
/** Name and value of a header on every answer, so that browsers take our JSON for nothing else. */
const NO_SNIFFING = ['x-content-type-options', 'nosniff'] as const;
/**
 * Of every answer whose route says nothing else. By RFC 9111, 4.2.2, a cache may keep a 200 or a 404 that says nothing for as long as it
 * likes: some do for two minutes, some for a day, and a subnet's state or a transaction that is not found is another one a second later.
 */
const NO_STORE = ['cache-control', 'no-store'] as const;

/** The HTTP server with all routes, not yet listening. */
export async function createServer(options: ServerOptions): Promise<Server> {
  const { networks, clock, corsOrigins = [], access, metrics, upstream, registerMore } = options;
  const log = new RequestLog(options.logger, clock);
  const server = createBareServer(options, log);
  const checkRouteAccess = watchRouteAccess(server);
  // Before all that may refuse a request, so that pages can read why; a preflight needs nothing else.
  registerCors(server, corsOrigins);
  server.addHook('onRequest', ({ raw }, _reply, done) => done(findHeaderProblem(raw)));
  const names = networks.flatMap(({ pathNames }) => pathNames);
  registerOpenApi(server, {
    isLimited: access !== undefined,
    example: options.examples ?? (() => publicExample(names)),
  });
  registerAccess(server, access, metrics);
  scheduleRequests(server, clock);
  registerAggregateSignatures(server, networks, clock);
  await registerGoRoutes(server, {
    ...{ networks, log, metrics, clock },
    withNames: true,
    isLimited: access !== undefined,
  });
  registerSubnets(server, networks);
  registerMessages(server, networks);
  registerUptime(server, networks);
  registerHealth(server, networks, options.state);
  registerStartPage(server, networks, options.version, options.startPage);
  if (options.areMetricsElsewhere !== true) registerMetrics(server, options.registry, clock);
  if (upstream !== undefined) await registerUpstreamRoutes(server, upstream);
  registerMore?.(server);
  await server.ready();
  checkRouteAccess();
  return server;
}

export type BareServerOptions = Pick<
  ServerOptions,
  'logger' | 'clock' | 'metrics' | 'tracer' | 'maxConnections' | 'bodies' | 'drainTimeoutMs' | 'access' | 'corsOrigins'
>;

/** Without routes: how connections, errors and bodies are handled, and requests followed. */
export function createBareServer(
  options: BareServerOptions,
  log: RequestLog,
  form: ErrorForm = OWN_ERROR_FORM,
): Server {
  const {
    logger,
    clock,
    metrics,
    maxConnections,
    drainTimeoutMs,
    access,
    corsOrigins = [],
    tracer = NO_TRACER,
    bodies = new RequestBodies({ clock, metrics }),
  } = options;
  const trustedProxies = access?.trustedProxies ?? [];
  const warnings = createThrottledWarnings(logger, clock);
  const handleError = createErrorHandler(log, form);
  const ofMalformed = {
    ...{ log, form },
    headers: {
      [NO_SNIFFING[0]]: NO_SNIFFING[1],
      ...(corsOrigins.includes('*') && { 'access-control-allow-origin': '*' }),
    },
    afterAnswers: (...args: Parameters<DrainingServer['afterAnswers']>) =>
      (server.server as DrainingServer).afterAnswers(...args),
  };
  const server: Server = fastify({
    serverFactory: (handler) =>
      new DrainingServer(
        {
          requestTimeout: REQUEST_ARRIVAL_TIMEOUT_MS,
          connectionsCheckingInterval: ARRIVAL_CHECK_MS,
          keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
        },
        {
          clock,
          maxConnections,
          drainTimeoutMs,
          onTimeout: (requests) =>
            logger.warn({ requests, drainTimeoutMs }, 'requests are broken off, as the service stops'),
          onBreakOff: (reason) => warnings(reason, { reason }, 'a connection is broken off, for what its client does'),
        },
        handler,
      ),
    // What still comes over an open connection while the service stops is answered, and its connection ends with the answer.
    return503OnClosing: false,
    // Fastify has no logger: with one it makes a child, looks whether that is a logger, and listens for the end of each request.
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: requestIDOf,
    rewriteUrl: ({ url = '' }) => unescapeColons(url),
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
    trustProxy: trustedProxies.length > 0 && [...trustedProxies],
    bodyLimit: DEFAULT_BODY_LIMIT,
    clientErrorHandler: (error, socket) => answerMalformed(error, socket, ofMalformed),
    // That the URL cannot be read: no hook has run then.
    frameworkErrors(error, request, reply) {
      setCommonHeaders(request, reply);
      observer.observe(request, reply);
      allowOrigin(corsOrigins, request, reply);
      reply.serializer(String); // no onSend hook runs, and without a serializer Fastify adds a charset
      handleError(error, request, reply);
    },
    // Unknown fields are refused, and so is "67" for 67: input that is corrected silently hides mistakes from those who make them.
    // The schemas are constants, which tests compile with validation: it is not repeated at each start.
    ajv: {
      customOptions: {
        ...{ removeAdditional: false, coerceTypes: false, useDefaults: false },
        ...{ validateSchema: false, meta: false },
      },
    },
  }).withTypeProvider<TypeBoxTypeProvider>();
  server.setErrorHandler(handleError);
  server.setNotFoundHandler(handleNotFound);
  // Before a request waits for its turn.
  server.server.prependListener('request', (request, response) => {
    bodies.receive(request, response);
  });
  server.decorate('bodies', bodies);
  // Bodies are JSON; Fastify would take plain text too, and then find that it is no object.
  server.removeAllContentTypeParsers();
  const parseJson = server.getDefaultJsonParser('error', 'error');
  const parser = bodies.parser((request, text, done) => void parseJson(request, text, done));
  server.addContentTypeParser('application/json', parser);
  const observer = new RequestObserver(server, { clock, log, metrics, tracer });
  server.decorateRequest('eventStream', undefined);
  server.addHook('onRequest', (request, reply, done) => {
    setCommonHeaders(request, reply);
    observer.observe(request, reply);
    // A request that tests inject comes from no listener.
    bodies.receive(request.raw, reply.raw);
    done();
  });
  server.addHook('onSend', (_request, reply, _payload, done) => {
    dropJsonCharset(reply);
    done();
  });
  return server;
}

function setCommonHeaders(request: FastifyRequest, reply: FastifyReply): void {
  reply
    .header(...NO_SNIFFING)
    .header(...NO_STORE)
    .header(REQUEST_ID_HEADER, request.id);
}

function registerMetrics(server: Server, registry: Registry, clock: Clock): void {
  const text = createMetricsText(registry, clock);
  server.get('/metrics', { config: { access: OPERATIONS_ACCESS }, schema: { hide: true } }, async (_request, reply) =>
    reply.type(registry.contentType).send(await text()),
  );
}
