import type { FastifyRequest } from 'fastify';
import type { Clock } from '../../lib/concurrency/clock.ts';
import { DURATION_BUCKETS_SECONDS, type Metrics } from '../../telemetry/metrics.ts';
import { NO_SPAN, type Span, type Tracer } from '../../telemetry/spans.ts';
import type { RequestContext } from '../request/request-context.ts';
import type { RequestEnd, RequestLog } from './request-log.ts';

/** Label in place of a route or of a status. */
const NO_ROUTE = 'none';
const GONE = 'gone';

export interface RequestObserverOptions {
  readonly clock: Clock;
  readonly metrics: Metrics;
  /** Keeps the record of a request whose route is recorded. */
  readonly onRecordedEnd: (context: RequestContext, end: RequestEnd) => void;
}

/** Starts the span of a request. */
export function startSpan(tracer: Tracer, { method, headers, routeOptions: { url, config } }: FastifyRequest): Span {
  // Probes and scrapes would bury all other spans.
  if (config?.access?.group === 'operations') return NO_SPAN;
  return tracer.root(url === undefined ? method : `${method} ${url}`, 'server', headers);
}

/**
 * Returns a function that begins to observe a request, which ends when its answer is written or its client disconnects. The end writes the
 * metrics, the span and the access line: all that is recorded about a request whatever its route.
 */
export function createRequestObserver(log: RequestLog, { clock, metrics, onRecordedEnd }: RequestObserverOptions) {
  const { inFlight, internalErrors, requests, durations } = declareMetrics(metrics);

  function finish(context: RequestContext, end: RequestEnd): void {
    if (!end.isAnswered) context.abandon();
    log.answered(context, end);
    if (context.route.config?.isRecorded === true) onRecordedEnd(context, end);
    count(context, end);
    endSpan(context, end);
  }

  function count({ request, route, failure, waitedMs }: RequestContext, end: RequestEnd): void {
    inFlight.dec();
    // The status alone does not show a bug: a missed quorum and an upstream's failure may be a 500 too.
    if (failure?.code === 'internal_error') internalErrors.inc();
    // Paths without a route are chosen by clients, so they share one label.
    const url = route.url ?? NO_ROUTE;
    const status = end.isAnswered ? String(end.status) : GONE;
    requests.inc({ method: request.method, route: url, status });
    const statusClass = end.isAnswered ? `${status[0]}xx` : GONE;
    durations.observe({ route: url, status_class: statusClass }, Math.max(0, end.durationMs - waitedMs) / 1_000);
  }

  return (context: RequestContext): void => {
    const { raw } = context.reply;
    inFlight.inc();
    const startMs = clock.monotonicMs();
    let isOver = false;
    const end = (isAnswered: boolean = false): void => {
      if (isOver) return;
      isOver = true;
      const status = context.failure?.statusOfStream ?? raw.statusCode;
      finish(context, { isAnswered, status, durationMs: clock.monotonicMs() - startMs });
    };
    // `on` is cheaper than `once`, which has to remove its listener.
    raw.on('finish', () => end(true));
    raw.on('close', end);
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

function endSpan(context: RequestContext, { isAnswered, status }: RequestEnd): void {
  const { span, route, failure, request, reply } = context;
  if (span.isRecorded) {
    const { id, method, params } = request;
    const { raw } = reply;
    const errorCode = failure?.code;
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
