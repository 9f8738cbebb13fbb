import type { ParseError } from '../../lib/encoding/parse-error.ts';

/**
 * The operations on BLS12-381 that the aggregator needs (minimal-pubkey-size: keys in G1, signatures in G2, as in ACP-118 and Warp). Each
 * input is trusted this far:
 *
 * - Public keys come from the P-Chain, which accepts them only with a proof of possession. They are checked to be points on the curve.
 * Their subgroup and possession are not proven again.
 * - Signatures come from peers, who may send anything. A single one is checked to be a point on the curve and nothing more: the aggregate
 * decides, and {@link BlsBackend.verify} checks the subgroup of what it is given.
 * - A signature is proven only by a separate check, or by one with random weights such as {@link BlsBackend.verifyBatch}: in a plain sum,
 * the defects of colluders can cancel. So a signature from a good aggregate is not proven, and any other aggregate that it goes into has to
 * be verified itself.
 * - Packed points come from this process alone, at most from another of its threads, and are used unchecked.
 * - Nothing is returned to a client that has not passed {@link BlsBackend.verify} or {@link BlsBackend.verifyBatch}.
 *
 * Everything is synchronous: the service calls it in worker threads (`worker-pool.ts`). A backend declares the types of its points; its
 * callers see opaque types.
 */
export interface BlsBackend<K = PublicKey, S = Signature, M = HashedMessage> {
  readonly name: string;
  /** @throws {ParseError} if the 48 bytes are not a compressed point of G1 other than infinity */
  parsePublicKey(bytes: Uint8Array): K;
  /** @throws {ParseError} if the 96 bytes are not a compressed point of G2 other than infinity */
  parseSignature(bytes: Uint8Array): S;
  /**
   * Parses two signatures together, present if that is faster than one after the other. Each result is the signature, or the error that
   * {@link parseSignature} would throw.
   */
  readonly parseTwoSignatures?: (bytes: readonly [Uint8Array, Uint8Array]) => readonly (S | ParseError)[];
  /**
   * Returns the sum of one or more encoded signatures of 96 bytes, which zeros may follow; undefined if {@link parseSignature} would throw
   * for one of them. Present if that is faster than parsing each: callers then use the encodings as packed points.
   */
  readonly sumEncodedSignatures?: (signatures: readonly Uint8Array[]) => S | undefined;
  /** Returns the sum of one or more packed keys. Present together with {@link sumEncodedSignatures}. */
  readonly sumPackedPublicKeys?: (packed: readonly Uint8Array[]) => K;
  /** Returns the sum of one or more points. */
  aggregatePublicKeys(keys: readonly K[]): K;
  /** Returns the sum of one or more points. */
  aggregateSignatures(signatures: readonly S[]): S;
  /** Hashes the message to the curve, in the domain of message signatures. It needs no signature, so it can be done early. */
  hashToCurve(message: Uint8Array): M;
  /** Checks that the signature is in the subgroup, that neither side is infinity, and the pairing equation. */
  verify(key: K, message: M, signature: S): boolean;
  /**
   * Whether {@link verify} holds for each check, with one final exponentiation for all: each subgroup is checked, and the equations are
   * summed up with random weights of 64 bits, so the probability of a wrong "yes" is 2^-64.
   */
  verifyBatch(checks: readonly SignatureCheck<K, S, M>[]): boolean;
  /** 96 bytes, compressed. */
  encodeSignature(signature: S): Uint8Array;

  /** Lengths of packed points. Packed points are the fastest form to pass between threads. */
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
