import {
  collectDefaultMetrics,
  Counter as PromCounter,
  Gauge as PromGauge,
  Histogram as PromHistogram,
  Registry,
} from 'prom-client';
import type { Clock } from '../lib/concurrency/clock.ts';

/**
 * The one way to declare a metric. A module declares its metrics beside the code that they measure, by a name without the prefix;
 * the prefix is added here, and so are labels that belong to everything a module measures, such as the network it works for.
 * Declaring the same metric again, for another network, gives the same time series with another label.
 */
export interface Metrics {
  counter<Label extends string = never>(options: MetricOptions<Label>): Counter<Label>;
  gauge<Label extends string = never>(options: MetricOptions<Label>): Gauge<Label>;
  /**
   * A gauge whose values are asked for when the metrics are read. Time series that `read` no longer gives are gone. Declared again with the same
   * labels set, as by parts of a network that was opened anew, it asks the new one alone.
   */
  readGauge<Label extends string = never>(options: MetricOptions<Label>, read: ReadGauge<Label>): void;
  histogram<Label extends string = never>(
    options: MetricOptions<Label> & { readonly buckets: readonly number[] },
  ): Histogram<Label>;
  /** The same metrics, each with these labels set. */
  with(labels: Readonly<Record<string, string>>): Metrics;
}

export interface MetricOptions<Label extends string> {
  /** Without the prefix, in snake case, ending in the unit: `_seconds`, `_bytes`, `_total` for counters. */
  readonly name: string;
  readonly help: string;
  readonly labels?: readonly Label[];
}

export type Labels<Label extends string> = Readonly<Record<Label, string>>;
/** One number for a gauge without labels of its own, else the value of each time series. */
export type ReadGauge<Label extends string> = () =>
  | number
  | Iterable<{ readonly labels: Labels<Label>; readonly value: number }>;

export interface Counter<Label extends string = never> {
  inc(...args: [Label] extends [never] ? [value?: number] : [labels: Labels<Label>, value?: number]): void;
  /** One of its time series. */
  at(labels: Labels<Label>): Pick<Counter, 'inc'>;
}

export interface Gauge<Label extends string = never> {
  set(...args: [Label] extends [never] ? [value: number] : [labels: Labels<Label>, value: number]): void;
  inc(...args: [Label] extends [never] ? [value?: number] : [labels: Labels<Label>, value?: number]): void;
  dec(...args: [Label] extends [never] ? [value?: number] : [labels: Labels<Label>, value?: number]): void;
}

export interface Histogram<Label extends string = never> {
  observe(...args: [Label] extends [never] ? [value: number] : [labels: Labels<Label>, value: number]): void;
  /** One of its time series. */
  at(labels: Labels<Label>): Pick<Histogram, 'observe'>;
}

/** What all of this service's own metrics start with. Those of the process and of Node have the names that everybody knows. */
export const METRIC_PREFIX = 'signature_aggregator_';

/** Histograms of durations share their buckets, so that they can be laid over each other. */
export const DURATION_BUCKETS_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] as const;

/** The metrics of the process count what it has open, which takes 25 ms with 10,000 connections, and anybody may read them. */
const READ_PROCESS_EVERY_MS = 1_000;

/** Shows the service's metrics, and those of the process and of Node, which are read once a second at most. */
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

/** For commands, whose metrics nothing reads. */
export function createUnreadMetrics(): Metrics {
  return createMetrics(new Registry());
}

type LabelValues = Record<string, string>;
/** Values that a read gauge has, for each set of labels that were bound when it was declared, as JSON. */
type Readers = Map<string, () => Iterable<{ readonly labels: LabelValues; readonly value: number }>>;

const readersOf = new WeakMap<PromGauge, Readers>();

export function createMetrics(registry: Registry): Metrics {
  return bind(registry, {});
}

function bind(registry: Registry, bound: LabelValues): Metrics {
  type PromOptions = { name: string; help: string; labelNames: string[]; registers: Registry[] };

  function declare<Metric>(options: MetricOptions<string>, create: (options: PromOptions) => Metric): Metric {
    const { help, labels = [] } = options;
    const name = METRIC_PREFIX + options.name;
    const known = registry.getSingleMetric(name) as Metric | undefined;
    return known ?? create({ name, help, labelNames: [...Object.keys(bound), ...labels], registers: [registry] });
  }

  /** Takes labels before the value where the metric has labels of its own. */
  function write(set: (labels: LabelValues, value: number) => void): (...args: readonly unknown[]) => void {
    return (first = 1, second = 1) => {
      if (typeof first === 'object') set({ ...bound, ...first }, second as number);
      else set(bound, first as number);
    };
  }

  return {
    counter(options) {
      const counter = declare(options, (how) => new PromCounter(how));
      // A counter without labels is there from the start, so that its first step is seen as one.
      if (options.labels === undefined) counter.inc(bound, 0);
      return {
        inc: write((labels, value) => counter.inc(labels, value)),
        at: (labels) => counter.labels({ ...bound, ...labels }),
      };
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
        const given = read();
        return typeof given === 'number'
          ? [{ labels: bound, value: given }]
          : Array.from(given, ({ labels, value }) => ({ labels: { ...bound, ...labels }, value }));
      });
    },
    histogram(options) {
      const histogram = declare(options, (how) => new PromHistogram({ ...how, buckets: [...options.buckets] }));
      return {
        observe: write((labels, value) => histogram.observe(labels, value)),
        at: (labels) => histogram.labels({ ...bound, ...labels }),
      };
    },
    with: (labels) => bind(registry, { ...bound, ...labels }),
  };
}
