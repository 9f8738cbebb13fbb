import { LRUCache } from 'lru-cache';
import type { Clock } from '../../lib/concurrency/clock.ts';

/** A signer that stays invalid costs one check in this time. */
const TRIAL_INTERVAL_MS = 10 * 60_000;
/** A trial may be cut short by the end of its request, and is then repeated. */
const TRIAL_AGAIN_MS = 60_000;
/** All validators that the network plans for. */
const MAX_SIGNERS = 20_000;

/**
 * Signers, by public key, that gave an invalid signature. They are asked last, and their signatures are verified alone before
 * they are aggregated, so that each signer spoils one aggregate only. A trial every few minutes clears those that sign again.
 */
export interface InvalidSigners {
  has(publicKeyHex: string): boolean;
  add(publicKeyHex: string): void;
  clear(publicKeyHex: string): void;
  /** Whether the signer is to be asked beside others, to learn whether it signs again. */
  isTrialDue(publicKeyHex: string): boolean;
  /** Puts the next trial off. */
  beginTrial(publicKeyHex: string): void;
}

export function createInvalidSigners(clock: Clock): InvalidSigners {
  const nextTrialMs = new LRUCache<string, number>({ max: MAX_SIGNERS });
  return {
    // Mostly empty, and called for every validator of a set.
    has: (publicKeyHex) => nextTrialMs.size > 0 && nextTrialMs.has(publicKeyHex),
    isTrialDue: (publicKeyHex) => clock.monotonicMs() >= (nextTrialMs.get(publicKeyHex) ?? Number.POSITIVE_INFINITY),
    beginTrial(publicKeyHex) {
      if (nextTrialMs.has(publicKeyHex)) nextTrialMs.set(publicKeyHex, clock.monotonicMs() + TRIAL_AGAIN_MS);
    },
    add: (publicKeyHex) => void nextTrialMs.set(publicKeyHex, clock.monotonicMs() + TRIAL_INTERVAL_MS),
    clear: (publicKeyHex) => void nextTrialMs.delete(publicKeyHex),
  };
}
