import { bls12_381 } from '@noble/curves/bls12-381.js';

const { G1, longSignatures } = bls12_381;
const SIGNATURE_DST = 'BLS_SIG_BLS12381G2_XMD:SHA-256_SSWU_RO_POP_';
const SIGNATURE_LENGTH = 96;

/** A validator as the P-Chain names it. */
export interface SetMember {
  readonly publicKey: Uint8Array | undefined;
  readonly weight: bigint;
}

/**
 * Whether validators with so much of the weight have signed, written anew from the specification (ACP-77, avalanchego `vms/platformvm/warp`),
 * with nothing of this project: the order of the set is that of the uncompressed keys, the signers are the bits of a big-endian number, and
 * the signature is checked by one plain pairing equation of noble's.
 */
export function isSignedBy(signedMessage: Uint8Array, set: readonly SetMember[], quorum: number): boolean {
  const view = new DataView(signedMessage.buffer, signedMessage.byteOffset, signedMessage.byteLength);
  // u16 codec version · u32 network · 32 bytes of the chain · u32 length, payload.
  const unsignedLength = 42 + view.getUint32(38);
  const unsigned = signedMessage.subarray(0, unsignedLength);
  if (view.getUint32(unsignedLength) !== 0) return false;
  const signersLength = view.getUint32(unsignedLength + 4);
  const signers = signedMessage.subarray(unsignedLength + 8, unsignedLength + 8 + signersLength);
  const signature = signedMessage.subarray(unsignedLength + 8 + signersLength);
  if (signature.length !== SIGNATURE_LENGTH) return false;
  const bits = BigInt(`0x0${Buffer.from(signers).toString('hex')}`);

  const canonical = set
    .flatMap(({ publicKey, weight }) =>
      publicKey === undefined ? [] : [{ key: G1.Point.fromBytes(publicKey), weight }],
    )
    .map((member) => ({ ...member, order: Buffer.from(member.key.toBytes(false)) }))
    .toSorted((a, b) => Buffer.compare(a.order, b.order));
  if (bits >> BigInt(canonical.length) !== 0n) return false;
  const signing = canonical.filter((_, index) => ((bits >> BigInt(index)) & 1n) === 1n);
  const signedWeight = signing.reduce((sum, { weight }) => sum + weight, 0n);
  const totalWeight = set.reduce((sum, { weight }) => sum + weight, 0n);
  if (signing.length === 0 || signedWeight * 100n < totalWeight * BigInt(quorum)) return false;
  const key = signing.map((member) => member.key).reduce((sum, next) => sum.add(next));
  return longSignatures.verify(signature, longSignatures.hash(unsigned, SIGNATURE_DST), key);
}
