import { endpointOf, type GoFile } from '../../config/go-aggregator/go-file.ts';
import { systemClock } from '../../lib/concurrency/clock.ts';
import { createJsonRpcClient } from '../../pchain/rpc/json-rpc.ts';
import { createNodeApi } from '../../pchain/rpc/node-api.ts';
import { createUnreadMetrics } from '../../telemetry/metrics.ts';
import { messageOf } from './text.ts';

/** Tools wait no longer for the ports of the service. */
const TIMEOUT_MS = 5_000;
/** The Go aggregator does not retry at its start either. */
const LIMITS = { attemptTimeoutMs: TIMEOUT_MS, callTimeoutMs: TIMEOUT_MS, maxRounds: 1 };

/**
 * Asks the info API of the file for its network ID, and the P-Chain API for its height, so that a wrong address of either is reported at the
 * start.
 *
 * @throws {Error} that names the key whose API does not answer
 */
export async function askNetworkIDOf(file: GoFile): Promise<number> {
  await using opened = new AsyncDisposableStack();
  const open = (key: 'info-api' | 'p-chain-api') =>
    opened.use(
      createJsonRpcClient({
        endpoints: [endpointOf(file, key)],
        clock: systemClock,
        random: Math.random,
        metrics: createUnreadMetrics(),
        limits: LIMITS,
      }),
    );
  const api = createNodeApi(open('p-chain-api'), open('info-api'));
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const [networkID] = await Promise.all([
    naming(file, 'info-api', api.getNetworkID(signal)),
    naming(file, 'p-chain-api', api.getHeight(signal)),
  ]);
  return networkID;
}

/** Names the origin only: the path of the URL may contain a key. */
async function naming<T>(file: GoFile, key: 'info-api' | 'p-chain-api', answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (cause) {
    const { origin } = new URL(endpointOf(file, key).baseUrl);
    throw new Error(`the node cannot be reached: ${key} at ${origin}: ${messageOf(cause)}`, { cause });
  }
}
