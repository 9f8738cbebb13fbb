import type { BlsBackend } from '../bls/backends/bls-backend.ts';
import { attempt, ParseError } from '../lib/encoding/parse-error.ts';
import { parseSignedMessage } from '../warp/signed-message.ts';
import type { UnsignedMessage } from '../warp/unsigned-message.ts';
import { isQuorumReached } from './quorum.ts';
import type { WarpSet, WarpValidator } from './warp-set.ts';

export type Verification =
  | { readonly kind: 'valid'; readonly signedWeight: bigint }
  | { readonly kind: 'invalid'; readonly reason: InvalidReason };

export type InvalidReason =
  | 'malformed'
  | 'wrong network'
  | 'no signers'
  | 'unknown signer'
  | 'insufficient weight'
  | 'malformed signature'
  | 'wrong signature';

export interface ExpectedMessage {
  readonly networkID: number;
  readonly warpSet: WarpSet;
  readonly quorumNum: bigint;
}

/** The named signers and their weight. The signature itself is not verified yet. */
export interface SignersCheck {
  readonly kind: 'enough weight';
  readonly unsignedMessage: UnsignedMessage;
  /** Canonical indices, ascending. */
  readonly signers: readonly number[];
  readonly validators: readonly WarpValidator[];
  readonly signedWeight: bigint;
  readonly signature: Uint8Array;
}

type Invalid = Extract<Verification, { kind: 'invalid' }>;

/**
 * Verifies encoded bytes like a destination chain: the checks of the reference's `BitSetSignature.Verify`, in its order (avalanchego
 * `vms/platformvm/warp/signature.go`). Pairings block the thread for milliseconds: the service uses {@link checkSigners}, and verifies
 * the signature in its BLS threads.
 */
export function verifySignedMessage(bytes: Uint8Array, expected: ExpectedMessage, backend: BlsBackend): Verification {
  const check = checkSigners(bytes, expected);
  if (check.kind === 'invalid') return check;
  const { unsignedMessage, validators, signature, signedWeight } = check;
  const valid = attempt(() => {
    const key = backend.aggregatePublicKeys(validators.map(({ publicKey }) => backend.parsePublicKey(publicKey)));
    return backend.verify(key, backend.hashToCurve(unsignedMessage.bytes), backend.parseSignature(signature));
  });
  if (valid instanceof ParseError) return invalid('malformed signature');
  return valid ? { kind: 'valid', signedWeight } : invalid('wrong signature');
}

export function checkSigners(bytes: Uint8Array, expected: ExpectedMessage): SignersCheck | Invalid {
  const message = attempt(() => parseSignedMessage(bytes));
  if (message instanceof ParseError) return invalid('malformed');
  const { unsignedMessage } = message;
  if (unsignedMessage.networkID !== expected.networkID) return invalid('wrong network');
  const { signers, signature } = message.signature;
  // A quorum of 0 needs no weight, but a signature without signers is never valid.
  if (signers.length === 0) return invalid('no signers');
  const { validators, weight: signedWeight, unknown } = namedSigners(signers, expected.warpSet);
  if (unknown.length > 0) return invalid('unknown signer');
  if (!isQuorumReached(expected.quorumNum, signedWeight, expected.warpSet.totalWeight)) {
    return invalid('insufficient weight');
  }
  return { kind: 'enough weight', unsignedMessage, signers, validators, signedWeight, signature };
}

export interface NamedSigners {
  readonly validators: readonly WarpValidator[];
  readonly weight: bigint;
  /** Bits beyond the end of the set. */
  readonly unknown: readonly number[];
}

export function namedSigners(signers: readonly number[], { validators }: WarpSet): NamedSigners {
  const named = signers.flatMap((index) => validators[index] ?? []);
  return {
    validators: named,
    weight: named.reduce((sum, { weight }) => sum + weight, 0n),
    unknown: signers.filter((index) => index >= validators.length),
  };
}

function invalid(reason: InvalidReason): Invalid {
  return { kind: 'invalid', reason };
}
