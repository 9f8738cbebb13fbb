/**
 * The only error of parsers of untrusted input. `what` is the structure or field, such as `UnsignedMessage` or `SubnetID`; `reason` states
 * what is wrong and what is allowed.
 */
export class ParseError extends Error {
  override readonly name = 'ParseError';
  readonly what: string;
  readonly reason: string;

  constructor(what: string, reason: string, options?: ErrorOptions) {
    super(`${what}: ${reason}`, options);
    this.what = what;
    this.reason = reason;
  }
}

/** Returns the result of `parse`, or the {@link ParseError} that it throws; other errors are thrown. */
export function attempt<T>(parse: () => T): T | ParseError {
  try {
    return parse();
  } catch (error) {
    if (error instanceof ParseError) return error;
    throw error;
  }
}

/** Like {@link attempt}, where the reason of a failure does not matter. */
export function tryParse<T>(parse: () => T): T | undefined {
  const parsed = attempt(parse);
  return parsed instanceof ParseError ? undefined : parsed;
}
