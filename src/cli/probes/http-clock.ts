import { systemClock } from '../../lib/concurrency/clock.ts';
import type { ApiEndpoint } from '../../lib/net/api-endpoint.ts';
import { Exchange } from '../../lib/net/exchange.ts';

const QUESTION = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'info.getNetworkID', params: {} });
const TIMEOUT_MS = 5_000;
/** The header has whole seconds. */
const HALF_A_SECOND_MS = 500;

/** Returns the clock of an HTTP server less ours, by its `Date` header. Undefined if it sends none, or does not answer. */
export async function probeHttpClock(endpoint: ApiEndpoint): Promise<number | undefined> {
  await using exchange = new Exchange(endpoint, { connections: 1 });
  try {
    const sentMs = systemClock.now();
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const { headers, body } = await exchange.send({ method: 'POST', target: '/ext/info', body: QUESTION, signal });
    const receivedMs = systemClock.now();
    await body.dump();
    const dateMs = Date.parse(String(headers['date']));
    if (Number.isNaN(dateMs)) return undefined;
    return Math.round(dateMs + HALF_A_SECOND_MS - (sentMs + receivedMs) / 2);
  } catch {
    return undefined;
  }
}
