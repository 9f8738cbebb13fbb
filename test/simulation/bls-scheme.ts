import type { BlsBackend } from '../../src/bls/backends/bls-backend.ts';

/** Keys and signatures of a simulation. Keys go by a number. */
export interface BlsScheme {
  /** What the service verifies with. */
  readonly backend: BlsBackend;
  /** 48 bytes, compressed. */
  publicKey(key: number): Uint8Array;
  /** 96 bytes, compressed. */
  sign(key: number, message: Uint8Array): Uint8Array;
  /** Signs with an additive error: errors whose sum is 0 cancel in a plain sum. */
  signOffBy(key: number, message: Uint8Array, error: number): Uint8Array;
  /** Signs with a part outside the subgroup; in the model such parts may cancel too. */
  signOffSubgroup(key: number, message: Uint8Array, part: number): Uint8Array;
  readonly infinity: Uint8Array;
  /** Verifies an aggregate without the code under test. */
  isSignedBy(publicKeys: readonly Uint8Array[], message: Uint8Array, signature: Uint8Array): boolean;
}
