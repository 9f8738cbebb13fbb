import type { BlsBackend, HashedMessage } from '../bls/bls-backend.ts';
import type { PublicKeyCache } from '../bls/public-key-cache.ts';
import { ParseError } from '../primitives/parse-error.ts';
import { parseSignedMessage } from '../warp/signed-message.ts';
import { isQuorumReached } from './quorum.ts';
import type { WarpSet } from './warp-set.ts';

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

/**
 * Whether a destination chain would accept these bytes: the checks of the reference's `BitSetSignature.Verify`, in its
 * order, from the encoded bytes on (avalanchego `vms/platformvm/warp/signature.go`).
 *
 * @param hashedMessage hash to the curve of the unsigned message in `bytes`, where the caller has it already
 */
export function verifySignedMessage(
  bytes: Uint8Array,
  expected: { readonly networkID: number; readonly warpSet: WarpSet; readonly quorumNum: bigint },
  { backend, publicKeys }: { readonly backend: BlsBackend; readonly publicKeys: PublicKeyCache },
  hashedMessage?: HashedMessage,
): Verification {
  let message: ReturnType<typeof parseSignedMessage>;
  try {
    message = parseSignedMessage(bytes);
  } catch (error) {
    if (error instanceof ParseError) return invalid('malformed');
    throw error;
  }
  if (message.unsignedMessage.networkID !== expected.networkID) return invalid('wrong network');
  const { signers, signature } = message.signature;
  // At a quorum of 0 the weight would do, but nothing can be a signature of nobody.
  if (signers.length === 0) return invalid('no signers');
  const validators = signers.flatMap((index) => expected.warpSet.validators[index] ?? []);
  if (validators.length !== signers.length) return invalid('unknown signer');
  const signedWeight = validators.reduce((sum, { weight }) => sum + weight, 0n);
  if (!isQuorumReached(expected.quorumNum, signedWeight, expected.warpSet.totalWeight)) {
    return invalid('insufficient weight');
  }
  try {
    const key = backend.aggregatePublicKeys(
      validators.map(({ publicKey, publicKeyHex }) => publicKeys.get(publicKeyHex, publicKey)),
    );
    const hashed = hashedMessage ?? backend.hashToCurve(message.unsignedMessage.bytes);
    const valid = backend.verify(key, hashed, backend.parseSignature(signature));
    return valid ? { kind: 'valid', signedWeight } : invalid('wrong signature');
  } catch (error) {
    if (error instanceof ParseError) return invalid('malformed signature');
    throw error;
  }
}

function invalid(reason: InvalidReason): Verification {
  return { kind: 'invalid', reason };
}
