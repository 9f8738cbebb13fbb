import type { BlsVerifier } from '../../bls/service/aggregation.ts';
import { copyBytes, equalBytes } from '../../lib/encoding/bytes.ts';
import type { SharedOutcome } from '../../store/redis/distributed-single-flight.ts';
import { checkSigners } from '../../validators/verify-signed-message.ts';
import { type AggregationReport, AggregatorError, type AggregatorErrorCode } from '../aggregator-error.ts';
import type { VerifiedMessage } from '../collection/collected-signatures.ts';
import { targetWeightOf } from '../collection/tally.ts';
import { NO_WEIGHTS, type OutcomeWeights } from '../validators/validator-outcome.ts';
import type { AggregationResult } from './aggregation-request.ts';
import type { SettledRequest } from './complete-request.ts';
import { ttlMsOf } from './negative-cache.ts';
import type { Signing } from './signing-resolver.ts';

/** End of a collection, here or in another replica. */
export type Ending =
  | {
      readonly kind: 'signed';
      readonly result: AggregationResult;
      readonly isTargetReached: boolean;
    }
  | {
      readonly kind: 'failed';
      readonly error: AggregatorError;
      readonly connectedWeight: bigint;
    };

/** Equal requests come within minutes. At 1 KB each, 100 messages a second are 60 MB in the store. */
const RESULT_LIFETIME_MS = 10 * 60_000;
/** For replicas that wait now: a later request may reach the whole buffer. */
const PARTIAL_RESULT_LIFETIME_MS = 3_000;

/** Encodes an ending for other replicas; undefined if it is not cached. Only a signed message proves itself. */
export function toShared(ending: Ending): SharedOutcome | undefined {
  if (ending.kind === 'signed') {
    const ttlMs = ending.isTargetReached ? RESULT_LIFETIME_MS : PARTIAL_RESULT_LIFETIME_MS;
    return { bytes: ending.result.signedMessage, ttlMs, isProven: true };
  }
  const ttlMs = ttlMsOf(ending.error);
  return ttlMs === undefined ? undefined : { bytes: encodeFailure(ending), ttlMs, isProven: false };
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

/** To be raised with each change of the format. */
export const FAILURE_VERSION = 3;

interface SharedFailure {
  readonly version: number;
  readonly code: AggregatorErrorCode;
  readonly message: string;
  readonly report: AggregationReport | undefined;
  readonly connectedWeight: bigint;
}

function encodeFailure({ error, connectedWeight }: Extract<Ending, { kind: 'failed' }>): Uint8Array {
  const { code, message, report } = error;
  const failure: SharedFailure = { version: FAILURE_VERSION, code, message, report, connectedWeight };
  return new TextEncoder().encode(
    JSON.stringify(failure, (_key, value: unknown) => (typeof value === 'bigint' ? { bigint: String(value) } : value)),
  );
}

/** Decodes another replica's failure; undefined if this one may succeed: it is connected to more weight. */
export function decodeFailure(
  bytes: Uint8Array,
  connectedWeight: () => bigint,
): Extract<Ending, { kind: 'failed' }> | undefined {
  const failure = parseFailure(bytes);
  if (failure?.version !== FAILURE_VERSION) return undefined;
  const { code, message, report } = failure;
  if (code !== 'signing_refused' && connectedWeight() > failure.connectedWeight) return undefined;
  return {
    kind: 'failed',
    error: new AggregatorError(code, message, { report }),
    connectedWeight: failure.connectedWeight,
  };
}

function parseFailure(bytes: Uint8Array): SharedFailure | undefined {
  try {
    return JSON.parse(new TextDecoder().decode(bytes), (_key, value: unknown) =>
      isBigint(value) ? BigInt(value.bigint) : value,
    ) as SharedFailure;
  } catch {
    return undefined;
  }
}

function isBigint(value: unknown): value is { readonly bigint: string } {
  return typeof value === 'object' && value !== null && 'bigint' in value && typeof value.bigint === 'string';
}
