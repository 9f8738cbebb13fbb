/** The values of a metric's labels; of those with labels that are bound and labels of their own, both together. */
type LabelValues = Readonly<Record<string, string>>;

/** One value in the form of prom-client's registry. */
interface Sample {
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
  readonly metricName?: string;
}

interface MetricDescription {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
}

/**
 * The time series of one metric by the values of their labels. A request writes to several of them, and to find one makes nothing:
 * prom-client's own metrics make a text of all labels and some objects each time, which was a twentieth of a repeated request.
 */
class SeriesByLabels<Series> {
  readonly #names: readonly string[];
  readonly #create: (labels: LabelValues) => Series;
  /** For each name but the last a level of maps. */
  readonly #tree = new Map<string, unknown>();
  readonly #all: Series[] = [];

  constructor(names: readonly string[], create: (labels: LabelValues) => Series) {
    this.#names = names;
    this.#create = create;
    if (names.length === 0) this.of({}, {});
  }

  of(bound: LabelValues, labels: LabelValues): Series {
    let level = this.#tree;
    let key = '';
    let isFirst = true;
    for (const name of this.#names) {
      if (!isFirst) level = below(level, key);
      isFirst = false;
      key = bound[name] ?? labels[name] ?? '';
    }
    const known = level.get(key) as Series | undefined;
    if (known !== undefined) return known;
    const series = this.#create({ ...bound, ...labels });
    level.set(key, series);
    this.#all.push(series);
    return series;
  }

  get all(): readonly Series[] {
    return this.#all;
  }
}

function below(level: Map<string, unknown>, key: string): Map<string, unknown> {
  const known = level.get(key) as Map<string, unknown> | undefined;
  if (known !== undefined) return known;
  const next = new Map<string, unknown>();
  level.set(key, next);
  return next;
}

/** What prom-client's registry asks of a metric. */
abstract class OwnMetric {
  readonly name: string;
  readonly help: string;
  readonly aggregator = 'sum';
  abstract readonly type: 'counter' | 'gauge' | 'histogram';

  constructor({ name, help }: MetricDescription) {
    this.name = name;
    this.help = help;
  }

  async get() {
    const { name, help, type, aggregator } = this;
    return { name, help, type, aggregator, values: this.samples() };
  }

  protected abstract samples(): Sample[];
}

abstract class NumberMetric extends OwnMetric {
  protected readonly series: SeriesByLabels<{ readonly labels: LabelValues; value: number }>;

  constructor(description: MetricDescription) {
    super(description);
    this.series = new SeriesByLabels(description.labelNames, (labels) => ({ labels, value: 0 }));
  }

  protected samples(): Sample[] {
    return this.series.all.map(({ labels, value }) => ({ labels, value }));
  }
}

export class OwnCounter extends NumberMetric {
  readonly type = 'counter';

  inc(bound: LabelValues, labels: LabelValues, by: number): void {
    if (!(by >= 0)) throw new RangeError(`${this.name} cannot grow by ${by}`);
    this.series.of(bound, labels).value += by;
  }
}

export class OwnGauge extends NumberMetric {
  readonly type = 'gauge';

  set(bound: LabelValues, labels: LabelValues, value: number): void {
    this.series.of(bound, labels).value = value;
  }

  add(bound: LabelValues, labels: LabelValues, by: number): void {
    this.series.of(bound, labels).value += by;
  }
}

export class OwnHistogram extends OwnMetric {
  readonly type = 'histogram';
  readonly #buckets: readonly number[];
  readonly #series: SeriesByLabels<Distribution>;

  constructor({ buckets, ...description }: MetricDescription & { readonly buckets: readonly number[] }) {
    super(description);
    this.#buckets = buckets;
    this.#series = new SeriesByLabels(description.labelNames, (labels) => ({
      ...{ labels, sum: 0, count: 0 },
      inBucket: buckets.map(() => 0),
    }));
  }

  observe(bound: LabelValues, labels: LabelValues, value: number): void {
    if (!Number.isFinite(value)) throw new RangeError(`${this.name} cannot observe ${value}`);
    const series = this.#series.of(bound, labels);
    series.sum += value;
    series.count += 1;
    const index = this.#buckets.findIndex((bucket) => value <= bucket);
    if (index >= 0) series.inBucket[index] = (series.inBucket[index] ?? 0) + 1;
  }

  protected samples(): Sample[] {
    return this.#series.all.flatMap((series) => this.#samplesOf(series));
  }

  #samplesOf({ labels, inBucket, sum, count }: Distribution): Sample[] {
    const { name } = this;
    const bucket = (le: number | string, value: number): Sample => ({
      ...{ labels: { le, ...labels }, value },
      metricName: `${name}_bucket`,
    });
    let upTo = 0;
    return [
      ...this.#buckets.map((le, index) => {
        upTo += inBucket[index] ?? 0;
        return bucket(le, upTo);
      }),
      bucket('+Inf', count),
      { labels, value: sum, metricName: `${name}_sum` },
      { labels, value: count, metricName: `${name}_count` },
    ];
  }
}

interface Distribution {
  readonly labels: LabelValues;
  readonly inBucket: number[];
  sum: number;
  count: number;
}
