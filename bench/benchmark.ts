/** One measurement: what was measured, and its figures by their names. */
export type Row = { readonly name: string } & Readonly<Record<string, string | number>>;

export interface BenchmarkOptions {
  /** Sizes to measure; none for the benchmark's own. */
  readonly sizes: readonly number[];
  /** What to measure, by its name; none for all. */
  readonly words: readonly string[];
  readonly report: (row: Row) => void;
}
