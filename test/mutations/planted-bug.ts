/** A change of one place in the sources that `npm test` has to notice. */
export interface PlantedBug {
  /** The wrong behaviour, in a sentence. */
  readonly name: string;
  readonly file: string;
  /** Text that stands once in the file. */
  readonly find: string;
  readonly replace: string;
  /** Files or folders of `npm test` that are run against the bug. */
  readonly tests: readonly string[];
}
