import type { BlsService } from '../../bls/service/aggregation.ts';
import { copyBytes, equalBytes } from '../../lib/encoding/bytes.ts';
import type { SharedOutcome } from '../../store/redis/shared-work.ts';
import { checkSigners } from '../../validators/verify-signed-message.ts';
import {
  type AggregationReport,
  AggregatorError,
  type AggregatorErrorCode,
  NEGATIVE_CACHE_MS,
} from '../aggregator-error.ts';
import { targetWeightOf } from '../collection/tally.ts';
import type { AggregationResult } from './aggregation-request.ts';
import type { CompleteRequest } from './complete-request.ts';
import { memoryMsOf } from './negative-cache.ts';
import type { Signing } from './signing-resolver.ts';

/** How a collection ended, here or in another replica. */
export type Ending =
  | {
      readonly kind: 'signed';
      readonly result: AggregationResult;
      /** Whether the buffer was reached too. */
      readonly isTargetReached: boolean;
    }
  | {
      readonly kind: 'failed';
      readonly error: AggregatorError;
      /** Weight of the set's validators that was connected. */
      readonly connectedWeight: bigint;
    };

/** Repeats of a request come within minutes. At 1 KB each, 100 messages a second are 60 MB in the store. */
const RESULT_LIFETIME_MS = 10 * 60_000;

/** A signed message proves itself; a failure is another replica's word. What other replicas would not have from memory is not shared. */
export function toShared(ending: Ending): SharedOutcome | undefined {
  if (ending.kind === 'signed') {
    // With a part of the buffer only, it is for those who wait for it now.
    const ttlMs = ending.isTargetReached ? RESULT_LIFETIME_MS : NEGATIVE_CACHE_MS;
    return { bytes: ending.result.signedMessage, ttlMs, isProven: true };
  }
  const ttlMs = memoryMsOf(ending.error);
  return ttlMs === undefined ? undefined : { bytes: encodeFailure(ending), ttlMs, isProven: false };
}

/**
 * A signed message that another replica is said to have made, once it has passed all that a destination would check, for just
 * this message and this validator set; undefined where it does not.
 *
 * @throws what the BLS threads throw, or the signal's reason
 */
export async function verifiedResult(
  bytes: Uint8Array,
  request: CompleteRequest,
  { signingSubnetID, pChainHeight, warpSet }: Signing,
  bls: BlsService,
  signal: AbortSignal,
): Promise<Extract<Ending, { kind: 'signed' }> | undefined> {
  const { message, quorumNum } = request;
  const check = checkSigners(bytes, { networkID: message.networkID, warpSet, quorumNum });
  if (check.kind === 'invalid' || !equalBytes(check.unsignedMessage.bytes, message.bytes)) return undefined;
  const { validators: signers, signature, signedWeight } = check;
  if ((await bls.verifySigned({ message: message.bytes, signers, signature }, signal)) !== 'valid') return undefined;
  return {
    kind: 'signed',
    isTargetReached: signedWeight >= targetWeightOf(warpSet, request),
    result: {
      ...{ signedMessage: copyBytes(bytes), signingSubnetID, pChainHeight, signedWeight },
      totalWeight: warpSet.totalWeight,
      signers: signers.flatMap(({ nodeIDs: [nodeID] }) => nodeID ?? []),
    },
  };
}

/** Raised with each change of what is in it. A replica of another version finds out itself. */
const FAILURE_VERSION = 2;

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

/**
 * Another replica's failure, under its seal; undefined where this one may do better, as it is connected to more weight, or where a
 * replica of another version wrote it.
 */
export function decodeFailure(
  bytes: Uint8Array,
  connectedWeight: () => bigint,
): Extract<Ending, { kind: 'failed' }> | undefined {
  const failure = parseFailure(bytes);
  if (failure?.version !== FAILURE_VERSION) return undefined;
  const { code, message, report } = failure;
  // Validators that refuse for good refuse everybody.
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
