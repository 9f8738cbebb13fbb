import { backoffMs } from '../lib/concurrency/backoff.ts';
import { type Clock, sleep } from '../lib/concurrency/clock.ts';
import { startDeadline } from '../lib/concurrency/deadline.ts';
import type { NodeApi } from '../pchain/rpc/node-api.ts';
import type { Logger } from '../telemetry/logger.ts';

const RETRY_LIMITS = { baseMs: 1_000, maxMs: 30_000 };

interface NetworkIDRequest {
  readonly api: Pick<NodeApi, 'getNetworkID'>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** For each attempt. */
  readonly timeoutMs: number;
  readonly onFailure?: (reason: string) => void;
}

/** Requests the network ID until the API responds: the service may start before its node. Rejects only with the signal's reason. */
export async function askNetworkID(request: NetworkIDRequest, signal: AbortSignal): Promise<number> {
  const { api, clock, logger, timeoutMs, onFailure } = request;
  for (let failures = 1; ; failures += 1) {
    try {
      using deadline = startDeadline(clock, timeoutMs, 'asking for the network ID', signal);
      return await api.getNetworkID(deadline.signal);
    } catch (error) {
      signal.throwIfAborted();
      logger.warn({ err: error }, 'the info API does not answer yet; trying again');
      onFailure?.(error instanceof Error ? error.message : String(error));
    }
    await sleep(clock, backoffMs(failures, RETRY_LIMITS), signal);
  }
}
