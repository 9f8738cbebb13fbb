import { backoffMs } from '../lib/concurrency/backoff.ts';
import { type Clock, sleep } from '../lib/concurrency/clock.ts';
import { startDeadline } from '../lib/concurrency/deadline.ts';
import type { NodeApi } from '../pchain/rpc/node-api.ts';
import type { Logger } from '../telemetry/logger.ts';

/** A node that restarts is back within seconds; an API that stays away is asked every half minute. */
const RETRY_LIMITS = { baseMs: 1_000, maxMs: 30_000 };

export interface NetworkIDQuestion {
  readonly api: Pick<NodeApi, 'getNetworkID'>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** For one attempt. */
  readonly timeoutMs: number;
  /** Called with each failure. */
  readonly onFailure?: (reason: string) => void;
}

/** Asks until the API answers, as a service may well start before its node. Rejects with the signal's reason only. */
export async function askNetworkID(question: NetworkIDQuestion, signal: AbortSignal): Promise<number> {
  const { api, clock, logger, timeoutMs, onFailure } = question;
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
