import type { BlsVerifier } from '../../bls/service/bls-service.ts';
import { copyBytes, equalBytes } from '../../lib/encoding/bytes.ts';
import { checkSigners } from '../../validators/verify-signed-message.ts';
import type { SignedEnd } from '../collection/job.ts';
import { targetWeightOf } from '../collection/tally.ts';
import type { AggregationResult } from '../request/aggregation-request.ts';
import type { SigningPlan } from '../signers/signing-plan.ts';
import { NO_WEIGHTS } from '../validators/validator-outcome.ts';

/** Verifies the bytes of a signed message by a plan, as if this replica had collected them; undefined if they are not valid. */
export async function verifiedEnd(
  bytes: Uint8Array,
  plan: SigningPlan,
  bls: BlsVerifier,
  signal: AbortSignal,
): Promise<SignedEnd | undefined> {
  const { message, quorumNum, warpSet } = plan;
  const check = checkSigners(bytes, { networkID: message.networkID, warpSet, quorumNum });
  if (check.kind === 'invalid' || !equalBytes(check.unsignedMessage.bytes, message.bytes)) return undefined;
  const { validators: signers, signature, signedWeight } = check;
  if ((await bls.verifySigned({ message: message.bytes, signers, signature }, signal)) !== 'valid') return undefined;
  const { totalWeight, keyless } = warpSet;
  const weights = {
    ...NO_WEIGHTS,
    signed: signedWeight,
    not_asked: totalWeight - signedWeight - keyless.weight,
    no_key: keyless.weight,
  };
  const isTargetReached = signedWeight >= targetWeightOf(warpSet, plan);
  return { kind: 'signed', signedMessage: copyBytes(bytes), signedWeight, signers, weights, isTargetReached };
}

export function toResult(
  { signingSubnetID, pChainHeight, warpSet }: SigningPlan,
  { signedMessage, signedWeight, signers, weights }: SignedEnd,
): AggregationResult {
  return {
    signedMessage,
    signingSubnetID,
    pChainHeight,
    signedWeight,
    weights,
    totalWeight: warpSet.totalWeight,
    signers: signers.flatMap(({ nodeIDs: [nodeID] }) => nodeID ?? []),
  };
}
