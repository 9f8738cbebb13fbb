/** One measurement: what was measured, and its figures by their names. */
export type Row = { readonly name: string } & Readonly<Record<string, string | number>>;

export interface BenchmarkOptions {
  /** Sizes to measure; none for the benchmark's own. */
  readonly sizes: readonly number[];
  readonly report: (row: Row) => void;
}
