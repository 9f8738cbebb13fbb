import { LRUCache } from 'lru-cache';
import type { Clock } from '../../lib/concurrency/clock.ts';
import type { ClaimStore } from './claim-store.ts';

/**
 * Counters of rate limits, in this process or shared by all replicas. The promises do not reject; local counts are returned at once.
 */
export interface LimitCounters {
  /**
   * Adds a cost to the backlog of a key unless it would exceed the maximum. A backlog of n nanoseconds drains in n nanoseconds.
   *
   * @param costNs an integer; a negative one reduces the backlog, down to 0
   * @param maxNs an integer
   */
  take(key: string, costNs: number, maxNs: number): Backlog | Promise<Backlog>;
  /** Claims an action that is allowed once in `ttlMs`. One of several concurrent claims is granted. */
  claim(key: string, ttlMs: number): Promise<LimitClaim>;
}

export interface Backlog {
  readonly isTaken: boolean;
  readonly ns: number;
}

export type LimitClaim = GrantedClaim | { readonly isGranted: false; readonly leftMs: number };

export interface GrantedClaim {
  readonly isGranted: true;
  /** Releases the claim of an action that did not happen. Has no effect on later claims. */
  giveBack(): Promise<void>;
}

/** A few MB. Evicting the least recent backlog gives its client the units back. */
const MAX_BACKLOGS = 50_000;
/**
 * A few MB. If one address makes more claims than this, which takes 17 minutes under the default limit, the oldest can be claimed again.
 * A store keeps more.
 */
const MAX_CLAIMS = 50_000;

/** @param stored claims that survive a restart */
export function createMemoryLimitCounters(clock: Clock, stored?: Omit<ClaimStore, keyof Disposable>): LimitCounters {
  /** The time at which each backlog is empty: the theoretical arrival time of GCRA. */
  const emptyAtNs = new LRUCache<string, number>({ max: MAX_BACKLOGS });
  const claims = new LRUCache<string, { readonly endsMs: number }>({ max: MAX_CLAIMS });
  return {
    take(key, costNs, maxNs) {
      // Integers keep sums and differences exact.
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
      const inMemory = claims.get(key)?.endsMs ?? nowMs;
      // The system's clock may have been set back.
      const leftStoredMs = Math.min(ttlMs, (stored?.endOf(key) ?? 0) - clock.now());
      const leftMs = Math.max(inMemory - nowMs, leftStoredMs);
      if (leftMs > 0) return { isGranted: false, leftMs };
      const own = { endsMs: nowMs + ttlMs };
      claims.set(key, own);
      stored?.put(key, Math.ceil(clock.now() + ttlMs));
      return {
        isGranted: true,
        async giveBack() {
          if (claims.get(key) !== own) return;
          claims.delete(key);
          stored?.delete(key);
        },
      };
    },
  };
}
