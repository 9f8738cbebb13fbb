import type { Registry } from 'prom-client';
import { METRIC_PREFIX } from '../../telemetry/metrics.ts';

export const INTERVAL_MS = 30_000;
/** One hour, at some 100 bytes each. */
export const MAX_INTERVALS = 120;

export interface MetricValue {
  readonly labels: Readonly<Record<string, string | number | undefined>>;
  readonly value: number;
  /** Part of a histogram: `_bucket`, `_sum` or `_count`. */
  readonly part: string;
}

/** Reads the values of a metric, by its name without the prefix. There are none if no part of the service declares it. */
export async function readMetric(registry: Registry, name: string): Promise<MetricValue[]> {
  const fullName = METRIC_PREFIX + name;
  const metric = await registry.getSingleMetric(fullName)?.get();
  return (metric?.values ?? []).map(({ labels, value, ...rest }) => ({
    labels,
    value,
    part: 'metricName' in rest && typeof rest.metricName === 'string' ? rest.metricName.slice(fullName.length) : '',
  }));
}

const STATUS_CLASSES = ['2xx', '4xx', '5xx', 'gone'] as const;
type StatusClass = (typeof STATUS_CLASSES)[number];

/** Requests to the API within one interval, without probes, scrapes and what the console reads all the time. */
interface RequestInterval {
  readonly endsAt: number;
  /** Number by the class of the status; `gone` if the client left before its answer. */
  readonly requests: Readonly<Record<StatusClass, number>>;
  readonly aggregations: { readonly signed: number; readonly failed: number };
  /** Undefined without answers. */
  readonly medianMs?: number | undefined;
  readonly p99Ms?: number | undefined;
}

interface Totals {
  readonly requests: Readonly<Record<StatusClass, number>>;
  readonly signed: number;
  readonly failed: number;
  /** Answers by the upper bound of their bucket in seconds; each includes those below. */
  readonly buckets: ReadonlyMap<number, number>;
}

/** Requests over the last hour, as differences of the service's metrics. */
export class TrafficHistory {
  readonly #registry: Registry;
  readonly #intervals: RequestInterval[] = [];
  #last: Totals | undefined;

  constructor(registry: Registry) {
    this.#registry = registry;
  }

  /** Ends an interval. */
  async sample(now: number): Promise<void> {
    const totals = await this.#read();
    this.#intervals.push(intervalOf(this.#last, totals, now));
    if (this.#intervals.length > MAX_INTERVALS) this.#intervals.shift();
    this.#last = totals;
  }

  /** The oldest first; the last one is not over. */
  async intervals(now: number): Promise<RequestInterval[]> {
    return [...this.#intervals, intervalOf(this.#last, await this.#read(), now)].slice(-MAX_INTERVALS);
  }

  async #read(): Promise<Totals> {
    const [durations, aggregations] = await Promise.all([
      readMetric(this.#registry, 'http_request_duration_seconds'),
      readMetric(this.#registry, 'aggregation_duration_seconds'),
    ]);
    const requests = { '2xx': 0, '4xx': 0, '5xx': 0, gone: 0 };
    const buckets = new Map<number, number>();
    for (const { labels, value, part } of durations) {
      if (!isApiRoute(String(labels['route']))) continue;
      const status = classOf(String(labels['status_class']));
      if (part === '_count') requests[status] += value;
      // A request that the client gave up does not show how long an answer takes.
      if (part !== '_bucket' || status === 'gone') continue;
      const bound = labels['le'] === '+Inf' ? Number.POSITIVE_INFINITY : Number(labels['le']);
      buckets.set(bound, (buckets.get(bound) ?? 0) + value);
    }
    let [signed, failed] = [0, 0];
    for (const { labels, value, part } of aggregations) {
      if (part !== '_count' || labels['outcome'] === 'aborted') continue;
      if (labels['outcome'] === 'signed') signed += value;
      else failed += value;
    }
    return { requests, signed, failed, buckets };
  }
}

function intervalOf(before: Totals | undefined, after: Totals, endsAt: number): RequestInterval {
  const requests = { ...after.requests };
  for (const status of STATUS_CLASSES) requests[status] -= before?.requests[status] ?? 0;
  const counts = [...after.buckets]
    .map(([le, count]) => ({ le, count: count - (before?.buckets.get(le) ?? 0) }))
    .toSorted((a, b) => a.le - b.le);
  return {
    endsAt,
    requests,
    aggregations: { signed: after.signed - (before?.signed ?? 0), failed: after.failed - (before?.failed ?? 0) },
    medianMs: quantileMs(counts, 0.5),
    p99Ms: quantileMs(counts, 0.99),
  };
}

/** Estimates a quantile as Prometheus does (`histogram_quantile`): linear within a bucket, and at most the last finite bound. */
function quantileMs(
  buckets: readonly { readonly le: number; readonly count: number }[],
  quantile: number,
): number | undefined {
  const rank = quantile * (buckets.at(-1)?.count ?? 0);
  const index = buckets.findIndex(({ count }) => count >= rank);
  const [below, bucket] = [buckets[index - 1] ?? { le: 0, count: 0 }, buckets[index]];
  if (bucket === undefined || rank === 0) return undefined;
  if (!Number.isFinite(bucket.le)) return below.le * 1_000;
  const share = (rank - below.count) / (bucket.count - below.count);
  return Math.round((below.le + (bucket.le - below.le) * share) * 100_000) / 100;
}

const NETWORK_PATH = '/v1/signatureAggregator/:network';
/**
 * Routes that an open console asks again and again. Metrics do not name clients, and its own requests must not hide how those of others
 * end.
 */
export const POLLED_ROUTES: readonly string[] = [
  '/v1/requests',
  '/v1/requests/:id',
  `${NETWORK_PATH}/subnets`,
  `${NETWORK_PATH}/subnets/:subnetId`,
  `${NETWORK_PATH}/messages`,
  `${NETWORK_PATH}/messages/:messageId`,
];

function isApiRoute(route: string): boolean {
  return (route.startsWith('/v1/') && !POLLED_ROUTES.includes(route)) || route.endsWith('/aggregate-signatures');
}

function classOf(text: string): StatusClass {
  return text === '3xx' ? '2xx' : (STATUS_CLASSES.find((known) => known === text) ?? '5xx');
}
