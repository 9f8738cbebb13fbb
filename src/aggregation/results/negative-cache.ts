import { LRUCache } from 'lru-cache';
import type { Clock } from '../../lib/concurrency/clock.ts';
import type { AggregatorError, AggregatorErrorCode } from '../aggregator-error.ts';

/** A validator needs about this long to reconnect. */
const NOT_CONNECTED_TTL_MS = 3_000;
/** Validators were asked again for some seconds already. */
export const FAILURE_TTL_MS = 1_000;
export const REFUSAL_TTL_MS = 5 * 60_000;
const TTL_MS: Readonly<Partial<Record<AggregatorErrorCode, number>>> = {
  signing_refused: REFUSAL_TTL_MS,
  not_connected: NOT_CONNECTED_TTL_MS,
  insufficient_weight: FAILURE_TTL_MS,
};
/** The P-Chain accepts a registration whose expiry is at most 24 hours away, so a later one says nothing about today. */
export const MAX_PENDING_MS = 24 * 60 * 60_000;

const MIN_RETRY_AFTER_MS = 1_000;
/** Clients can send any number of hopeless messages, so the bytes are bounded too. */
const MAX_FAILURES = 5_000;
const MAX_BYTES = 16 * 2 ** 20;

interface Failure {
  readonly error: AggregatorError;
  readonly sinceMs: number;
  readonly untilMs: number;
  readonly connectedWeight: bigint;
}

/** Recent failures by result key: an equal request fails again without asking validators. */
export function createNegativeCache(clock: Clock) {
  const failures = new LRUCache<string, Failure>({
    max: MAX_FAILURES,
    maxSize: MAX_BYTES,
    sizeCalculation: ({ error }) => estimateBytes(error),
  });

  return {
    /** Returns a new error, with the time until a retry counted from now. */
    find(key: string, connectedWeight: () => bigint, maxAgeMs = Number.POSITIVE_INFINITY): AggregatorError | undefined {
      const failure = failures.get(key);
      if (failure === undefined) return undefined;
      const nowMs = clock.monotonicMs();
      if (nowMs - failure.sinceMs >= maxAgeMs) return undefined;
      if (nowMs >= failure.untilMs || mayBeConnected(failure, connectedWeight)) {
        failures.delete(key);
        return undefined;
      }
      const { retryAfterMs } = failure.error;
      const leftMs = retryAfterMs && Math.max(MIN_RETRY_AFTER_MS, retryAfterMs - (nowMs - failure.sinceMs));
      return failure.error.with({ retryAfterMs: leftMs });
    },
    remember(key: string, error: AggregatorError, connectedWeight: bigint): void {
      const ttlMs = error.code === 'registration_pending' ? error.retryAfterMs : TTL_MS[error.code];
      if (ttlMs === undefined) return;
      const sinceMs = clock.monotonicMs();
      failures.set(key, { error, sinceMs, untilMs: sinceMs + ttlMs, connectedWeight });
    },
    forget: (key: string): void => void failures.delete(key),
  };
}

function mayBeConnected({ error, connectedWeight: before }: Failure, connectedWeight: () => bigint): boolean {
  if (error.code !== 'not_connected' || error.report === undefined) return false;
  const now = connectedWeight();
  // If enough were connected before, the requests had no room in the queues: then more have to connect.
  return now > before && now >= error.report.tally.neededWeight;
}

/** Mostly texts of validators; NodeIDs are shared with the validator set. */
function estimateBytes({ message, report }: AggregatorError): number {
  let characters = message.length;
  let entries = 0;
  for (const { outcome } of report?.tally.missing ?? []) {
    characters += (outcome.kind === 'refused' ? outcome.text : (outcome.reason ?? '')).length;
    entries += 1;
  }
  for (const { text } of report?.tally.outcomes.refused.reasons ?? []) characters += text.length;
  for (const { reason } of report?.tally.outcomes.unreachable.reasons ?? []) characters += reason.length;
  return 2 * characters + ENTRY_BYTES * entries + OVERHEAD_BYTES;
}

const ENTRY_BYTES = 150;
/** Stack, key and counts. */
const OVERHEAD_BYTES = 3_000;
