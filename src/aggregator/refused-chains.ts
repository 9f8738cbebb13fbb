import { LRUCache } from 'lru-cache';
import type { Clock } from '../primitives/clock.ts';
import type { BlockchainID } from '../primitives/ids.ts';

/** Source chains of messages that nobody signed lately. Their next messages are shown to a few validators first. */
export interface RefusedChains {
  /** Validators refused a message of this chain, and nobody signed it. */
  refused(chainID: BlockchainID): void;
  isLikely(chainID: BlockchainID): boolean;
}

/** Enough for a flood from many chains; who needs more chains than that has each message refused at the full price. */
const MAX_CHAINS = 1_000;
/** A mistake or two change nothing for the chain's good messages, which would wait for one more round trip. */
const MANY = 3;
/** So long after a flood the chain's messages are asked about as before. */
const HALF_LIFE_MS = 10_000;

export function createRefusedChains(clock: Clock): RefusedChains {
  const counts = new LRUCache<BlockchainID, { readonly count: number; readonly atMs: number }>({ max: MAX_CHAINS });

  /** Each refused message counts for less and less. */
  function countOf(chainID: BlockchainID): number {
    const known = counts.get(chainID);
    return known === undefined ? 0 : known.count * 0.5 ** ((clock.monotonicMs() - known.atMs) / HALF_LIFE_MS);
  }

  return {
    refused: (chainID) => counts.set(chainID, { count: countOf(chainID) + 1, atMs: clock.monotonicMs() }),
    // Somewhat below, as the first of them count for less by now.
    isLikely: (chainID) => countOf(chainID) > MANY - 0.5,
  };
}
