import { createLru } from '../../lib/cache/lru.ts';
import type { Clock } from '../../lib/concurrency/clock.ts';

/**
 * Counts what limits apply to: in this process alone, or together with the other replicas. Its promises do not reject; what this
 * process alone counts is there at once.
 */
export interface LimitCounters {
  /**
   * Adds a cost to the backlog of a key, unless the backlog would exceed the maximum. A backlog of n nanoseconds is worked off in n nanoseconds.
   *
   * @param costNs an integer; a negative one gives a cost back, down to an empty backlog
   * @param maxNs an integer
   */
  take(key: string, costNs: number, maxNs: number): Backlog | Promise<Backlog>;
  /** Claims something that may be done once in `ttlMs`. Of many claims at the same time, one is granted. */
  claim(key: string, ttlMs: number): Promise<Claim>;
}

export interface Backlog {
  /** Whether the cost is part of it. */
  readonly isTaken: boolean;
  readonly ns: number;
}

export type Claim = GrantedClaim | { readonly isGranted: false; readonly leftMs: number };

export interface GrantedClaim {
  readonly isGranted: true;
  /** Says that what was claimed was not done, so that others may claim it. Has no effect on a later claim of somebody else. */
  giveBack(): Promise<void>;
}

/** Backlogs remembered, in some MB. The least recent one is forgotten, which only gives its client the units back. */
const MAX_BACKLOGS = 50_000;
/**
 * Claims remembered, in some MB. If there are more before they end, as one address can make in 17 minutes under the default limit,
 * the oldest are forgotten, and what they were for can be claimed once more. A shared store forgets none.
 */
const MAX_CLAIMS = 50_000;

export function createMemoryLimitCounters(clock: Clock): LimitCounters {
  /** When each backlog is empty; GCRA calls it the theoretical arrival time. */
  const emptyAtNs = createLru<string, number>(MAX_BACKLOGS);
  const claims = createLru<string, { readonly endsMs: number }>(MAX_CLAIMS);
  return {
    take(key, costNs, maxNs) {
      // An integer, so that sums and differences are exact.
      const nowNs = Math.floor(clock.monotonicMs() * 1e6);
      const beforeNs = Math.max(0, (emptyAtNs.get(key) ?? 0) - nowNs);
      const ns = Math.max(0, beforeNs + costNs);
      if (ns > maxNs) return { isTaken: false, ns: beforeNs };
      if (ns > 0) emptyAtNs.set(key, nowNs + ns);
      else emptyAtNs.delete(key);
      return { isTaken: true, ns };
    },
    async claim(key, ttlMs) {
      const nowMs = clock.monotonicMs();
      const other = claims.get(key);
      if (other !== undefined && other.endsMs > nowMs) return { isGranted: false, leftMs: other.endsMs - nowMs };
      const own = { endsMs: nowMs + ttlMs };
      claims.set(key, own);
      return {
        isGranted: true,
        async giveBack() {
          if (claims.get(key) === own) claims.delete(key);
        },
      };
    },
  };
}
