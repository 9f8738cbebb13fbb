/** Reports everything that is wrong with a configuration at once, one line for each problem. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly problems: readonly string[];

  /** @param heading what all the problems come from */
  constructor(problems: readonly string[], { heading, ...options }: ErrorOptions & { heading?: string } = {}) {
    const [first = 'not valid'] = problems;
    const above = heading ?? `${problems.length} problems`;
    super(problems.length > 1 || heading !== undefined ? `${above}:\n  ${problems.join('\n  ')}` : first, options);
    this.problems = problems;
  }
}
