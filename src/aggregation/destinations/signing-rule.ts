import { type BlockchainID, P_CHAIN_ID, PRIMARY_NETWORK_ID, type SubnetID } from '../../warp/ids.ts';
import type { DestinationFacts } from './destination-facts.ts';

/** Why a subnet signs a message. */
export type SigningRule = (typeof SIGNING_RULES)[number];
export const SIGNING_RULES = ['named', 'source_subnet', 'destination_subnet', 'primary_network'] as const;

export const RULE_MEANINGS: Readonly<Record<SigningRule, string>> = {
  named: 'the request names the subnet',
  source_subnet: 'the subnet of the source chain signs',
  destination_subnet:
    "the source chain is of the primary network, and the destination verifies its messages with the destination's own subnet",
  primary_network:
    "the source chain is the C-Chain or the X-Chain, and the destination's warp config has requirePrimaryNetworkSigners",
};

export interface SourceChain {
  readonly sourceChainID: BlockchainID;
  readonly sourceSubnetID: SubnetID;
}

export interface RuledSigners {
  readonly rule: Exclude<SigningRule, 'named'>;
  readonly signingSubnetID: SubnetID;
}

/**
 * Returns the subnet whose validators a destination accepts as signers (subnet-evm `precompile/contracts/warp/config.go`,
 * `VerifyPredicate`); undefined if the destination's configuration decides and cannot be read.
 */
export function signersFor(
  { sourceChainID, sourceSubnetID }: SourceChain,
  { subnetID, warp }: Pick<DestinationFacts, 'subnetID' | 'warp'>,
): RuledSigners | undefined {
  // Within the primary network both subnets are the same.
  if (sourceSubnetID !== PRIMARY_NETWORK_ID || subnetID === PRIMARY_NETWORK_ID) {
    return { rule: 'source_subnet', signingSubnetID: sourceSubnetID };
  }
  if (sourceChainID === P_CHAIN_ID) return { rule: 'destination_subnet', signingSubnetID: subnetID };
  if (warp.kind === 'unreadable') return undefined;
  return warp.config.requirePrimaryNetworkSigners
    ? { rule: 'primary_network', signingSubnetID: PRIMARY_NETWORK_ID }
    : { rule: 'destination_subnet', signingSubnetID: subnetID };
}
