/** Of more problems, the rest is only counted. */
export const MAX_PROBLEMS = 100;

/** Reports everything that is wrong with a configuration at once, one line for each problem. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly problems: readonly string[];

  /**
   * @param heading what all the problems come from
   * @param count of problems, if there are more than are given
   */
  constructor(
    given: readonly string[],
    { heading, count = given.length, ...options }: ErrorOptions & { heading?: string; count?: number } = {},
  ) {
    const shown = given.slice(0, MAX_PROBLEMS);
    const problems = count > shown.length ? [...shown, `and ${count - shown.length} more`] : shown;
    const [first = 'not valid'] = problems;
    const above = heading ?? `${count} problems`;
    super(problems.length > 1 || heading !== undefined ? `${above}:\n  ${problems.join('\n  ')}` : first, options);
    this.problems = problems;
  }
}
