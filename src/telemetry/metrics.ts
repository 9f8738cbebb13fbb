import {
  collectDefaultMetrics,
  Counter as PromCounter,
  Gauge as PromGauge,
  Histogram as PromHistogram,
  Registry,
} from 'prom-client';
import type { Clock } from '../lib/concurrency/clock.ts';

/**
 * Declares metrics. Each module declares the metrics of its code, by names without the prefix, which is added here. `with` adds labels to all
 * metrics of a module, such as its network; each network declares the same metrics with another label value.
 */
export interface Metrics {
  counter<Label extends string = never>(options: MetricOptions<Label>): Counter<Label>;
  gauge<Label extends string = never>(options: MetricOptions<Label>): Gauge<Label>;
  /**
   * Declares a gauge whose time series are those that `read` returns when the metrics are rendered. A later declaration with the same bound
   * labels, such as by a network that was opened again, replaces the earlier one.
   */
  readGauge<Label extends string = never>(options: MetricOptions<Label>, read: ReadGauge<Label>): void;
  histogram<Label extends string = never>(
    options: MetricOptions<Label> & { readonly buckets: readonly number[] },
  ): Histogram<Label>;
  /** Returns the same metrics with these labels bound. */
  with(labels: Readonly<Record<string, string>>): Metrics;
}

export interface MetricOptions<Label extends string> {
  /** Without the prefix, in snake case, ending in the unit: `_seconds`, `_bytes`, `_total` for counters. */
  readonly name: string;
  readonly help: string;
  readonly labels?: readonly Label[];
}

export type Labels<Label extends string> = Readonly<Record<Label, string>>;
/** Returns one number for a gauge without further labels, otherwise the value of each time series. */
export type ReadGauge<Label extends string> = () =>
  | number
  | Iterable<{ readonly labels: Labels<Label>; readonly value: number }>;

export interface Counter<Label extends string = never> {
  inc(...args: [Label] extends [never] ? [value?: number] : [labels: Labels<Label>, value?: number]): void;
}

export interface Gauge<Label extends string = never> {
  set(...args: [Label] extends [never] ? [value: number] : [labels: Labels<Label>, value: number]): void;
  inc(...args: [Label] extends [never] ? [value?: number] : [labels: Labels<Label>, value?: number]): void;
  dec(...args: [Label] extends [never] ? [value?: number] : [labels: Labels<Label>, value?: number]): void;
}

export interface Histogram<Label extends string = never> {
  observe(...args: [Label] extends [never] ? [value: number] : [labels: Labels<Label>, value: number]): void;
}

/** Prefix of the service's metrics; those of the process and of Node keep the names of prom-client. */
export const METRIC_PREFIX = 'signature_aggregator_';

/** Buckets of all durations, so that histograms can be compared. */
export const DURATION_BUCKETS_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] as const;

/** Reading the process metrics takes 25 ms with 10,000 connections, and every client may request them. */
const READ_PROCESS_EVERY_MS = 1_000;

/** Renders the service's metrics, and those of the process and of Node, which are read at most once per second. */
export class ServiceRegistry extends Registry {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #process = new Registry();
  #shown: { readonly text: Promise<string>; readonly readMs: number } | undefined;

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    super();
    this.#clock = clock;
    collectDefaultMetrics({ register: this.#process });
  }

  override async metrics(): Promise<string> {
    const nowMs = this.#clock.monotonicMs();
    if (this.#shown === undefined || nowMs - this.#shown.readMs >= READ_PROCESS_EVERY_MS) {
      this.#shown = { text: this.#process.metrics(), readMs: nowMs };
    }
    return `${await this.#shown.text}\n${await super.metrics()}`;
  }
}

/** Creates metrics for commands, which do not expose them. */
export function createUnreadMetrics(): Metrics {
  return createMetrics(new Registry());
}

type LabelValues = Record<string, string>;
/** Readers of a gauge, by the bound labels in JSON. */
type Readers = Map<string, () => Iterable<{ readonly labels: LabelValues; readonly value: number }>>;

const readersOf = new WeakMap<PromGauge, Readers>();

/** @param onReadError called with the name of a gauge that cannot be read: it is left out, the others are rendered */
export function createMetrics(registry: Registry, onReadError: OnReadError = () => undefined): Metrics {
  return bind(registry, {}, onReadError);
}

type OnReadError = (name: string, error: unknown) => void;

function bind(registry: Registry, bound: LabelValues, onReadError: OnReadError): Metrics {
  type PromOptions = { name: string; help: string; labelNames: string[]; registers: Registry[] };

  function declare<Metric>(options: MetricOptions<string>, create: (options: PromOptions) => Metric): Metric {
    const { help, labels = [] } = options;
    const name = METRIC_PREFIX + options.name;
    const known = registry.getSingleMetric(name) as Metric | undefined;
    return known ?? create({ name, help, labelNames: [...Object.keys(bound), ...labels], registers: [registry] });
  }

  /** Takes labels before the value if the metric has further labels. */
  function write(set: (labels: LabelValues, value: number) => void): (...args: readonly unknown[]) => void {
    return (first = 1, second = 1) => {
      if (typeof first === 'object') set({ ...bound, ...first }, second as number);
      else set(bound, first as number);
    };
  }

  return {
    counter(options) {
      const counter = declare(options, (how) => new PromCounter(how));
      // Prometheus sees the first increment only if the series existed before.
      if ((options.labels ?? []).length === 0) counter.inc(bound, 0);
      return { inc: write((labels, value) => counter.inc(labels, value)) };
    },
    gauge(options) {
      const gauge = declare(options, (how) => new PromGauge(how));
      return {
        set: write((labels, value) => gauge.set(labels, value)),
        inc: write((labels, value) => gauge.inc(labels, value)),
        dec: write((labels, value) => gauge.dec(labels, value)),
      };
    },
    readGauge(options, read) {
      const gauge = declare(options, (how) => {
        const readers: Readers = new Map();
        const made: PromGauge = new PromGauge({
          ...how,
          collect() {
            this.reset();
            for (const reader of readers.values()) for (const { labels, value } of reader()) this.set(labels, value);
          },
        });
        readersOf.set(made, readers);
        return made;
      });
      readersOf.get(gauge)?.set(JSON.stringify(bound), () => {
        try {
          const given = read();
          return typeof given === 'number'
            ? [{ labels: bound, value: given }]
            : Array.from(given, ({ labels, value }) => ({ labels: { ...bound, ...labels }, value }));
        } catch (error) {
          onReadError(options.name, error);
          return [];
        }
      });
    },
    histogram(options) {
      const histogram = declare(options, (how) => new PromHistogram({ ...how, buckets: [...options.buckets] }));
      return { observe: write((labels, value) => histogram.observe(labels, value)) };
    },
    with: (labels) => bind(registry, { ...bound, ...labels }, onReadError),
  };
}
