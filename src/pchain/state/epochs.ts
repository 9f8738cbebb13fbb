import { FreshCache } from '../../lib/cache/fresh-cache.ts';
import type { Clock } from '../../lib/concurrency/clock.ts';
import type { BlockchainID } from '../../warp/ids.ts';
import { PUBLIC_NETWORKS } from '../../warp/networks.ts';
import type { ChainApi, Epoch } from '../rpc/chain-api.ts';

/** Cache of the current epoch of each chain, at whose P-Chain height the chain verifies Warp messages. */
export type Epochs = FreshCache<BlockchainID, Epoch>;

/** How long an epoch lasts at least: `GraniteEpochDuration` of avalanchego's `upgrade/upgrade.go`. */
const PUBLIC_DURATION_S = 300n;
const DEFAULT_DURATION_S = 30n;

const MAX_AGE_MS = 1_000;
/** Once it may end, any block may end it. */
const MAX_AGE_OF_ENDING_MS = 100;
const MAX_CHAINS = 1_000;

export interface EpochsOptions {
  readonly api: Pick<ChainApi, 'getCurrentEpoch'>;
  readonly networkID: number;
  readonly clock: Clock;
}

export function createEpochs({ api, networkID, clock }: EpochsOptions): Epochs {
  const isPublic = PUBLIC_NETWORKS.some((network) => network.networkID === networkID);
  const durationS = isPublic ? PUBLIC_DURATION_S : DEFAULT_DURATION_S;
  return new FreshCache<BlockchainID, Epoch>({
    clock,
    max: MAX_CHAINS,
    maxAgeMs: ({ endTime = 0n }) => {
      const leftMs = Number(endTime) * 1_000 - clock.now();
      return Math.min(Math.max(leftMs, MAX_AGE_OF_ENDING_MS), MAX_AGE_MS);
    },
    load: async (chainID, signal) => {
      const epoch = await api.getCurrentEpoch(chainID, signal);
      return { ...epoch, endTime: epoch.startTime + durationS };
    },
  });
}

/** Returns undefined for the number 0: the chain has no epochs yet, and verifies at the proposed height. */
export function begunEpoch(epoch: Epoch): Epoch | undefined {
  return epoch.number === 0n ? undefined : epoch;
}
