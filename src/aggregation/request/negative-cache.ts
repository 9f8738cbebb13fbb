import { LRUCache } from 'lru-cache';
import type { Clock } from '../../lib/concurrency/clock.ts';
import { AggregatorError, type AggregatorErrorCode, NEGATIVE_CACHE_MS } from '../aggregator-error.ts';

/** Failures of requests a short while ago, by their result key: an equal request is answered without asking validators again. */
export interface NegativeCache {
  /**
   * @param connectedWeight weight of the set's validators that is connected now; asked only where it matters
   * @returns a new error, which says when to try again counted from now
   */
  find(key: string, connectedWeight: () => bigint): AggregatorError | undefined;
  /** @param connectedWeight weight of the set's validators that is connected now */
  remember(key: string, error: AggregatorError, connectedWeight: bigint): void;
}

/** Nothing changes these failures, so they are remembered for as long as clients may keep trying. */
const REFUSAL_MEMORY_MS = 5 * 60_000;
/** Other failures say nothing about the validators, and cost them no question. */
const MEMORY_MS: Readonly<Partial<Record<AggregatorErrorCode, number>>> = {
  signing_refused: REFUSAL_MEMORY_MS,
  not_connected: NEGATIVE_CACHE_MS,
  insufficient_weight: NEGATIVE_CACHE_MS,
};

/** For how long; undefined where it is not. */
export function memoryMsOf({ code }: AggregatorError): number | undefined {
  return MEMORY_MS[code];
}

/** No answer invites clients to come back earlier. */
const MIN_RETRY_AFTER_MS = 1_000;
/** Messages that clients try again at the same time; anybody can send hopeless ones, so the bytes are bounded as well. */
const MAX_FAILURES = 5_000;
const MAX_BYTES = 16 * 2 ** 20;

interface Failure {
  readonly error: AggregatorError;
  readonly sinceMs: number;
  readonly untilMs: number;
  readonly connectedWeight: bigint;
}

export function createNegativeCache(clock: Clock): NegativeCache {
  const failures = new LRUCache<string, Failure>({
    max: MAX_FAILURES,
    maxSize: MAX_BYTES,
    sizeCalculation: ({ error }) => estimateBytes(error),
  });

  return {
    find(key, connectedWeight) {
      const failure = failures.get(key);
      if (failure === undefined) return undefined;
      const nowMs = clock.monotonicMs();
      if (nowMs >= failure.untilMs || mayBeConnected(failure, connectedWeight)) {
        failures.delete(key);
        return undefined;
      }
      const { code, message, report, retryAfterMs } = failure.error;
      const leftMs = retryAfterMs && Math.max(MIN_RETRY_AFTER_MS, retryAfterMs - (nowMs - failure.sinceMs));
      return new AggregatorError(code, message, { report, retryAfterMs: leftMs });
    },
    remember(key, error, connectedWeight) {
      const memoryMs = MEMORY_MS[error.code];
      if (memoryMs === undefined) return;
      const sinceMs = clock.monotonicMs();
      failures.set(key, { error, sinceMs, untilMs: sinceMs + memoryMs, connectedWeight });
    },
  };
}

/** Whether validators were missing that are connected now, so that another attempt may well succeed. */
function mayBeConnected({ error, connectedWeight: before }: Failure, connectedWeight: () => bigint): boolean {
  if (error.code !== 'not_connected' || error.report === undefined) return false;
  const now = connectedWeight();
  // Enough may have been connected already, but with no room for a request: then more have to come than there were.
  return now > before && now >= error.report.tally.neededWeight;
}

/** Texts are the validators' own, and make up most of it; NodeIDs are shared with the validator set. */
function estimateBytes({ message, report }: AggregatorError): number {
  let characters = message.length;
  let entries = 0;
  for (const { text = '', reason = '' } of report?.tally.missing ?? []) {
    characters += text.length + reason.length;
    entries += 1;
  }
  for (const { text } of report?.tally.outcomes.refused.reasons ?? []) characters += text.length;
  for (const { reason } of report?.tally.outcomes.unreachable.reasons ?? []) characters += reason.length;
  return 2 * characters + ENTRY_BYTES * entries + OVERHEAD_BYTES;
}

const ENTRY_BYTES = 150;
/** Stack, key and counts. */
const OVERHEAD_BYTES = 3_000;
