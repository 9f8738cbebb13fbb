import { createLru } from '../../lib/cache/lru.ts';
import type { Clock } from '../../lib/concurrency/clock.ts';

/** A signer that stays bad costs one check of its signature in so long a time. */
const TRIAL_INTERVAL_MS = 10 * 60_000;
/** A trial may be overtaken by the end of its request, and is repeated in another one. */
const TRIAL_AGAIN_MS = 60_000;
/** All validators that the network plans for. */
const MAX_SIGNERS = 20_000;

/**
 * Signers that gave a bad signature, by public key. They are asked last, and their signatures are verified alone before they go into
 * an aggregate, so that each signer spoils one aggregate and no more. Now and then one of them is tried out; a good signature
 * clears it.
 */
export interface InvalidSigners {
  has(publicKeyHex: string): boolean;
  /** Whether it is some minutes since its last bad signature, so that it may have been repaired. */
  isTrialDue(publicKeyHex: string): boolean;
  beginTrial(publicKeyHex: string): void;
  add(publicKeyHex: string): void;
  /** Its signature was good. */
  clear(publicKeyHex: string): void;
}

export function createInvalidSigners(clock: Clock): InvalidSigners {
  const nextTrialMs = createLru<string, number>(MAX_SIGNERS);
  return {
    // Mostly there are none, and all validators of a set are asked about.
    has: (publicKeyHex) => nextTrialMs.size > 0 && nextTrialMs.has(publicKeyHex),
    isTrialDue: (publicKeyHex) => clock.monotonicMs() >= (nextTrialMs.get(publicKeyHex) ?? Number.POSITIVE_INFINITY),
    beginTrial: (publicKeyHex) => {
      if (nextTrialMs.has(publicKeyHex)) nextTrialMs.set(publicKeyHex, clock.monotonicMs() + TRIAL_AGAIN_MS);
    },
    add: (publicKeyHex) => nextTrialMs.set(publicKeyHex, clock.monotonicMs() + TRIAL_INTERVAL_MS),
    clear: (publicKeyHex) => nextTrialMs.delete(publicKeyHex),
  };
}
