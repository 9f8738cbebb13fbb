/** One measurement: what was measured, and its figures by name. */
export type Row = { readonly name: string } & Readonly<Record<string, string | number>>;
export type Figures = Omit<Row, 'name'>;

export interface BenchmarkOptions {
  /** Sizes to measure; empty for the defaults. */
  readonly sizes: readonly number[];
  /** Names of what to measure; empty for all. */
  readonly words: readonly string[];
  readonly report: (row: Row) => void;
}

export type Benchmark = (options: BenchmarkOptions) => Promise<void>;
