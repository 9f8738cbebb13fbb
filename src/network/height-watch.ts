import { type Clock, repeat } from '../lib/concurrency/clock.ts';
import { startDeadline } from '../lib/concurrency/deadline.ts';
import type { NodeApi } from '../pchain/rpc/node-api.ts';
import type { Logger } from '../telemetry/logger.ts';

export interface HeightWatchOptions {
  readonly api: Pick<NodeApi, 'getProposedHeight'>;
  readonly clock: Clock;
  readonly logger: Pick<Logger, 'info' | 'warn'>;
  /** For one reading. */
  readonly timeoutMs: number;
}

/** Time without a reading after which the API counts as down. */
const MAX_SILENCE_MS = 30_000;
/** Readings without requests of clients: few, because public APIs limit them. */
const INTERVAL_MS = 10_000;
const RETRY_MS = 2_000;

/** Watches whether any endpoint reports the proposed P-Chain height, which nearly every request needs. Disposal ends the readings. */
export function openHeightWatch({ api, clock, logger, timeoutMs }: HeightWatchOptions) {
  const stopping = new AbortController();
  const listeners = new Set<() => void>();
  let lastReadMs = clock.monotonicMs();
  let failure = 'it was not asked';
  let isLogged = false;

  async function getProposedHeight(signal: AbortSignal): Promise<bigint> {
    const height = await api.getProposedHeight(signal);
    const wasDown = problem() !== undefined;
    lastReadMs = clock.monotonicMs();
    if (wasDown) for (const listener of listeners) listener();
    if (isLogged) logger.info('the P-Chain API reports the proposed height again');
    isLogged = false;
    return height;
  }

  function problem(): string | undefined {
    const silentMs = clock.monotonicMs() - lastReadMs;
    if (silentMs < MAX_SILENCE_MS) return undefined;
    return `no P-Chain API has reported the proposed height for ${Math.floor(silentMs / 1_000)} s: ${failure}`;
  }

  const working = repeat(clock, stopping.signal, async () => {
    const dueMs = lastReadMs + INTERVAL_MS - clock.monotonicMs();
    if (dueMs > 0) return dueMs;
    using deadline = startDeadline(clock, timeoutMs, 'reading the proposed height', stopping.signal);
    try {
      await getProposedHeight(deadline.signal);
      return INTERVAL_MS;
    } catch (error) {
      if (stopping.signal.aborted) return 0;
      failure = error instanceof Error ? error.message : String(error);
      const reason = problem();
      if (reason !== undefined && !isLogged) {
        logger.warn({ err: error, reason }, 'the network is down: its P-Chain API does not answer');
        isLogged = true;
      }
      return RETRY_MS;
    }
  });

  return {
    /** Reads the height for a caller, which counts as a reading. */
    getProposedHeight,
    /** Reason for operators why the API counts as down; undefined while it does not. */
    problem,
    /** Calls back when {@link problem} ends; returns a function that unsubscribes. */
    onRecovery(listener: () => void): () => void {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    async [Symbol.asyncDispose](): Promise<void> {
      stopping.abort(new Error('the service stops'));
      await working;
    },
  };
}
