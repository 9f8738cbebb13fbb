import { systemClock } from '../../lib/concurrency/clock.ts';
import type { ApiEndpoint } from '../../lib/net/api-endpoint.ts';
import { EndpointAddress } from '../../lib/net/endpoint-address.ts';
import { openHttpPool } from '../../lib/net/http-port.ts';

const QUESTION = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'info.getNetworkID', params: {} });
const TIMEOUT_MS = 5_000;
/** The header has whole seconds. */
const HALF_A_SECOND_MS = 500;

/** Returns the clock of an HTTP server less ours, by its `Date` header. Undefined if it sends none, or does not answer. */
export async function probeHttpClock(endpoint: ApiEndpoint): Promise<number | undefined> {
  const address = new EndpointAddress(endpoint);
  const http = openHttpPool(address.origin, { connections: 1 });
  try {
    const sentMs = systemClock.now();
    const { headers, body } = await http.request({
      method: 'POST',
      path: address.path('/ext/info'),
      headers: { ...address.headers, 'content-type': 'application/json' },
      body: QUESTION,
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const receivedMs = systemClock.now();
    await body.dump();
    const dateMs = Date.parse(String(headers['date']));
    if (Number.isNaN(dateMs)) return undefined;
    return Math.round(dateMs + HALF_A_SECOND_MS - (sentMs + receivedMs) / 2);
  } catch {
    return undefined;
  } finally {
    await http.destroy();
  }
}
