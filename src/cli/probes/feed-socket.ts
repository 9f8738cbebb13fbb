import { maskedBaseUrl } from '../../config/schema/mask.ts';
import { openHeadSocket } from '../../feed/chains/head-socket.ts';
import { systemClock } from '../../lib/concurrency/clock.ts';
import { aborted } from '../../lib/concurrency/deadline.ts';
import type { ApiEndpoint } from '../../lib/net/api-endpoint.ts';
import { openWebSocket } from '../../lib/net/web-socket.ts';
import type { EvmChainID } from '../../pchain/rpc/evm-api.ts';
import { createLogger } from '../../telemetry/logger.ts';
import { NotTried, runCheck } from './check.ts';
import type { CheckedPlace } from './facts.ts';

/** An idle chain has no new block. */
const HEAD_WAIT_MS = 5_000;

/** Subscribes to the new heads of a chain as the feed does, and waits for one. */
export async function probeFeedSocket(
  chain: EvmChainID,
  endpoint: ApiEndpoint,
  waitMs: number = HEAD_WAIT_MS,
): Promise<CheckedPlace> {
  const row = await runCheck({
    method: 'eth_subscribe newHeads',
    severity: 'warning',
    lost: 'new blocks as they come: the feed asks for them twice a second alone',
    advice: 'check its host, port, path and key, or leave webSocket out',
    call: (signal) => awaitHead(endpoint, waitMs, signal),
  });
  return { name: `feed.chains ${chain} webSocket`, url: maskedBaseUrl(endpoint.baseUrl), ...row };
}

/** Resolves with the first head after the confirmation. @throws if the socket ends, {@link NotTried} if no head comes */
async function awaitHead(endpoint: ApiEndpoint, waitMs: number, signal: AbortSignal): Promise<void> {
  const over = AbortSignal.any([signal, AbortSignal.timeout(waitMs)]);
  const { promise: seen, resolve, reject } = Promise.withResolvers<void>();
  let isConfirmed = false;
  await using socket = openHeadSocket({
    endpoint,
    openSocket: openWebSocket,
    clock: systemClock,
    random: Math.random,
    logger: createLogger('silent'),
    onHead() {
      if (!socket.isSubscribed) reject(new Error(socket.endReason ?? 'it ended before it confirmed the subscription'));
      else if (isConfirmed) resolve();
      isConfirmed = true;
    },
  });
  await Promise.race([seen, aborted(over)]);
  if (!isConfirmed) throw new Error(`it did not confirm the subscription within ${waitMs} ms`);
  if (over.aborted) throw new NotTried(`it confirmed the subscription, and no block came within ${waitMs} ms`);
}
