import type { BlsVerifier } from '../../bls/service/bls-service.ts';
import { copyBytes, equalBytes } from '../../lib/encoding/bytes.ts';
import type { SharedOutcome } from '../../store/redis/distributed-single-flight.ts';
import { checkSigners } from '../../validators/verify-signed-message.ts';
import type { AggregatorError } from '../aggregator-error.ts';
import type { VerifiedMessage } from '../collection/collected-signatures.ts';
import { targetWeightOf } from '../collection/tally.ts';
import { NO_WEIGHTS, type OutcomeWeights } from '../validators/validator-outcome.ts';
import type { AggregationResult } from './aggregation-request.ts';
import type { SettledRequest } from './complete-request.ts';
import type { Signing } from './signing-resolver.ts';

/** The end of a collection. That of another replica is a signed message. */
export type Ending =
  | {
      readonly kind: 'signed';
      readonly result: AggregationResult;
      readonly isTargetReached: boolean;
    }
  | { readonly kind: 'failed'; readonly error: AggregatorError };

/** Equal requests come within minutes. At 1 KB each, 100 messages a second are 60 MB in the store. */
const RESULT_LIFETIME_MS = 10 * 60_000;
/** For replicas that wait now: a later request may reach the whole buffer. */
const PARTIAL_RESULT_LIFETIME_MS = 3_000;

/** Returns the part of an ending that other replicas use: a signed message, which they verify. */
export function toShared(ending: Ending): SharedOutcome | undefined {
  if (ending.kind === 'failed') return undefined;
  const ttlMs = ending.isTargetReached ? RESULT_LIFETIME_MS : PARTIAL_RESULT_LIFETIME_MS;
  return { bytes: ending.result.signedMessage, ttlMs };
}

/** Verifies a signed message from the store for this message and validator set; undefined if it is not valid. */
export async function verifiedResult(
  bytes: Uint8Array,
  request: SettledRequest,
  signing: Signing,
  bls: BlsVerifier,
  signal: AbortSignal,
): Promise<Extract<Ending, { kind: 'signed' }> | undefined> {
  const { message, quorumNum } = request;
  const { warpSet } = signing;
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
  return {
    kind: 'signed',
    isTargetReached: signedWeight >= targetWeightOf(warpSet, request),
    result: toResult(signing, { signedMessage: copyBytes(bytes), signedWeight, signers, weights }),
  };
}

export function toResult(
  { signingSubnetID, pChainHeight, warpSet }: Signing,
  { signedMessage, signedWeight, signers, weights }: VerifiedMessage & { readonly weights: OutcomeWeights },
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
