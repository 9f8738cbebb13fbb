import type { Clock } from '../lib/concurrency/clock.ts';
import { bytesToHex } from '../lib/encoding/bytes.ts';
import type { SubnetDirectory } from '../pchain/state/subnet-directory.ts';
import { type BlockchainID, idBytes, type SubnetID } from '../warp/ids.ts';
import { PUBLIC_NETWORKS } from '../warp/networks.ts';
import { AggregatorError } from './aggregator-error.ts';
import { askOptionally } from './ask-p-chain.ts';

/** The wait for a better text of an error. */
const NAMING_TIMEOUT_MS = 1_500;

/**
 * Returns the error for a destination that no blockchain has. Clients confuse the ID of a subnet with that of its blockchain, and networks
 * with each other: the error then says so, unless the P-Chain API does not answer in time. It has the ID as hex too, as clients give it.
 */
export async function unknownBlockchain(
  directory: Pick<SubnetDirectory, 'getSubnet'>,
  chainID: BlockchainID,
  clock: Clock,
  signal: AbortSignal,
): Promise<AggregatorError> {
  const advice = adviceOfNetworks(chainID) ?? (await adviceOfSubnets());
  const text = `the P-Chain knows no blockchain ${chainID} (0x${bytesToHex(idBytes(chainID))})${advice ?? ''}`;
  return new AggregatorError('invalid_request', text, { field: 'destinationChainID' });

  async function adviceOfSubnets(): Promise<string | undefined> {
    const subnet = await askOptionally({ clock, timeoutMs: NAMING_TIMEOUT_MS }, signal, (until) =>
      directory.getSubnet(chainID as string as SubnetID, until),
    );
    return subnet && ': it is the ID of a subnet; name one of its blockchains';
  }
}

function adviceOfNetworks(chainID: BlockchainID): string | undefined {
  const network = PUBLIC_NETWORKS.find(({ cChainID, xChainID }) => [cChainID, xChainID].includes(chainID));
  return network && `: it is the ${chainID === network.cChainID ? 'C' : 'X'}-Chain of ${network.name}`;
}
