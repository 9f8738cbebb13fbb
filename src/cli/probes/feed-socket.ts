import { maskedBaseUrl } from '../../config/schema/mask.ts';
import { openHeadSocket } from '../../feed/chains/head-socket.ts';
import { systemClock } from '../../lib/concurrency/clock.ts';
import { aborted } from '../../lib/concurrency/deadline.ts';
import { openWebSocket } from '../../lib/net/http-port.ts';
import type { EvmChainID } from '../../pchain/rpc/evm-api.ts';
import { createLogger } from '../../telemetry/logger.ts';
import { NotTried, runCheck } from './check.ts';
import type { CheckedPlace } from './facts.ts';

/** An idle chain has no new block. */
const HEAD_WAIT_MS = 5_000;

/** Subscribes to the new heads of a chain as the feed does, and waits for one. */
export async function probeFeedSocket(
  chain: EvmChainID,
  url: string,
  waitMs: number = HEAD_WAIT_MS,
): Promise<CheckedPlace> {
  const row = await runCheck({
    method: 'eth_subscribe newHeads',
    severity: 'warning',
    lost: 'new blocks as they come: the feed asks for them twice a second',
    advice: 'check its host, port, path and key, or leave webSocket out',
    call: (signal) => awaitHead(url, waitMs, signal),
  });
  // Of ws and wss.
  const masked = maskedBaseUrl(url.replace(/^ws/i, 'http')).replace(/^http/, 'ws');
  return { name: `feed.chains ${chain} webSocket`, url: masked, ...row };
}

/** Resolves with the first head after the confirmation. @throws if the socket ends, {@link NotTried} if no head comes */
async function awaitHead(url: string, waitMs: number, signal: AbortSignal): Promise<void> {
  const over = AbortSignal.any([signal, AbortSignal.timeout(waitMs)]);
  const { promise: seen, resolve, reject } = Promise.withResolvers<void>();
  let isConfirmed = false;
  await using socket = openHeadSocket({
    url,
    openSocket: openWebSocket,
    clock: systemClock,
    random: Math.random,
    logger: createLogger('silent'),
    onHead() {
      if (!socket.isSubscribed) reject(new Error('it ended before it confirmed the subscription'));
      else if (isConfirmed) resolve();
      isConfirmed = true;
    },
  });
  await Promise.race([seen, aborted(over)]);
  if (!isConfirmed) throw new Error(`it did not confirm the subscription within ${waitMs} ms`);
  if (over.aborted) throw new NotTried(`it confirmed the subscription, and no block came within ${waitMs} ms`);
}
