import { LRUCache } from 'lru-cache';
import type { Clock } from '../primitives/clock.ts';

/** Long enough to span a burst of requests, short enough that a repaired validator is soon trusted as before. */
const REMEMBERED_MS = 10 * 60_000;
/** All validators that the network plans for. */
const MAX_SUSPECTS = 20_000;

/**
 * Signers that gave a bad signature, by public key: their next ones are verified alone before they go into an aggregate, so
 * that each signer spoils one aggregate and no more.
 */
export interface Suspects {
  has(publicKeyHex: string): boolean;
  add(publicKeyHex: string): void;
  /** Its signature was good. */
  clear(publicKeyHex: string): void;
}

export function createSuspects(clock: Clock): Suspects {
  const untilMs = new LRUCache<string, number>({ max: MAX_SUSPECTS });
  return {
    has: (publicKeyHex) => (untilMs.get(publicKeyHex) ?? 0) > clock.monotonicMs(),
    add: (publicKeyHex) => untilMs.set(publicKeyHex, clock.monotonicMs() + REMEMBERED_MS),
    clear: (publicKeyHex) => untilMs.delete(publicKeyHex),
  };
}
