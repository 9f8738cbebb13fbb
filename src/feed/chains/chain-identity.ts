import type { EvmChainID } from '../../pchain/rpc/evm-api.ts';
import type { PrimaryChains } from '../../pchain/state/primary-chains.ts';
import type { SubnetDirectory } from '../../pchain/state/subnet-directory.ts';
import { type BlockchainID, PRIMARY_NETWORK_ID, type SubnetID } from '../../warp/ids.ts';

export interface ChainIdentifierOptions {
  readonly primaryChains: PrimaryChains;
  readonly directory: Pick<SubnetDirectory, 'validatedBy'>;
  /** Called with the subnet that validates a watched chain. */
  readonly trackSubnet: (chain: EvmChainID, subnetID: SubnetID) => void;
}

/**
 * Returns a function that finds the ID of a watched chain and tracks the subnet that validates it. It rejects with `ApiError`, and returns a
 * reason if there is no such chain.
 */
export function createChainIdentifier({ primaryChains, directory, trackSubnet }: ChainIdentifierOptions) {
  return async (chain: EvmChainID, signal: AbortSignal): Promise<BlockchainID | { readonly problem: string }> => {
    const chainID = chain === 'C' ? (await primaryChains.find(signal)).C : chain;
    if (chainID === undefined) return { problem: 'the P-Chain lists no C-Chain' };
    const subnetID = await directory.validatedBy(chainID, signal);
    if (subnetID === undefined) return { problem: `the P-Chain knows no blockchain ${chainID}` };
    // A reload of the settings may have removed the chain meanwhile.
    signal.throwIfAborted();
    // The primary network is connected anyway.
    if (subnetID !== PRIMARY_NETWORK_ID) trackSubnet(chain, subnetID);
    return chainID;
  };
}
