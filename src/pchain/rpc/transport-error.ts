/** What happened to a connection, for the log. The texts of Node and undici name host and port. */
export function describeTransportError(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  // An AggregateError of several addresses has an empty message, but a code.
  return cause.message || codeOf(cause) || cause.name;
}

/** The same for clients, who are not to learn where our API is. */
export function describeWithoutHosts(cause: unknown): string {
  const code = codeOf(cause);
  return code === undefined ? 'the connection failed' : `the connection failed (${code})`;
}

/** Such as ECONNREFUSED. */
function codeOf(cause: unknown): string | undefined {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  return typeof code === 'string' && /^\w+$/.test(code) ? code : undefined;
}
