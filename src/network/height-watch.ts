import { type Clock, repeat } from '../lib/concurrency/clock.ts';
import { DeadlineExceeded, startDeadline } from '../lib/concurrency/deadline.ts';
import { ApiError } from '../pchain/rpc/api-error.ts';
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
  /** Monotonic time by which the next reading has succeeded or failed, if no API answered the last one; else undefined. */
  let nextOutcomeMs: number | undefined;

  async function read(signal: AbortSignal): Promise<bigint> {
    const height = await api.getProposedHeight(signal);
    const wasDown = problem() !== undefined;
    lastReadMs = clock.monotonicMs();
    nextOutcomeMs = undefined;
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

  function requireUp(): void {
    const reason = problem();
    if (reason === undefined || nextOutcomeMs === undefined) return;
    const retryAfterMs = Math.max(nextOutcomeMs - clock.monotonicMs(), 0);
    throw new ApiError('unavailable', reason, { retryAfterMs });
  }

  async function getProposedHeight(signal: AbortSignal): Promise<bigint> {
    requireUp();
    return await read(signal);
  }

  const working = repeat(clock, stopping.signal, async () => {
    const dueMs = lastReadMs + INTERVAL_MS - clock.monotonicMs();
    if (dueMs > 0) return dueMs;
    if (nextOutcomeMs !== undefined) nextOutcomeMs = clock.monotonicMs() + timeoutMs;
    using deadline = startDeadline(clock, timeoutMs, 'reading the proposed height', stopping.signal);
    try {
      await read(deadline.signal);
      return INTERVAL_MS;
    } catch (error) {
      if (stopping.signal.aborted) return 0;
      failure = error instanceof Error ? error.message : String(error);
      const leastMs = msUntilAnswer(error);
      nextOutcomeMs = leastMs === undefined ? undefined : clock.monotonicMs() + leastMs;
      const reason = problem();
      if (reason !== undefined && !isLogged) {
        logger.warn({ err: error, reason }, 'the network is down: its P-Chain API does not answer');
        isLogged = true;
      }
      return RETRY_MS;
    }
  });

  return {
    /** Reads the height for a caller, which counts as a reading. Fails like {@link requireUp}. */
    getProposedHeight,
    /** Reason for operators why the API counts as down; undefined while it does not. */
    problem,
    /**
     * Lets a call fail that would only wait for an API that is down: the readings of this watch notice when it answers again.
     *
     * @throws {ApiError} `unavailable`, with the time until the outcome of the next reading
     */
    requireUp,
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

/** Returns the least time until an API may answer; undefined if one did, whatever its answer. */
function msUntilAnswer(error: unknown): number | undefined {
  if (error instanceof DeadlineExceeded) return RETRY_MS;
  if (!(error instanceof ApiError) || error.code !== 'unavailable') return undefined;
  return Math.max(RETRY_MS, error.retryAfterMs ?? 0);
}
