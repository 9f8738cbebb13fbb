/** Local nodes answer in milliseconds; one that is frozen takes the connection and never answers. */
const CALL_TIMEOUT_MS = 10_000;

/**
 * Calls a method of a node's API and returns its `result`.
 *
 * @param url the whole endpoint, such as `${apiUrl}/ext/bc/P`
 */
export async function callJsonRpc<Result>(url: string, method: string, params: unknown = {}): Promise<Result> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }, bigintAsString),
    signal: AbortSignal.timeout(CALL_TIMEOUT_MS),
  });
  const text = await response.text();
  const answer: { result?: Result; error?: { message: string } } = response.ok
    ? JSON.parse(text)
    : { error: { message: `HTTP ${response.status}: ${text}` } };
  if (answer.result === undefined) {
    throw new Error(`${method}: ${answer.error?.message ?? 'no result'}`);
  }
  return answer.result;
}

/** A `JSON.stringify` replacer: nodes and our helper take 64-bit numbers as strings. */
export function bigintAsString(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value;
}
