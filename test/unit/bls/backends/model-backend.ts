import { sha256 } from '@noble/hashes/sha2.js';
import type { BlsBackend, HashedMessage, PublicKey, Signature } from '../../../../src/bls/backends/bls-backend.ts';
import { bytesToHex } from '../../../../src/lib/encoding/bytes.ts';
import { ParseError } from '../../../../src/lib/encoding/parse-error.ts';

/**
 * BLS without its curve: keys and signatures are integers modulo a prime, a signature is secret · H(message), and keys and
 * signatures add up as points do. It is forgeable and takes a microsecond: a model for the code on top.
 */
const P = 2n ** 61n - 1n;
const PUBLIC_KEY_LENGTH = 48;
const SIGNATURE_LENGTH = 96;

interface Residue {
  readonly value: bigint;
}

export const modelBackend: BlsBackend = {
  name: 'model',
  parsePublicKey: (bytes) => parse(bytes, PUBLIC_KEY_LENGTH, 'public key') as unknown as PublicKey,
  parseSignature: (bytes) => parse(bytes, SIGNATURE_LENGTH, 'signature') as unknown as Signature,
  aggregatePublicKeys: (keys) => sum(keys) as unknown as PublicKey,
  aggregateSignatures: (signatures) => sum(signatures) as unknown as Signature,
  hashToCurve: (message) => ({ value: hash(message) }) as unknown as HashedMessage,
  verify(key, message, signature) {
    const [k, m, s] = [residue(key), residue(message), residue(signature)];
    return k !== 0n && s !== 0n && s === (k * m) % P;
  },
  verifyBatch: (checks) => checks.every(({ key, message, signature }) => modelBackend.verify(key, message, signature)),
  encodeSignature: (signature) => encode(residue(signature), SIGNATURE_LENGTH),
  packedPublicKeyBytes: PUBLIC_KEY_LENGTH,
  packedSignatureBytes: SIGNATURE_LENGTH,
  packPublicKey: (key) => encode(residue(key), PUBLIC_KEY_LENGTH),
  unpackPublicKey: (packed) => unpack(packed) as unknown as PublicKey,
  packSignature: (signature) => encode(residue(signature), SIGNATURE_LENGTH),
  unpackSignature: (packed) => unpack(packed) as unknown as Signature,
  packMessage: (message) => encode(residue(message), SIGNATURE_LENGTH),
  unpackMessage: (packed) => unpack(packed) as unknown as HashedMessage,
};

export interface ModelSigner {
  readonly publicKey: Uint8Array;
  /** @param error added to the signature: 0 for a valid signature */
  sign(message: Uint8Array, error?: bigint): Uint8Array;
}

export function createModelSigner(secret: bigint): ModelSigner {
  return {
    publicKey: encode(modulo(secret), PUBLIC_KEY_LENGTH),
    sign: (message, error = 0n) => encode(modulo(secret * hash(message) + error), SIGNATURE_LENGTH),
  };
}

function hash(message: Uint8Array): bigint {
  return (BigInt(`0x${bytesToHex(sha256(message))}`) % (P - 1n)) + 1n;
}

function residue(element: PublicKey | Signature | HashedMessage): bigint {
  return (element as unknown as Residue).value;
}

function sum(elements: readonly (PublicKey | Signature)[]): Residue {
  return { value: elements.reduce((total, element) => (total + residue(element)) % P, 0n) };
}

function parse(bytes: Uint8Array, length: number, what: string): Residue {
  if (bytes.length !== length) throw new ParseError(what, `must have ${length} bytes, has ${bytes.length}`);
  const value = BigInt(`0x${bytesToHex(bytes)}`);
  if (value >= P) throw new ParseError(what, 'is not a compressed point on the curve');
  if (value === 0n) throw new ParseError(what, 'is the point at infinity');
  return { value };
}

/** Sums may be 0, other than what peers send. */
function unpack(packed: Uint8Array): Residue {
  return { value: BigInt(`0x${bytesToHex(packed)}`) };
}

function encode(value: bigint, length: number): Uint8Array {
  return Uint8Array.from(Buffer.from(value.toString(16).padStart(length * 2, '0'), 'hex'));
}

function modulo(value: bigint): bigint {
  return ((value % P) + P) % P;
}
