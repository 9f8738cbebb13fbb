import type { Clock } from '../primitives/clock.ts';
import type { BlockchainID } from '../primitives/ids.ts';
import { createLru } from '../primitives/lru.ts';

/** Source chains of messages that nobody signed lately. Their next messages are shown to a few validators first. */
export interface RefusedChains {
  /**
   * Validators refused a message of this chain, and nobody signed it.
   *
   * @param client who asked; undefined where nobody said
   */
  refused(chainID: BlockchainID, client: string | undefined): void;
  isLikely(chainID: BlockchainID, client: string | undefined): boolean;
}

/** Clients and chains, and chains; beyond it the oldest are forgotten, and have some messages refused at the full price. Some MB. */
const MAX_COUNTS = 10_000;
/** A mistake or two change nothing for the chain's good messages, which would wait for one more round trip. */
const MANY = 3;
/** Of many clients together: one alone does not get so far, so that whoever floods a chain slows down none of the chain's others. */
const MANY_OF_ALL = 30;
/** So long after a flood the chain's messages are asked about as before. */
const HALF_LIFE_MS = 10_000;

export function createRefusedChains(clock: Clock): RefusedChains {
  const counts = createLru<string, { readonly count: number; readonly atMs: number }>(MAX_COUNTS);

  /** Each refused message counts for less and less. */
  function countOf(key: string): number {
    const known = counts.get(key);
    return known === undefined ? 0 : known.count * 0.5 ** ((clock.monotonicMs() - known.atMs) / HALF_LIFE_MS);
  }

  function add(key: string): void {
    counts.set(key, { count: countOf(key) + 1, atMs: clock.monotonicMs() });
  }

  // Somewhat below, as the first of them count for less by now.
  const isLikelyOf = (chainID: BlockchainID, client: string | undefined): boolean =>
    countOf(keyOf(chainID, client)) > MANY - 0.5;

  return {
    refused(chainID, client) {
      // For all only as long as it costs the full price.
      if (!isLikelyOf(chainID, client)) add(chainID);
      add(keyOf(chainID, client));
    },
    isLikely: (chainID, client) => isLikelyOf(chainID, client) || countOf(chainID) > MANY_OF_ALL - 0.5,
  };
}

/** No ID has a space. */
function keyOf(chainID: BlockchainID, client = ''): string {
  return `${chainID} ${client}`;
}
