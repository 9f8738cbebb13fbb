/** Describes a connection failure for the log. The texts of Node and undici contain host and port. */
export function describeTransportError(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  // An AggregateError of several addresses has a code and an empty message.
  return cause.message || codeOf(cause) || cause.name;
}

/** Describes a connection failure for clients, without the address of the API. */
export function describeWithoutHosts(cause: unknown): string {
  const code = codeOf(cause);
  return code === undefined ? 'the connection failed' : `the connection failed (${code})`;
}

/** Returns a code such as ECONNREFUSED. */
function codeOf(cause: unknown): string | undefined {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  return typeof code === 'string' && /^\w+$/.test(code) ? code : undefined;
}
