import { FreshCache } from '../../lib/cache/fresh-cache.ts';
import type { Clock } from '../../lib/concurrency/clock.ts';
import type { BlockchainID } from '../../warp/ids.ts';
import type { ChainApi, Epoch } from '../rpc/chain-api.ts';

/** Cache of the current epoch of each chain, at whose P-Chain height the chain verifies Warp messages. */
export type Epochs = ReturnType<typeof createEpochs>;

/** An epoch lasts minutes. */
const MAX_AGE_MS = 1_000;
const MAX_CHAINS = 1_000;

export function createEpochs(api: Pick<ChainApi, 'getCurrentEpoch'>, clock: Clock) {
  return new FreshCache<BlockchainID, Epoch>({
    clock,
    max: MAX_CHAINS,
    maxAgeMs: MAX_AGE_MS,
    load: (chainID, signal) => api.getCurrentEpoch(chainID, signal),
  });
}

/** Returns undefined for the number 0: the chain has no epochs yet, and verifies at the proposed height. */
export function begunEpoch(epoch: Epoch): Epoch | undefined {
  return epoch.number === 0n ? undefined : epoch;
}
