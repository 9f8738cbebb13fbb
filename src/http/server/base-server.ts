import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import fastify, { type FastifyReply, type FastifyRequest, LogController } from 'fastify';
import { isObject } from '../../lib/encoding/is-object.ts';
import { findExcess } from '../../lib/encoding/json-source.ts';
import { createThrottledWarnings } from '../../telemetry/log-throttle.ts';
import type { Logger } from '../../telemetry/logger.ts';
import type { Tracer } from '../../telemetry/spans.ts';
import { AccessGate, type AccessOptions, registerAccess, requireRouteAccess } from '../access/access.ts';
import { allowOrigin, registerCors } from '../access/cors.ts';
import type { FactsOfError } from '../errors/error-facts.ts';
import { type ErrorForm, OWN_ERROR_FORM } from '../errors/error-form.ts';
import { badRequest, noSuchRoute } from '../errors/http-error.ts';
import { createRequestObserver, type RequestObserverOptions, startSpan } from '../observability/observe-requests.ts';
import { RequestLog } from '../observability/request-log.ts';
import { unescapeColons } from '../request/canonical-target.ts';
import type { Server } from '../request/http-server.ts';
import { dropJsonCharset } from '../request/json-type.ts';
import { RequestContext } from '../request/request-context.ts';
import { findHeaderProblem } from '../request/request-headers.ts';
import { REQUEST_ID_HEADER, requestIDOf } from '../request/request-id.ts';
import { DrainingServer } from './draining-server.ts';
import { createErrorHandler, MAX_PARAM_LENGTH } from './error-handler.ts';
import { answerMalformed } from './malformed-requests.ts';
import type { RequestBodies } from './request-bodies.ts';
import { scheduleRequests } from './schedule-requests.ts';

export interface BaseServerOptions extends RequestObserverOptions {
  readonly logger: Logger;
  readonly tracer: Tracer;
  /** API keys and rate limits. */
  readonly access: AccessOptions;
  /** Origins whose pages may use the service; `*` alone allows all. */
  readonly corsOrigins: readonly string[];
  /** {@link MAX_CONNECTIONS} by default. */
  readonly maxConnections?: number | undefined;
  /** Bounds the arrival of one request, headers and body, so that slow senders cannot hold connections; 30 s by default. */
  readonly requestArrivalTimeoutMs?: number;
  /** Knows more of the errors that routes raise than their codes. */
  readonly factsOfError?: FactsOfError;
  /** Shared by all listeners of the process. */
  readonly bodies: RequestBodies;
  /** Time that open requests have when the server closes. */
  readonly drainTimeoutMs: number;
  /** Whether the service will stop soon. */
  readonly isDraining?: () => boolean;
}

/** Above it a new connection closes an idle one. Each needs a file descriptor. */
export const MAX_CONNECTIONS = 4_096;
/** Limit of routes that set no other. */
const DEFAULT_BODY_LIMIT = 16 * 1024;
/** Bodies have two; the bound protects the parser. */
const MAX_BODY_LEVELS = 32;
const REQUEST_ARRIVAL_TIMEOUT_MS = 30_000;
/** Node's default interval would double the timeout. */
const ARRIVAL_CHECK_MS = 2_000;
const KEEP_ALIVE_TIMEOUT_MS = 72_000;
const NO_SNIFFING = ['x-content-type-options', 'nosniff'] as const;
/**
 * Default of all routes. By RFC 9111, 4.2.2, a cache may keep a 200 or 404 without this header for any time, but a subnet's state
 * changes within a second.
 */
const NO_STORE = ['cache-control', 'no-store'] as const;

/**
 * Creates a Fastify server without routes: connections, bodies, errors, request IDs, CORS, access, log, metrics and traces. It
 * refuses a route that does not declare its access.
 */
export function createBaseServer(options: BaseServerOptions, form: ErrorForm = OWN_ERROR_FORM): Server {
  const { logger, clock, metrics, tracer, drainTimeoutMs, access, corsOrigins, bodies } = options;
  const { requestArrivalTimeoutMs = REQUEST_ARRIVAL_TIMEOUT_MS, maxConnections = MAX_CONNECTIONS } = options;
  const { trustedProxies } = access;
  const log = new RequestLog(logger, clock);
  const warnings = createThrottledWarnings(logger, clock);
  const handleError = createErrorHandler({ log, form, clock, factsOf: options.factsOfError ?? (() => undefined) });
  const malformed = {
    log,
    form,
    headers: {
      [NO_SNIFFING[0]]: NO_SNIFFING[1],
      ...(corsOrigins.includes('*') && { 'access-control-allow-origin': '*' }),
    },
    afterAnswers: (...args: Parameters<DrainingServer['afterAnswers']>) =>
      (server.server as DrainingServer).afterAnswers(...args),
  };
  const gate = new AccessGate(access, metrics);
  const observe = createRequestObserver(log, options);
  const begin = (request: FastifyRequest, reply: FastifyReply): void => {
    setCommonHeaders(request, reply);
    request.context = new RequestContext(request, reply, startSpan(tracer, request), gate);
    observe(request.context);
  };
  const server: Server = fastify({
    serverFactory: (handler) =>
      new DrainingServer(
        {
          requestTimeout: requestArrivalTimeoutMs,
          connectionsCheckingInterval: ARRIVAL_CHECK_MS,
          keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
        },
        {
          clock,
          maxConnections,
          drainTimeoutMs,
          ...(options.isDraining && { isStopping: options.isDraining }),
          onTimeout: (requests) =>
            logger.warn({ requests, drainTimeoutMs }, 'open requests are aborted because the service stops'),
          onBreakOff: (reason) =>
            warnings(reason, { reason }, 'a connection is closed because of what its client does'),
        },
        handler,
      ),
    // During shutdown, requests on open connections are answered, and each connection closes with its answer.
    return503OnClosing: false,
    // Fastify would create a child logger and listeners for each request.
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: requestIDOf,
    rewriteUrl: ({ url = '' }) => unescapeColons(url),
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
    trustProxy: trustedProxies.length > 0 && [...trustedProxies],
    bodyLimit: DEFAULT_BODY_LIMIT,
    clientErrorHandler: (error, socket) => answerMalformed(error, socket, malformed),
    // The URL cannot be parsed; no hook has run.
    frameworkErrors(error, request, reply) {
      begin(request, reply);
      allowOrigin(corsOrigins, request, reply);
      reply.serializer(String); // without it Fastify adds a charset, and no onSend hook runs
      handleError(error, request, reply);
    },
    // Unknown fields are rejected, and so is "67" for 67: silent corrections hide mistakes of clients. The schemas are constants,
    // which tests validate.
    ajv: {
      customOptions: {
        removeAdditional: false,
        coerceTypes: false,
        useDefaults: false,
        discriminator: true,
        validateSchema: false,
        meta: false,
      },
    },
  }).withTypeProvider<TypeBoxTypeProvider>();
  server.setErrorHandler(handleError);
  server.setNotFoundHandler((request, reply) => void reply.send(noSuchRoute(request)));
  // Before a request is queued.
  server.server.prependListener('request', (request, response) =>
    bodies.receive(request, response, () =>
      (server.server as DrainingServer).breakOff(request.socket, 'sends too many small chunks'),
    ),
  );
  // Fastify would accept plain text too.
  server.removeAllContentTypeParsers();
  const parseJson = server.getDefaultJsonParser('error', 'error');
  const parser = bodies.parser((request, text, done) => {
    if (findExcess(text, { levels: MAX_BODY_LEVELS }) === undefined) return void parseJson(request, text, done);
    done(badRequest(`body is nested in more than ${MAX_BODY_LEVELS} levels`));
  });
  server.addContentTypeParser('application/json', parser);
  server.decorateRequest('context');
  server.addHook('onRequest', (request, reply, done) => {
    begin(request, reply);
    // Injected requests come from no listener.
    bodies.receive(request.raw, reply.raw, () => request.raw.destroy());
    done();
  });
  server.addHook('preValidation', (request, _reply, done) => {
    // Null counts as left out, as on the Go aggregator's route.
    const { body } = request;
    if (isObject(body)) request.body = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null));
    done();
  });
  server.addHook('onSend', (_request, reply, _payload, done) => {
    dropJsonCharset(reply);
    done();
  });
  requireRouteAccess(server);
  // CORS precedes all that may reject a request, so that pages can read the reason.
  registerCors(server, corsOrigins);
  server.addHook('onRequest', ({ raw }, _reply, done) => done(findHeaderProblem(raw)));
  registerAccess(server, gate);
  scheduleRequests(server, clock);
  return server;
}

function setCommonHeaders(request: FastifyRequest, reply: FastifyReply): void {
  reply
    .header(...NO_SNIFFING)
    .header(...NO_STORE)
    .header(REQUEST_ID_HEADER, request.id);
}
