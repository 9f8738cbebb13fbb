/**
 * What the aggregator needs of BLS12-381 (minimal-pubkey-size: keys in G1, signatures in G2, as ACP-118 and Warp use it),
 * and how far each input is trusted:
 *
 * - Public keys come from the P-Chain, which took them only with a proof of possession. They are checked to be points on
 *   the curve; their subgroup and possession are not proven again.
 * - Signatures come from peers, who may send anything. A single one is checked to be a point on the curve, and a backend may
 *   check no more: the aggregate decides, and {@link BlsBackend.verify} checks the subgroup of what it is given.
 * - Nothing is returned to a client that has not passed {@link BlsBackend.verify}.
 */
export interface BlsBackend {
  readonly name: string;
  /** @throws {ParseError} where the 48 bytes are not a compressed point of G1 other than infinity */
  parsePublicKey(bytes: Uint8Array): PublicKey;
  /** @throws {ParseError} where the 96 bytes are not a compressed point of G2 other than infinity */
  parseSignature(bytes: Uint8Array): Signature;
  /** The sum; at least one. */
  aggregatePublicKeys(keys: readonly PublicKey[]): PublicKey;
  /** The sum; at least one. */
  aggregateSignatures(signatures: readonly Signature[]): Signature;
  /** Hashes to the curve with the message's domain: by far the dearest step that depends on the message alone. */
  hashToCurve(message: Uint8Array): HashedMessage;
  /** Subgroup of the signature, neither side infinity, and the pairing equation. */
  verify(key: PublicKey, message: HashedMessage, signature: Signature): boolean;
  /** 96 bytes, compressed. */
  encodeSignature(signature: Signature): Uint8Array;
}

declare const brand: unique symbol;
/** Points of one backend; another backend's points must never be mixed in. */
export type PublicKey = object & { readonly [brand]: 'PublicKey' };
export type Signature = object & { readonly [brand]: 'Signature' };
export type HashedMessage = object & { readonly [brand]: 'HashedMessage' };

/** Domain separation of message signatures (draft-irtf-cfrg-bls-signature, proof-of-possession scheme). */
export const SIGNATURE_DST = 'BLS_SIG_BLS12381G2_XMD:SHA-256_SSWU_RO_POP_';
