import type { Clock } from '../primitives/clock.ts';
import { createLru } from '../primitives/lru.ts';

/**
 * Counts what limits apply to: in this process alone, or together with the other replicas. Its promises do not reject; what this
 * process alone counts is there at once.
 */
export interface LimitCounters {
  /** Adds to what was used in the current window. If there is none, a new one starts. */
  add(key: string, cost: number, windowMs: number): Usage | Promise<Usage>;
  /** Claims something that may be done once in `ttlMs`. Of many claims at the same time, one is granted. */
  claim(key: string, ttlMs: number): Promise<Claim>;
}

export interface Usage {
  readonly used: number;
  /** Until the window ends. */
  readonly leftMs: number;
}

export type Claim = GrantedClaim | { readonly isGranted: false; readonly leftMs: number };

export interface GrantedClaim {
  readonly isGranted: true;
  /** Says that what was claimed was not done, so that others may claim it. Has no effect on a later claim of somebody else. */
  giveBack(): Promise<void>;
}

/** Clients remembered, in some MB. The least recent one is forgotten, which only gives it its units back. */
const MAX_WINDOWS = 50_000;
/**
 * Claims remembered, in some MB. If there are more before they end, as one address can make in 17 minutes under the default limit,
 * the oldest are forgotten, and what they were for can be claimed once more. A shared store forgets none.
 */
const MAX_CLAIMS = 50_000;

export function createMemoryLimitCounters(clock: Clock): LimitCounters {
  const windows = createLru<string, { used: number; readonly endsMs: number }>(MAX_WINDOWS);
  const claims = createLru<string, { readonly endsMs: number }>(MAX_CLAIMS);
  return {
    add(key, cost, windowMs) {
      const nowMs = clock.monotonicMs();
      let window = windows.get(key);
      if (window === undefined || window.endsMs <= nowMs) {
        window = { used: 0, endsMs: nowMs + windowMs };
        windows.set(key, window);
      }
      window.used += cost;
      return { used: window.used, leftMs: window.endsMs - nowMs };
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
