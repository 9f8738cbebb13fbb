import type { SubnetDirectory } from '../../pchain/state/subnet-directory.ts';
import type { WarpConfigs, WarpReading } from '../../pchain/state/warp-configs.ts';
import { DEFAULT_QUORUM_NUM } from '../../validators/quorum.ts';
import { type BlockchainID, PRIMARY_NETWORK_ID, type SubnetID } from '../../warp/ids.ts';

/** A chain that verifies messages, and how. */
export interface DestinationFacts {
  readonly chainID: BlockchainID;
  readonly subnetID: SubnetID;
  readonly warp: WarpReading;
}

/** The chains of the primary network have no other configuration, so their RPC need not be asked. */
const OF_PRIMARY_NETWORK: WarpReading = {
  kind: 'read',
  config: { isEnabled: true, quorumNum: DEFAULT_QUORUM_NUM, requirePrimaryNetworkSigners: false },
};

export interface DestinationsOptions {
  readonly directory: Pick<SubnetDirectory, 'validatedBy' | 'knownSubnetOf'>;
  readonly warpConfigs: WarpConfigs;
}

/** Finds how chains verify messages. */
export interface Destinations {
  /** Returns undefined for a blockchain that the P-Chain does not know. @throws {ApiError}, or the signal's reason */
  find(chainID: BlockchainID, signal: AbortSignal): Promise<DestinationFacts | undefined>;
  /** Returns undefined if something is not cached. */
  known(chainID: BlockchainID): DestinationFacts | undefined;
}

export function createDestinations({ directory, warpConfigs }: DestinationsOptions): Destinations {
  return {
    async find(chainID: BlockchainID, signal: AbortSignal): Promise<DestinationFacts | undefined> {
      const subnetID = await directory.validatedBy(chainID, signal);
      if (subnetID === undefined) return undefined;
      const isPrimary = subnetID === PRIMARY_NETWORK_ID;
      return { chainID, subnetID, warp: isPrimary ? OF_PRIMARY_NETWORK : await warpConfigs.get(chainID, signal) };
    },
    known(chainID: BlockchainID): DestinationFacts | undefined {
      const subnetID = directory.knownSubnetOf(chainID);
      if (subnetID === undefined) return undefined;
      const warp = subnetID === PRIMARY_NETWORK_ID ? OF_PRIMARY_NETWORK : warpConfigs.known(chainID);
      return warp && { chainID, subnetID, warp };
    },
  };
}
