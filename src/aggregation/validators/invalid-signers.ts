import { LRUCache } from 'lru-cache';
import type { Clock } from '../../lib/concurrency/clock.ts';

/** A signer that stays invalid costs one check in this time. */
const TRIAL_INTERVAL_MS = 10 * 60_000;
/** A trial may be cut short by the end of its request, and is then repeated. */
const TRIAL_AGAIN_MS = 60_000;
/** All validators that the network plans for. */
const MAX_SIGNERS = 20_000;

/**
 * Signers that gave an invalid signature, by public key. They are asked last, and their signatures are verified alone before
 * they are aggregated, so that each signer spoils one aggregate only. A trial every few minutes clears those that sign again.
 */
export function createInvalidSigners(clock: Clock) {
  const nextTrialMs = new LRUCache<string, number>({ max: MAX_SIGNERS });
  return {
    // Mostly empty, and called for every validator of a set.
    has: (publicKeyHex: string): boolean => nextTrialMs.size > 0 && nextTrialMs.has(publicKeyHex),
    isTrialDue: (publicKeyHex: string): boolean =>
      clock.monotonicMs() >= (nextTrialMs.get(publicKeyHex) ?? Number.POSITIVE_INFINITY),
    beginTrial(publicKeyHex: string): void {
      if (nextTrialMs.has(publicKeyHex)) nextTrialMs.set(publicKeyHex, clock.monotonicMs() + TRIAL_AGAIN_MS);
    },
    add: (publicKeyHex: string): void => void nextTrialMs.set(publicKeyHex, clock.monotonicMs() + TRIAL_INTERVAL_MS),
    clear: (publicKeyHex: string): void => void nextTrialMs.delete(publicKeyHex),
  };
}

export type InvalidSigners = ReturnType<typeof createInvalidSigners>;
