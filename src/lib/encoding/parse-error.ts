/**
 * The one error every parser of untrusted bytes or text may throw. `what` is the structure or field that was being read
 * ("UnsignedMessage", "SubnetID"), `reason` says what is wrong with it and what is allowed.
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

/** What `parse` gives, or the {@link ParseError} that it throws, for those to whom one is an answer; any other error is thrown. */
export function attempt<T>(parse: () => T): T | ParseError {
  try {
    return parse();
  } catch (error) {
    if (error instanceof ParseError) return error;
    throw error;
  }
}
