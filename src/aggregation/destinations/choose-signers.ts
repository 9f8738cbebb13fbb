import { DEFAULT_QUORUM_NUM } from '../../validators/quorum.ts';
import { PRIMARY_NETWORK_ID, type SubnetID } from '../../warp/ids.ts';
import { AggregatorError } from '../aggregator-error.ts';
import type { DestinationFacts } from './destination-facts.ts';
import { type SigningRule, type SourceChain, signersFor } from './signing-rule.ts';

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
