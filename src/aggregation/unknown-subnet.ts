import type { Clock } from '../lib/concurrency/clock.ts';
import type { SubnetDirectory } from '../pchain/state/subnet-directory.ts';
import type { BlockchainID, SubnetID } from '../warp/ids.ts';
import { AggregatorError, type RequestField } from './aggregator-error.ts';
import { askOptionally } from './ask-p-chain.ts';

/** The wait for a better text of an error. */
const NAMING_TIMEOUT_MS = 1_500;

/**
 * Returns the error for an ID that no subnet has. Clients confuse the ID of a blockchain with that of its subnet: the error then names the
 * subnet, unless the P-Chain API does not answer in time.
 *
 * @param field by which the client gave the subnet, directly or not
 */
export async function unknownSubnet(
  directory: Pick<SubnetDirectory, 'validatedBy'>,
  { subnetID, field }: { readonly subnetID: SubnetID; readonly field: RequestField },
  clock: Clock,
  signal: AbortSignal,
): Promise<AggregatorError> {
  const chainID = subnetID as string as BlockchainID;
  const subnetOfChain = await askOptionally({ clock, timeoutMs: NAMING_TIMEOUT_MS }, signal, (until) =>
    directory.validatedBy(chainID, until),
  );
  const advice = subnetOfChain && `: it is the ID of a blockchain, which subnet ${subnetOfChain} validates`;
  return new AggregatorError('unknown_subnet', `the P-Chain knows no subnet ${subnetID}${advice ?? ''}`, { field });
}
