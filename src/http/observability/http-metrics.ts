import type { FastifyReply, FastifyRequest } from 'fastify';
import { LazyMap } from '../../lib/cache/lazy-map.ts';
import {
  type Counter,
  DURATION_BUCKETS_SECONDS,
  type Gauge,
  type Histogram,
  type Metrics,
} from '../../telemetry/metrics.ts';
import type { RequestEnd, RequestFollower } from '../request/follow-request.ts';

/** What every request shows, whatever its route: how many, how long, how they ended, and how many are under way. */
export class HttpMetrics implements RequestFollower {
  readonly #requests: Counter<'method' | 'route' | 'status'>;
  readonly #durations: Histogram<'route' | 'status_class'>;
  readonly #inFlight: Gauge;
  readonly #internalErrors: Counter;
  /** By route, method and status: as many as the metrics have time series. */
  readonly #series = new LazyMap(
    (route: string) =>
      new LazyMap((method: string) => new LazyMap((status: number) => this.#seriesOf(route, method, status))),
  );

  constructor(metrics: Metrics) {
    this.#requests = metrics.counter({
      name: 'http_requests_total',
      help: 'Requests by method, route and status; the status is "gone" where the client left before its answer',
      labels: ['method', 'route', 'status'],
    });
    this.#durations = metrics.histogram({
      name: 'http_request_duration_seconds',
      help: 'Time from the headers of a request to the end of its answer, by route and class of the status',
      labels: ['route', 'status_class'],
      buckets: DURATION_BUCKETS_SECONDS,
    });
    this.#inFlight = metrics.gauge({ name: 'http_requests_in_flight', help: 'Requests that are not answered yet' });
    this.#internalErrors = metrics.counter({
      name: 'http_internal_errors_total',
      help: 'Requests that failed for a bug of the service: those with the error code internal_error',
    });
  }

  begin(): void {
    this.#inFlight.inc();
  }

  over({ method, route, errorCode }: FastifyRequest, _reply: FastifyReply, end: RequestEnd): void {
    this.#inFlight.dec();
    // Not to be told by the status: an upstream's 500 is passed on, and a quorum that is missed is a 500 too.
    if (errorCode === 'internal_error') this.#internalErrors.inc();
    // The pattern, of which there are as many as routes; the path of what has no route is any text of the client's.
    const path = route.url ?? NO_ROUTE;
    const status = end.isAnswered ? end.status : GONE;
    const { count, durations } = this.#series.get(path).get(method).get(status);
    count.inc();
    durations.observe(end.durationMs / 1_000);
  }

  #seriesOf(route: string, method: string, status: number) {
    const [text, statusClass] = status === GONE ? ['gone', 'gone'] : [String(status), `${String(status)[0]}xx`];
    return {
      count: this.#requests.at({ method, route, status: text }),
      durations: this.#durations.at({ route, status_class: statusClass }),
    };
  }
}

const NO_ROUTE = 'none';
/** In place of a status. */
const GONE = 0;
