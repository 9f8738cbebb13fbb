import { createRequire } from 'node:module';
import type * as PromClient from 'prom-client';
import type { Clock } from '../primitives/clock.ts';

/** Part by part: prom-client's main file loads the API of OpenTelemetry too, for metrics that point to traces, and so 60 files more. */
const load = createRequire(import.meta.url);
const part = <Name extends keyof typeof PromClient>(file: string) =>
  load(`prom-client/lib/${file}.js`) as (typeof PromClient)[Name];
export const Registry = part<'Registry'>('registry');
export type Registry = PromClient.Registry;
const PromCounter = part<'Counter'>('counter');
const PromGauge = part<'Gauge'>('gauge');
const PromHistogram = part<'Histogram'>('histogram');

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
  /** One of its time series, for what every request counts: prom-client makes a text of the labels each time. */
  at(labels: Labels<Label>): Pick<Counter, 'inc'>;
}

export interface Gauge<Label extends string = never> {
  set(...args: [Label] extends [never] ? [value: number] : [labels: Labels<Label>, value: number]): void;
  inc(...args: [Label] extends [never] ? [value?: number] : [labels: Labels<Label>, value?: number]): void;
  dec(...args: [Label] extends [never] ? [value?: number] : [labels: Labels<Label>, value?: number]): void;
}

export interface Histogram<Label extends string = never> {
  observe(...args: [Label] extends [never] ? [value: number] : [labels: Labels<Label>, value: number]): void;
  /** As with a counter. */
  at(labels: Labels<Label>): Pick<Histogram, 'observe'>;
}

/** What all of this service's own metrics start with. Those of the process and of Node have the names that everybody knows. */
export const METRIC_PREFIX = 'signature_aggregator_';

/** Histograms of durations share their buckets, so that they can be laid over each other. */
export const DURATION_BUCKETS_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] as const;

export function createMetrics(registry: Registry): Metrics {
  const declared = declaredIn.get(registry) ?? { readers: new Map(), held: new Map() };
  declaredIn.set(registry, declared);
  return bind(registry, declared, {});
}

/** Of the default metrics of prom-client, those that it takes from Node and the system. */
const OF_PROCESS = [
  ...['processStartTime', 'osMemoryHeap', 'processMaxFileDescriptors'],
  ...['eventLoopLag', 'heapSizeAndUsed', 'heapSpacesSizeAndUsed', 'version', 'gc'],
];
/**
 * These count one by one what the process has open: some 25 ms of the event loop with 10,000 connections. Anybody may read the metrics, as often as
 * they like, so each is counted at most so often.
 */
const OF_OPEN_THINGS = ['processOpenFileDescriptors', 'processResources', 'processHandles', 'processRequests'];
const COUNT_EVERY_MS = 1_000;
/** How often the event loop's delay is sampled. */
const LOOP_PRECISION_MS = 10;

/** Those of the process and of Node, under the names that everybody knows. */
export function declareProcessMetrics(registry: Registry, clock: Pick<Clock, 'monotonicMs'>): void {
  const declare = (name: string): readonly string[] => {
    const metric = load(`prom-client/lib/metrics/${name}.js`) as DefaultMetric;
    metric(registry, { eventLoopMonitoringPrecision: LOOP_PRECISION_MS });
    return metric.metricNames;
  };
  for (const name of OF_PROCESS) declare(name);
  for (const name of OF_OPEN_THINGS.flatMap(declare)) countSeldom(registry.getSingleMetric(name) as Collecting, clock);
  const cpu = (name: string, help: string, micros: (usage: NodeJS.CpuUsage) => number): void => {
    const counter = new PromCounter({
      ...{ name, help, registers: [registry] },
      collect() {
        counter.reset();
        counter.inc(micros(process.cpuUsage()) / 1e6);
      },
    });
  };
  cpu('process_cpu_user_seconds_total', 'Total user CPU time spent in seconds.', ({ user }) => user);
  cpu('process_cpu_system_seconds_total', 'Total system CPU time spent in seconds.', ({ system }) => system);
  cpu(
    'process_cpu_seconds_total',
    'Total user and system CPU time spent in seconds.',
    (usage) => usage.user + usage.system,
  );
}

interface DefaultMetric {
  (registry: Registry, options: { readonly eventLoopMonitoringPrecision: number }): void;
  readonly metricNames: readonly string[];
}

/** Undefined where the system does not tell. prom-client's types leave out what it calls before it reads a metric. */
type Collecting = { collect: () => void } | undefined;

/** In between, a gauge has the values that it was set to last. */
function countSeldom(gauge: Collecting, clock: Pick<Clock, 'monotonicMs'>): void {
  if (gauge === undefined) return;
  const count = gauge.collect.bind(gauge);
  let countedMs = Number.NEGATIVE_INFINITY;
  gauge.collect = () => {
    if (clock.monotonicMs() - countedMs < COUNT_EVERY_MS) return;
    countedMs = clock.monotonicMs();
    count();
  };
}

/** For a command, which nobody asks for its metrics. */
export function createUnreadMetrics(): Metrics {
  return createMetrics(new Registry());
}

/** What a time series has counted, up or down, is handed to prom-client when that is asked for it. */
class HeldCount {
  readonly #give: (count: number) => void;
  #count = 0;
  /** What has gone up and down again shows 0, and what never counted anything is not there. */
  #hasCounted = false;

  constructor(give: (count: number) => void) {
    this.#give = give;
  }

  inc(value = 1): void {
    this.#count += value;
    this.#hasCounted = true;
  }

  dec(value = 1): void {
    this.inc(-value);
  }

  handOver(): void {
    if (!this.#hasCounted) return;
    this.#give(this.#count);
    this.#count = 0;
    this.#hasCounted = false;
  }
}

/** As many values as a time series holds back: 512 bytes. They are handed over in their order, so that sums are the same. */
const MAX_HELD = 64;

class HeldValues {
  readonly #give: (value: number) => void;
  readonly #values = new Float64Array(MAX_HELD);
  #length = 0;

  constructor(give: (value: number) => void) {
    this.#give = give;
  }

  observe(value: number): void {
    this.#values[this.#length] = value;
    this.#length += 1;
    if (this.#length === MAX_HELD) this.handOver();
  }

  handOver(): void {
    const length = this.#length;
    this.#length = 0;
    for (let index = 0; index < length; index += 1) this.#give(this.#values[index] as number);
  }
}

/** By names of metrics. What is held is one for each of the metric's time series, whoever asks for it and however often. */
interface Declared {
  /** Then by the labels that are set, as JSON. */
  readonly readers: Map<string, Map<string, Reader>>;
  /** By the labels of the time series, as JSON. */
  readonly held: Map<string, Map<string, { handOver(): void }>>;
}

/** Whoever shows the same registry's metrics shows what all hold. */
const declaredIn = new WeakMap<Registry, Declared>();

type Reader = () => Iterable<{ readonly labels: Record<string, string>; readonly value: number }>;
type Values = readonly [value?: number] | readonly [labels: Record<string, string>, value?: number];

function bind(registry: Registry, declared: Declared, bound: Readonly<Record<string, string>>): Metrics {
  const { readers } = declared;
  function declare<Metric extends { inc?: unknown; observe?: unknown }, Label extends string>(
    { name, help, labels = [] }: MetricOptions<Label>,
    create: (options: { name: string; help: string; labelNames: string[]; registers: Registry[] }) => Metric,
  ): Metric {
    const fullName = METRIC_PREFIX + name;
    const known = registry.getSingleMetric(fullName) as unknown as Metric | undefined;
    const labelNames = [...Object.keys(bound), ...labels];
    return known ?? create({ name: fullName, help, labelNames, registers: [registry] });
  }

  /** Calls of ours have labels first where the metric has labels of its own, as prom-client's always may. */
  function write(set: (labels: Record<string, string>, value: number) => void, defaultValue?: number) {
    return (...args: Values): void => {
      const [first, second] = args;
      if (typeof first === 'object') set({ ...bound, ...first }, (second ?? defaultValue) as number);
      else set(bound, (first ?? defaultValue) as number);
    };
  }

  /** What its time series hold back; prom-client calls the second part before it reads them. */
  function holding<Held extends { handOver(): void }>(name: string, make: (labels: Record<string, string>) => Held) {
    const held = (declared.held.get(name) ?? new Map()) as Map<string, Held>;
    declared.held.set(name, held);
    const at = (own: object): Held => {
      const labels = { ...bound, ...own };
      const key = JSON.stringify(labels);
      const series = held.get(key) ?? make(labels);
      held.set(key, series);
      return series;
    };
    const collect = (): void => {
      for (const series of held.values()) series.handOver();
    };
    return { at, collect };
  }

  return {
    counter(options) {
      const { at, collect } = holding(options.name, (labels) => new HeldCount((count) => counter.inc(labels, count)));
      const counter = declare(options, (how) => new PromCounter({ ...how, collect }));
      const inc = write((labels, value) => counter.inc(labels, value), 1);
      if (options.labels !== undefined) return { inc: inc as never, at };
      // It is there from the start, so that its first step is seen as one.
      inc(0);
      const only = at({});
      return { inc: ((value?: number) => only.inc(value)) as never, at };
    },
    gauge(options) {
      const { at, collect } = holding(options.name, (labels) => new HeldCount((count) => gauge.inc(labels, count)));
      const gauge = declare(options, (how) => new PromGauge({ ...how, collect }));
      const set = write((labels, value) => gauge.set(labels, value));
      const inc = write((labels, value) => gauge.inc(labels, value), 1);
      const dec = write((labels, value) => gauge.dec(labels, value), 1);
      if (options.labels !== undefined) return { set: set as never, inc: inc as never, dec: dec as never };
      const only = at({});
      return {
        set: ((value: number) => {
          // What was counted before has no part in the new value.
          only.handOver();
          set(value);
        }) as never,
        inc: ((value?: number) => only.inc(value)) as never,
        dec: ((value?: number) => only.dec(value)) as never,
      };
    },
    readGauge(options, read) {
      const known = readers.get(options.name) ?? new Map<string, Reader>();
      readers.set(options.name, known);
      known.set(JSON.stringify(bound), () => {
        const given = read();
        return typeof given === 'number'
          ? [{ labels: { ...bound }, value: given }]
          : Array.from(given, ({ labels, value }) => ({ labels: { ...bound, ...labels }, value }));
      });
      declare(
        options,
        (declared) =>
          new PromGauge({
            ...declared,
            collect() {
              this.reset();
              for (const reader of known.values()) for (const { labels, value } of reader()) this.set(labels, value);
            },
          }),
      );
    },
    histogram(options) {
      const { at, collect } = holding(
        options.name,
        (labels) => new HeldValues((value) => histogram.observe(labels, value)),
      );
      const histogram = declare(
        options,
        (how) => new PromHistogram({ ...how, collect, buckets: [...options.buckets] }),
      );
      const observe = write((labels, value) => histogram.observe(labels, value));
      return { observe: observe as never, at };
    },
    with: (labels) => bind(registry, declared, { ...bound, ...labels }),
  };
}
