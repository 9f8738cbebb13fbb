import { FreshCache } from '../../lib/cache/fresh-cache.ts';
import type { Clock } from '../../lib/concurrency/clock.ts';
import type { BlockchainID } from '../../warp/ids.ts';
import type { ChainApi } from '../rpc/chain-api.ts';

/**
 * Cache of the P-Chain height of each chain's current epoch, at which the chain verifies Warp messages. Undefined for a chain without epochs,
 * which verifies at the proposed height.
 */
export type EpochHeights = ReturnType<typeof createEpochHeights>;

/** An epoch lasts minutes. */
const MAX_AGE_MS = 1_000;
const MAX_CHAINS = 1_000;

export function createEpochHeights(api: Pick<ChainApi, 'getCurrentEpoch'>, clock: Clock) {
  return new FreshCache<BlockchainID, bigint | undefined>({
    clock,
    max: MAX_CHAINS,
    maxAgeMs: MAX_AGE_MS,
    async load(chainID, signal) {
      const { number, pChainHeight } = await api.getCurrentEpoch(chainID, signal);
      return number === 0n ? undefined : pChainHeight;
    },
  });
}
