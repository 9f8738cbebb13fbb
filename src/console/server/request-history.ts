import type { Registry } from 'prom-client';
import { type MetricValue, readMetric } from './metric-values.ts';

/** What came of requests to the API within one interval. Probes, scrapes and the console's own files are not among them. */
export interface RequestInterval {
  /** Unix time in milliseconds of its end. */
  readonly endsAt: number;
  /** By the class of the status: `2xx`, `4xx`, `5xx`, or `gone` where the client left. */
  readonly requests: Readonly<Record<StatusClass, number>>;
  readonly aggregations: { readonly signed: number; readonly failed: number };
  /** Of the answers; undefined where there were none. */
  readonly medianMs: number | undefined;
  readonly p99Ms: number | undefined;
}

export const STATUS_CLASSES = ['2xx', '4xx', '5xx', 'gone'] as const;
export type StatusClass = (typeof STATUS_CLASSES)[number];

export const INTERVAL_MS = 30_000;
/** One hour, at some 100 bytes each. */
export const MAX_INTERVALS = 120;

interface Totals {
  readonly requests: Readonly<Record<StatusClass, number>>;
  readonly signed: number;
  readonly failed: number;
  /** Answers by the upper bound of their bucket in seconds; each counts those below, too. */
  readonly buckets: ReadonlyMap<number, number>;
}

/** Requests over the last hour, as the differences of what the metrics counted: nothing is measured for it. */
export class RequestHistory {
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

  /** The oldest first; the one that has not ended is the last. */
  async intervals(now: number): Promise<RequestInterval[]> {
    return [...this.#intervals, intervalOf(this.#last, await this.#read(), now)].slice(-MAX_INTERVALS);
  }

  async #read(): Promise<Totals> {
    const [durations, aggregations] = await Promise.all([
      readMetric(this.#registry, 'http_request_duration_seconds'),
      readMetric(this.#registry, 'aggregation_duration_seconds'),
    ]);
    const ofApi = durations.filter(({ labels }) => isApiRoute(String(labels['route'])));
    const requests = { '2xx': 0, '4xx': 0, '5xx': 0, gone: 0 };
    const buckets = new Map<number, number>();
    for (const { labels, value, part } of ofApi) {
      const status = classOf(String(labels['status_class']));
      if (part === '_count') requests[status] += value;
      // What nobody waited for to the end says nothing of how long it takes.
      if (part === '_bucket' && status !== 'gone') addTo(buckets, bound(labels['le']), value);
    }
    const ended = aggregations.filter(({ part }) => part === '_count');
    const signed = sum(ended.filter(({ labels }) => labels['outcome'] === 'signed'));
    const aborted = sum(ended.filter(({ labels }) => labels['outcome'] === 'aborted'));
    return { requests, signed, failed: sum(ended) - signed - aborted, buckets };
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

/** As Prometheus estimates it: as if the answers were spread evenly over their bucket. Beyond the last bound it is that bound. */
export function quantileMs(
  buckets: readonly { readonly le: number; readonly count: number }[],
  quantile: number,
): number | undefined {
  const total = buckets.at(-1)?.count ?? 0;
  if (total === 0) return undefined;
  const rank = quantile * total;
  let below = { le: 0, count: 0 };
  for (const bucket of buckets) {
    if (bucket.count >= rank) {
      if (!Number.isFinite(bucket.le)) return below.le * 1_000;
      const within = bucket.count - below.count;
      const share = within === 0 ? 1 : (rank - below.count) / within;
      return Math.round((below.le + (bucket.le - below.le) * share) * 100_000) / 100;
    }
    below = bucket;
  }
  return undefined;
}

function isApiRoute(route: string): boolean {
  return route.startsWith('/v1/') || route.endsWith('/aggregate-signatures');
}

function classOf(text: string): StatusClass {
  if (text === '3xx') return '2xx';
  return STATUS_CLASSES.find((known) => known === text) ?? '5xx';
}

function addTo(counts: Map<number, number>, key: number, value: number): void {
  counts.set(key, (counts.get(key) ?? 0) + value);
}

function sum(values: readonly MetricValue[]): number {
  return values.reduce((total, { value }) => total + value, 0);
}

function bound(le: string | number | undefined): number {
  return le === '+Inf' ? Number.POSITIVE_INFINITY : Number(le);
}
