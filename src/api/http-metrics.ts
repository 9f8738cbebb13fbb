import type { FastifyReply, FastifyRequest } from 'fastify';
import { DURATION_BUCKETS_SECONDS, type Gauge, type Metrics } from '../telemetry/metrics.ts';
import type { RequestEnd, RequestFollower } from './follow-request.ts';

/** What every request shows, whatever its route: how many, how long, how they ended, and how many are under way. */
export class HttpMetrics implements RequestFollower {
  readonly #count: (labels: { readonly method: string; readonly route: string; readonly status: string }) => void;
  readonly #observe: (labels: { readonly route: string; readonly status_class: string }, seconds: number) => void;
  readonly #inFlight: Gauge;

  constructor(metrics: Metrics) {
    const requests = metrics.counter({
      name: 'http_requests_total',
      help: 'Requests by method, route and status; the status is "gone" where the client left before its answer',
      labels: ['method', 'route', 'status'],
    });
    const durations = metrics.histogram({
      name: 'http_request_duration_seconds',
      help: 'Time from the headers of a request to the end of its answer, by route and class of the status',
      labels: ['route', 'status_class'],
      buckets: DURATION_BUCKETS_SECONDS,
    });
    this.#inFlight = metrics.gauge({ name: 'http_requests_in_flight', help: 'Requests that are not answered yet' });
    this.#count = (labels) => requests.inc(labels);
    this.#observe = (labels, seconds) => durations.observe(labels, seconds);
  }

  begin(): void {
    this.#inFlight.inc();
  }

  over({ method, route }: FastifyRequest, _reply: FastifyReply, end: RequestEnd): void {
    this.#inFlight.dec();
    // The pattern, of which there are as many as routes; the path of what has no route is any text of the client's.
    const path = route.url ?? NO_ROUTE;
    const status = end.isAnswered ? String(end.status) : GONE;
    this.#count({ method, route: path, status });
    this.#observe({ route: path, status_class: end.isAnswered ? `${status[0]}xx` : GONE }, end.durationMs / 1_000);
  }
}

const NO_ROUTE = 'none';
const GONE = 'gone';
