import { bls12_381 } from '@noble/curves/bls12-381.js';

const { G1, longSignatures } = bls12_381;
const SIGNATURE_DST = 'BLS_SIG_BLS12381G2_XMD:SHA-256_SSWU_RO_POP_';
const SIGNATURE_LENGTH = 96;

/** A validator as the P-Chain names it. */
export interface SetMember {
  readonly publicKey: Uint8Array | undefined;
  readonly weight: bigint;
}

/** In the order that signer bits follow. */
export interface CanonicalSet {
  readonly members: readonly { readonly key: typeof G1.Point.BASE; readonly weight: bigint }[];
  readonly totalWeight: bigint;
}

/**
 * An independent implementation of the specification (ACP-77, avalanchego `vms/platformvm/warp`): the set is ordered by uncompressed keys.
 * No two validators share a key here.
 */
export function toCanonicalSet(set: readonly SetMember[]): CanonicalSet {
  const members = set
    .flatMap(({ publicKey, weight }) => (publicKey ? [{ key: G1.Point.fromBytes(publicKey), weight }] : []))
    .map((member) => ({ ...member, order: Buffer.from(member.key.toBytes(false)) }))
    .toSorted((a, b) => Buffer.compare(a.order, b.order));
  return { members, totalWeight: set.reduce((sum, { weight }) => sum + weight, 0n) };
}

/** Returns whether validators with this quorum have signed, by the bits of the signers and one pairing equation. */
export function isSignedBy(signedMessage: Uint8Array, { members, totalWeight }: CanonicalSet, quorum: number): boolean {
  const view = new DataView(signedMessage.buffer, signedMessage.byteOffset, signedMessage.byteLength);
  // u16 codec version · u32 network · 32 bytes of the chain · u32 length, payload; u32 type · u32 length, bits · signature.
  const unsignedLength = 42 + view.getUint32(38);
  const unsigned = signedMessage.subarray(0, unsignedLength);
  if (view.getUint32(unsignedLength) !== 0) return false;
  const signersEnd = unsignedLength + 8 + view.getUint32(unsignedLength + 4);
  const bits = BigInt(`0x0${Buffer.from(signedMessage.subarray(unsignedLength + 8, signersEnd)).toString('hex')}`);
  const signature = signedMessage.subarray(signersEnd);
  if (signature.length !== SIGNATURE_LENGTH || bits >> BigInt(members.length) !== 0n) return false;
  const signing = members.filter((_, index) => ((bits >> BigInt(index)) & 1n) === 1n);
  const signedWeight = signing.reduce((sum, { weight }) => sum + weight, 0n);
  if (signing.length === 0 || signedWeight * 100n < totalWeight * BigInt(quorum)) return false;
  const key = signing.map((member) => member.key).reduce((sum, next) => sum.add(next));
  return longSignatures.verify(signature, longSignatures.hash(unsigned, SIGNATURE_DST), key);
}
