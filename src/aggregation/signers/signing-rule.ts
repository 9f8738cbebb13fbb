import { DEFAULT_QUORUM_NUM } from '../../validators/quorum.ts';
import { type BlockchainID, P_CHAIN_ID, PRIMARY_NETWORK_ID, type SubnetID } from '../../warp/ids.ts';
import { AggregatorError } from '../aggregator-error.ts';
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

export interface NamedChoice {
  readonly signingSubnetID: SubnetID | undefined;
  readonly quorumNum: bigint | undefined;
}

export interface SignersChoice {
  readonly signingSubnetID: SubnetID;
  readonly quorumNum: bigint;
  readonly rule: SigningRule;
}

/**
 * Chooses who signs, and the quorum: what the request names, else what the destination demands, else the subnet of the source chain
 * and 67 %.
 *
 * @throws {AggregatorError} if the destination's configuration decides and cannot be read
 */
export function chooseSigners(
  source: SourceChain,
  named: NamedChoice,
  destination: DestinationFacts | undefined,
): SignersChoice {
  const quorumNum = named.quorumNum ?? quorumOf(destination);
  if (named.signingSubnetID !== undefined) return { signingSubnetID: named.signingSubnetID, quorumNum, rule: 'named' };
  if (destination === undefined) {
    return { signingSubnetID: source.sourceSubnetID, quorumNum, rule: 'source_subnet' };
  }
  const ruled = signersFor(source, destination);
  if (ruled === undefined) throw undecided(destination);
  return { ...ruled, quorumNum };
}

/** The least percentage of the weight that a destination accepts; the default if it is not known. */
export function quorumOf(destination: Pick<DestinationFacts, 'warp'> | undefined): bigint {
  return destination?.warp.kind === 'read' ? destination.warp.config.quorumNum : DEFAULT_QUORUM_NUM;
}

function undecided({ chainID, subnetID, warp }: DestinationFacts): AggregatorError {
  if (warp.kind === 'read') throw new Error('a configuration that was read decides');
  const { reason, mayPass } = warp;
  const text =
    `the warp config of blockchain ${chainID}, which decides whose validators sign, cannot be read (${reason}); ` +
    `${mayPass ? 'ask again, or name them' : 'name them'}: subnet ${subnetID} if the chain verifies with its own validators, ` +
    `subnet ${PRIMARY_NETWORK_ID} if its config has requirePrimaryNetworkSigners`;
  return new AggregatorError(mayPass ? 'chain_rpc_unavailable' : 'invalid_request', text, {
    field: 'signingSubnetID',
  });
}
