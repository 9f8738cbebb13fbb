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

/** Returns the result of `parse`, or the error of this class that it throws, by default a {@link ParseError}; other errors are thrown. */
export function attempt<T>(parse: () => T): T | ParseError;
export function attempt<T, E extends Error>(parse: () => T, ofClass: abstract new (...args: never) => E): T | E;
export function attempt<T>(parse: () => T, ofClass: abstract new (...args: never) => Error = ParseError): T | Error {
  try {
    return parse();
  } catch (error) {
    if (error instanceof ofClass) return error;
    throw error;
  }
}

/** Like {@link attempt}, if the reason of a failure does not matter. */
export function tryParse<T>(parse: () => T): T | undefined {
  const parsed = attempt(parse);
  return parsed instanceof ParseError ? undefined : parsed;
}
