import { Gauge as PromGauge, type Metric as PromMetric, Registry } from 'prom-client';
import { OwnCounter, OwnGauge, OwnHistogram } from './time-series.ts';

/**
 * The one way to declare a metric. A module declares its metrics beside the code that they measure, by a name without the prefix;
 * the prefix is added here, and so are labels that belong to everything a module measures, such as the network it works for.
 * Declaring the same metric again, for another network, gives the same time series with another label.
 */
export interface Metrics {
  counter<Label extends string = never>(options: MetricOptions<Label>): Counter<Label>;
  gauge<Label extends string = never>(options: MetricOptions<Label>): Gauge<Label>;
  /** A gauge whose values are asked for when the metrics are read. Time series that `read` no longer gives are gone. */
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
}

export interface Gauge<Label extends string = never> {
  set(...args: [Label] extends [never] ? [value: number] : [labels: Labels<Label>, value: number]): void;
  inc(...args: [Label] extends [never] ? [value?: number] : [labels: Labels<Label>, value?: number]): void;
  dec(...args: [Label] extends [never] ? [value?: number] : [labels: Labels<Label>, value?: number]): void;
}

export interface Histogram<Label extends string = never> {
  observe(...args: [Label] extends [never] ? [value: number] : [labels: Labels<Label>, value: number]): void;
}

/** What all of this service's own metrics start with. Those of the process and of Node have the names that everybody knows. */
export const METRIC_PREFIX = 'signature_aggregator_';

/** Histograms of durations share their buckets, so that they can be laid over each other. */
export const DURATION_BUCKETS_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] as const;

export function createMetrics(registry: Registry): Metrics {
  return bind(registry, new Map(), {});
}

/** For a command, which nobody asks for its metrics. */
export function createUnreadMetrics(): Metrics {
  return createMetrics(new Registry());
}

/** Calls have labels first where the metric has labels of its own. */
function writer(write: (labels: Readonly<Record<string, string>>, value: number) => void, defaultValue?: number) {
  return (first?: Readonly<Record<string, string>> | number, second?: number): void => {
    if (typeof first === 'object') write(first, (second ?? defaultValue) as number);
    else write(NO_LABELS, (first ?? defaultValue) as number);
  };
}

const NO_LABELS = {};

type Reader = () => Iterable<{ readonly labels: Record<string, string>; readonly value: number }>;

function bind(registry: Registry, readers: Map<string, Reader[]>, bound: Readonly<Record<string, string>>): Metrics {
  function declare<Metric extends object, Label extends string>(
    { name, help, labels = [] }: MetricOptions<Label>,
    create: (description: { name: string; help: string; labelNames: string[] }) => Metric,
  ): Metric {
    const fullName = METRIC_PREFIX + name;
    const declared = registry.getSingleMetric(fullName) as unknown as Metric | undefined;
    if (declared !== undefined) return declared;
    const metric = create({ name: fullName, help, labelNames: [...Object.keys(bound), ...labels] });
    registry.registerMetric(metric as unknown as PromMetric);
    return metric;
  }

  return {
    counter(options) {
      const counter = declare(options, (description) => new OwnCounter(description));
      const inc = writer((labels, value) => counter.inc(bound, labels, value), 1);
      // It is there from the start, so that its first step is seen as one.
      if (options.labels === undefined) inc(0);
      return { inc: inc as never };
    },
    gauge(options) {
      const gauge = declare(options, (description) => new OwnGauge(description));
      const set = writer((labels, value) => gauge.set(bound, labels, value));
      const inc = writer((labels, value) => gauge.add(bound, labels, value), 1);
      const dec = writer((labels, value) => gauge.add(bound, labels, -value), 1);
      return { set: set as never, inc: inc as never, dec: dec as never };
    },
    readGauge(options, read) {
      const known = readers.get(options.name) ?? [];
      readers.set(options.name, known);
      known.push(() => {
        const given = read();
        return typeof given === 'number'
          ? [{ labels: { ...bound }, value: given }]
          : Array.from(given, ({ labels, value }) => ({ labels: { ...bound, ...labels }, value }));
      });
      declare(
        options,
        (description) =>
          new PromGauge({
            ...{ ...description, registers: [] },
            collect() {
              this.reset();
              for (const reader of known) for (const { labels, value } of reader()) this.set(labels, value);
            },
          }),
      );
    },
    histogram(options) {
      const { buckets } = options;
      const histogram = declare(options, (description) => new OwnHistogram({ ...description, buckets }));
      const observe = writer((labels, value) => histogram.observe(bound, labels, value));
      return { observe: observe as never };
    },
    with: (labels) => bind(registry, readers, { ...bound, ...labels }),
  };
}
