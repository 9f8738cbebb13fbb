import type { ParseError } from '../../lib/encoding/parse-error.ts';

/**
 * What the aggregator needs of BLS12-381 (minimal-pubkey-size: keys in G1, signatures in G2, as ACP-118 and Warp use it),
 * and how far each input is trusted:
 *
 * - Public keys come from the P-Chain, which accepts them only with a proof of possession. They are checked to be points on
 *   the curve. Their subgroup and possession are not proven again.
 * - Signatures come from peers, who may send anything. A single one is checked to be a point on the curve and nothing more:
 *   the aggregate decides, and {@link BlsBackend.verify} checks the subgroup of what it is given.
 * - A signature is proven only by a separate check, or by one with random weights such as {@link BlsBackend.verifyBatch}: in
 *   a plain sum, the defects of colluders can cancel. So a signature from a good aggregate is not proven, and any other
 *   aggregate that it goes into has to be verified itself.
 * - Packed points come from this process alone, at most from another of its threads, and are used unchecked.
 * - Nothing is returned to a client that has not passed {@link BlsBackend.verify} or {@link BlsBackend.verifyBatch}.
 *
 * Everything is synchronous: the service calls it in worker threads (`worker-pool.ts`). A backend is written with the types of its points;
 * its users get it with opaque ones.
 */
export interface BlsBackend<K = PublicKey, S = Signature, M = HashedMessage> {
  readonly name: string;
  /** @throws {ParseError} if the 48 bytes are not a compressed point of G1 other than infinity */
  parsePublicKey(bytes: Uint8Array): K;
  /** @throws {ParseError} if the 96 bytes are not a compressed point of G2 other than infinity */
  parseSignature(bytes: Uint8Array): S;
  /** Two at a time, if that takes less than twice as long: each the signature, or what {@link parseSignature} would throw. */
  readonly parseTwoSignatures?: (bytes: readonly [Uint8Array, Uint8Array]) => readonly (S | ParseError)[];
  /**
   * The sum of what these 96 bytes each encode, at least one, if that takes less than to parse them one by one; undefined if
   * {@link parseSignature} would throw for one of them. Its user takes the 96 bytes for packed points; zeros may follow them.
   */
  readonly sumEncodedSignatures?: (signatures: readonly Uint8Array[]) => S | undefined;
  /** The sum of packed keys, at least one; there if {@link sumEncodedSignatures} is. */
  readonly sumPackedPublicKeys?: (packed: readonly Uint8Array[]) => K;
  /** The sum; at least one. */
  aggregatePublicKeys(keys: readonly K[]): K;
  /** The sum; at least one. */
  aggregateSignatures(signatures: readonly S[]): S;
  /** Hashes the message to the curve, in the domain of message signatures. It needs no signature, so it can be done early. */
  hashToCurve(message: Uint8Array): M;
  /** Checks that the signature is in the subgroup, that neither side is infinity, and the pairing equation. */
  verify(key: K, message: M, signature: S): boolean;
  /**
   * Whether {@link verify} would hold for every one of them, with one final exponentiation for all: each subgroup is
   * checked, and the equations are summed up with random weights of 64 bits, so that a wrong "yes" has odds of 2^-64.
   */
  verifyBatch(checks: readonly SignatureCheck<K, S, M>[]): boolean;
  /** 96 bytes, compressed. */
  encodeSignature(signature: S): Uint8Array;

  /** Lengths of packed points. Packing is the quickest form to hand from thread to thread. */
  readonly packedPublicKeyBytes: number;
  readonly packedSignatureBytes: number;
  packPublicKey(key: K): Uint8Array;
  unpackPublicKey(packed: Uint8Array): K;
  packSignature(signature: S): Uint8Array;
  unpackSignature(packed: Uint8Array): S;
  packMessage(message: M): Uint8Array;
  unpackMessage(packed: Uint8Array): M;
}

export interface SignatureCheck<K = PublicKey, S = Signature, M = HashedMessage> {
  readonly key: K;
  readonly message: M;
  readonly signature: S;
}

declare const brand: unique symbol;
/** Points of one backend; another backend's points must never be mixed in. */
export type PublicKey = object & { readonly [brand]: 'PublicKey' };
export type Signature = object & { readonly [brand]: 'Signature' };
export type HashedMessage = object & { readonly [brand]: 'HashedMessage' };

/** Domain separation of message signatures (draft-irtf-cfrg-bls-signature, proof-of-possession scheme). */
export const SIGNATURE_DST = 'BLS_SIG_BLS12381G2_XMD:SHA-256_SSWU_RO_POP_';
