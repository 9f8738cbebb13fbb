import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AggregationReport } from '../../aggregation/aggregator-error.ts';
import type { Clock } from '../../lib/concurrency/clock.ts';
import { DURATION_BUCKETS_SECONDS, type Metrics } from '../../telemetry/metrics.ts';
import { NO_SPAN, type Span, type Tracer } from '../../telemetry/spans.ts';
import type { ErrorCode } from '../errors/error-codes.ts';
import { ClientGone } from '../errors/http-error.ts';
import type { Server } from '../request/http-server.ts';
import type { RequestEnd, RequestLog } from './request-log.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Span of the whole request, the parent of all spans of its work. */
    span: Span;
    errorCode: ErrorCode | undefined;
    /** Status that a plain answer would have had, of a stream that ended with an error after its 200. */
    endStatus: number | undefined;
    /** Time in which a transaction was awaited: it is no part of the measured duration. */
    waitedMs: number;
    /** What the validators did, of an aggregation that failed. */
    failure: AggregationReport | undefined;
  }
}

/** Label in place of a route or of a status. */
const NO_ROUTE = 'none';
const GONE = 'gone';

export interface RequestObserverOptions {
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly tracer: Tracer;
  /** Keeps the record of a request whose route is recorded. */
  readonly onRecordedEnd: (request: FastifyRequest, end: RequestEnd) => void;
}

/**
 * Returns a function that begins to observe a request, which ends when its answer is written or its client disconnects. The end writes the
 * metrics, the span and the access line: all that is recorded about a request whatever its route.
 */
export function createRequestObserver(server: Server, log: RequestLog, options: RequestObserverOptions) {
  const { clock, tracer, onRecordedEnd } = options;
  const { inFlight, internalErrors, requests, durations } = declareMetrics(options.metrics);
  server.decorateRequest('route');
  server.decorateRequest('span');
  server.decorateRequest('errorCode', undefined);
  server.decorateRequest('endStatus', undefined);
  server.decorateRequest('failure', undefined);
  server.decorateRequest('waitedMs');
  server.decorateRequest('aggregation', undefined);
  server.decorateRequest('gone', undefined);

  function finish(request: FastifyRequest, reply: FastifyReply, end: RequestEnd): void {
    if (!end.isAnswered) request.gone?.abort(new ClientGone());
    log.answered(request, reply, end);
    if (request.route.config?.isRecorded === true) onRecordedEnd(request, end);
    count(request, end);
    endSpan(request, reply, end);
  }

  function count(request: FastifyRequest, { isAnswered, status, durationMs }: RequestEnd): void {
    inFlight.dec();
    // The status alone does not show a bug: a missed quorum and an upstream's failure may be a 500 too.
    if (request.errorCode === 'internal_error') internalErrors.inc();
    // Paths without a route are chosen by clients, so they share one label.
    const route = request.route.url ?? NO_ROUTE;
    const [text, statusClass] = isAnswered ? [String(status), `${String(status)[0]}xx`] : [GONE, GONE];
    requests.inc({ method: request.method, route, status: text });
    durations.observe({ route, status_class: statusClass }, Math.max(0, durationMs - request.waitedMs) / 1_000);
  }

  return (request: FastifyRequest, reply: FastifyReply): void => {
    request.route = request.routeOptions;
    request.waitedMs = 0;
    const { method, headers, route } = request;
    inFlight.inc();
    // Probes and scrapes would bury all other spans.
    request.span =
      route.config?.access?.group === 'operations'
        ? NO_SPAN
        : tracer.root(route.url === undefined ? method : `${method} ${route.url}`, 'server', headers);
    const startMs = clock.monotonicMs();
    let isOver = false;
    const end = (isAnswered: boolean = false): void => {
      if (isOver) return;
      isOver = true;
      const status = request.endStatus ?? reply.raw.statusCode;
      finish(request, reply, { isAnswered, status, durationMs: clock.monotonicMs() - startMs });
    };
    // `on` is cheaper than `once`, which has to remove its listener.
    reply.raw.on('finish', () => end(true));
    reply.raw.on('close', end);
  };
}

function declareMetrics(metrics: Metrics) {
  return {
    inFlight: metrics.gauge({ name: 'http_requests_in_flight', help: 'Requests that are not answered yet' }),
    internalErrors: metrics.counter({
      name: 'http_internal_errors_total',
      help: 'Requests that failed because of a bug of the service, with the error code internal_error',
    }),
    requests: metrics.counter({
      name: 'http_requests_total',
      help: 'Requests by method, route and status; the status is "gone" if the client disconnected before its answer',
      labels: ['method', 'route', 'status'],
    }),
    durations: metrics.histogram({
      name: 'http_request_duration_seconds',
      help: 'Time from the headers of a request to the end of its answer, without that in which a transaction was awaited, by route and class of the status',
      labels: ['route', 'status_class'],
      buckets: DURATION_BUCKETS_SECONDS,
    }),
  };
}

function endSpan(
  { span, id, method, route, params, errorCode }: FastifyRequest,
  { raw }: FastifyReply,
  { isAnswered, status }: RequestEnd,
): void {
  if (span.isRecorded) {
    span.set('http.request.method', method);
    if (route.url !== undefined) span.set('http.route', route.url);
    span.set('request.id', id);
    const network = (params as { readonly network?: string } | undefined)?.network;
    if (network !== undefined) span.set('network', network); // the client's name for it
    if (raw.headersSent) span.set('http.response.status_code', raw.statusCode);
    if (!isAnswered) span.set('client.gone', true);
    if (errorCode !== undefined) span.set('error.type', errorCode);
    if (raw.headersSent && status >= 500) span.fail(errorCode ?? `status ${status}`);
  }
  span.end();
}
