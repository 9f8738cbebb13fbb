/** A metric as a registry of prom-client reads it. */
interface ReadMetric {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  get(): Promise<ReadValues>;
}

interface ReadValues extends Pick<ReadMetric, 'name' | 'help' | 'type'> {
  readonly values: readonly Sample[];
}

interface Sample {
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
  readonly metricName?: string;
}

export type LabelValues = Readonly<Record<string, string>>;

export interface DeclaredMetric {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
}

/**
 * The time series of one metric, by the values of its labels. A request writes a dozen of them: prom-client checks the labels and
 * makes a text of them each time, which took a repeated request a tenth of its time. Here it is a look-up for each label.
 */
class SeriesByLabels<Series extends { readonly labels: LabelValues }> {
  readonly #labelNames: readonly string[];
  readonly #create: (labels: LabelValues) => Series;
  readonly #all: Series[] = [];
  /** A map for each label inside that of the label before, with the series in the innermost. */
  readonly #root: Branch<Series> = new Map();
  #only: Series | undefined;

  constructor(labelNames: readonly string[], create: (labels: LabelValues) => Series) {
    this.#labelNames = labelNames;
    this.#create = create;
    // What has no labels is there from the start.
    if (labelNames.length === 0) this.#only = this.#add({});
  }

  /**
   * @param bound labels that come first, of which none is among `labels`
   * @throws {TypeError} where a label is missing, or is one too many
   */
  of(bound: LabelValues, labels: LabelValues): Series {
    if (this.#only !== undefined) return this.#only;
    let found: Branch<Series> | Series | undefined = this.#root;
    for (const name of this.#labelNames) {
      found = (found as Branch<Series> | undefined)?.get((labels[name] ?? bound[name]) as string);
    }
    return (found as Series | undefined) ?? this.#begin({ ...bound, ...labels });
  }

  [Symbol.iterator](): IterableIterator<Series> {
    return this.#all.values();
  }

  #begin(labels: LabelValues): Series {
    const given = Object.keys(labels);
    if (given.length !== this.#labelNames.length || this.#labelNames.some((name) => labels[name] === undefined)) {
      throw new TypeError(`labels must be ${this.#labelNames.join(', ')}, are ${given.join(', ')}`);
    }
    let branch = this.#root;
    for (const name of this.#labelNames.slice(0, -1)) {
      const value = labels[name] as string;
      const next = (branch.get(value) ?? new Map()) as Branch<Series>;
      branch.set(value, next);
      branch = next;
    }
    const series = this.#add(labels);
    branch.set(labels[this.#labelNames.at(-1) as string] as string, series);
    return series;
  }

  #add(labels: LabelValues): Series {
    const series = this.#create(labels);
    this.#all.push(series);
    return series;
  }
}

interface Branch<Series> extends Map<string, Branch<Series> | Series> {}

interface NumberSeries {
  readonly labels: LabelValues;
  value: number;
}

/** A counter or a gauge: a number for each time series. */
export class NumberMetric implements ReadMetric {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge';
  readonly #series: SeriesByLabels<NumberSeries>;

  constructor({ name, help, labelNames }: DeclaredMetric, type: 'counter' | 'gauge') {
    this.name = name;
    this.help = help;
    this.type = type;
    this.#series = new SeriesByLabels(labelNames, (labels) => ({ labels, value: 0 }));
  }

  /** @throws {TypeError} where it is no number, {RangeError} where a counter would go back */
  add(bound: LabelValues, labels: LabelValues, value: number): void {
    requireNumber(value);
    if (value < 0 && this.type === 'counter') throw new RangeError(`${this.name} is a counter: it does not decrease`);
    this.#series.of(bound, labels).value += value;
  }

  set(bound: LabelValues, labels: LabelValues, value: number): void {
    requireNumber(value);
    this.#series.of(bound, labels).value = value;
  }

  async get(): Promise<ReadValues> {
    const values = Array.from(this.#series, ({ labels, value }): Sample => ({ labels, value }));
    return { name: this.name, help: this.help, type: this.type, values };
  }
}

interface HistogramSeries {
  readonly labels: LabelValues;
  /** How many values were in each bucket alone; the last one has no upper bound. */
  readonly counts: number[];
  sum: number;
}

export class HistogramMetric implements ReadMetric {
  readonly name: string;
  readonly help: string;
  readonly type = 'histogram';
  readonly #upperBounds: readonly number[];
  readonly #series: SeriesByLabels<HistogramSeries>;

  constructor({ name, help, labelNames }: DeclaredMetric, upperBounds: readonly number[]) {
    this.name = name;
    this.help = help;
    this.#upperBounds = upperBounds;
    this.#series = new SeriesByLabels(labelNames, (labels) => ({
      labels,
      counts: Array<number>(upperBounds.length + 1).fill(0),
      sum: 0,
    }));
  }

  observe(bound: LabelValues, labels: LabelValues, value: number): void {
    requireNumber(value);
    const series = this.#series.of(bound, labels);
    const bounds = this.#upperBounds;
    let bucket = 0;
    while (bucket < bounds.length && value > (bounds[bucket] as number)) bucket += 1;
    series.counts[bucket] = (series.counts[bucket] as number) + 1;
    series.sum += value;
  }

  async get(): Promise<ReadValues> {
    const values = Array.from(this.#series, (series) => this.#samplesOf(series)).flat();
    return { name: this.name, help: this.help, type: this.type, values };
  }

  #samplesOf({ labels, counts, sum }: HistogramSeries): Sample[] {
    const { name } = this;
    let count = 0;
    const buckets = counts.map((inBucket, index): Sample => {
      count += inBucket;
      return {
        labels: { le: this.#upperBounds[index] ?? '+Inf', ...labels },
        value: count,
        metricName: `${name}_bucket`,
      };
    });
    return [
      ...buckets,
      { labels, value: sum, metricName: `${name}_sum` },
      { labels, value: count, metricName: `${name}_count` },
    ];
  }
}

function requireNumber(value: number): void {
  if (!Number.isFinite(value)) throw new TypeError(`no number that can be measured: ${value}`);
}
