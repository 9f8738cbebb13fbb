import { hash } from 'node:crypto';
import type { BlsBackend, HashedMessage, PublicKey, Signature } from '../../src/bls/backends/bls-backend.ts';
import { ParseError } from '../../src/lib/encoding/parse-error.ts';
import type { BlsScheme } from './bls-scheme.ts';

/**
 * BLS without its curve: keys and signatures are integers modulo a prime, a signature is secret · H(message), and both add up as points
 * do. A signature has a second part, modulo a small number, that is 0 in the subgroup. It is forgeable, and takes a
 * microsecond, so that the real code above it (sums, batches, the search for invalid signers) runs millions of times.
 */
const P = 2n ** 61n - 1n;
/** The modulus of the second part, like the cofactor of the curve. */
const COFACTOR = 13n;
const [KEY_LENGTH, SIGNATURE_LENGTH, PACKED_LENGTH] = [48, 96, 16];
/** Flags of the real encodings. */
const [COMPRESSED, INFINITY] = [0x80, 0x40];

interface Element {
  readonly value: bigint;
  /** 0 in the subgroup. */
  readonly offSubgroup: bigint;
}

type Any = PublicKey | Signature | HashedMessage;

function elementOf(element: Any): Element {
  return element as unknown as Element;
}

function as<T>(element: Element): T {
  return element as unknown as T;
}

function parse(bytes: Uint8Array, length: number, what: string): Element {
  if (bytes.length !== length) throw new ParseError(what, `must have ${length} bytes, has ${bytes.length}`);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const element = { value: view.getBigUint64(length - 8), offSubgroup: view.getBigUint64(length - 16) };
  const flags = bytes[0] ?? 0;
  // As with the real encodings, another byte is another point, or none.
  const isCanonical = (flags & ~INFINITY) === COMPRESSED && bytes.subarray(1, length - 16).every((byte) => byte === 0);
  if (!isCanonical || element.value >= P || element.offSubgroup >= COFACTOR) {
    throw new ParseError(what, 'is not a compressed point on the curve');
  }
  if ((flags & INFINITY) !== 0) throw new ParseError(what, 'is the point at infinity');
  return element;
}

function encode({ value, offSubgroup }: Element, length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  const view = new DataView(bytes.buffer);
  bytes[0] = value === 0n && offSubgroup === 0n ? COMPRESSED | INFINITY : COMPRESSED;
  view.setBigUint64(length - 16, offSubgroup);
  view.setBigUint64(length - 8, value);
  return bytes;
}

function pack(element: Any): Uint8Array {
  const { value, offSubgroup } = elementOf(element);
  const bytes = new Uint8Array(PACKED_LENGTH);
  const view = new DataView(bytes.buffer);
  view.setBigUint64(0, offSubgroup);
  view.setBigUint64(8, value);
  return bytes;
}

function unpack(bytes: Uint8Array): Element {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return { offSubgroup: view.getBigUint64(0), value: view.getBigUint64(8) };
}

function sum(elements: readonly (PublicKey | Signature)[]): Element {
  let [value, offSubgroup] = [0n, 0n];
  for (const element of elements) {
    value += elementOf(element).value;
    offSubgroup += elementOf(element).offSubgroup;
  }
  return { value: value % P, offSubgroup: offSubgroup % COFACTOR };
}

export function hashToModel(message: Uint8Array): bigint {
  return (hash('sha256', message, 'buffer').readBigUInt64BE(0) % (P - 1n)) + 1n;
}

function modulo(value: bigint, modulus: bigint): bigint {
  return ((value % modulus) + modulus) % modulus;
}

const verify: BlsBackend['verify'] = (key, message, signature) => {
  const [k, m, s] = [elementOf(key), elementOf(message), elementOf(signature)];
  return k.value !== 0n && s.offSubgroup === 0n && s.value !== 0n && s.value === (k.value * m.value) % P;
};

export const modelBackend: BlsBackend = {
  name: 'model',
  parsePublicKey: (bytes) => as(parse(bytes, KEY_LENGTH, 'public key')),
  parseSignature: (bytes) => as(parse(bytes, SIGNATURE_LENGTH, 'signature')),
  aggregatePublicKeys: (keys) => as(sum(keys)),
  aggregateSignatures: (signatures) => as(sum(signatures)),
  hashToCurve: (message) => as({ value: hashToModel(message), offSubgroup: 0n }),
  verify,
  verifyBatch: (checks) => checks.every(({ key, message, signature }) => verify(key, message, signature)),
  encodeSignature: (signature) => encode(elementOf(signature), SIGNATURE_LENGTH),
  packedPublicKeyBytes: PACKED_LENGTH,
  packedSignatureBytes: PACKED_LENGTH,
  packPublicKey: pack,
  unpackPublicKey: (packed) => as(unpack(packed)),
  packSignature: pack,
  unpackSignature: (packed) => as(unpack(packed)),
  packMessage: pack,
  unpackMessage: (packed) => as(unpack(packed)),
};

function secretOf(key: number): bigint {
  return (hash('sha256', `model key ${key}`, 'buffer').readBigUInt64BE(0) % (P - 1n)) + 1n;
}

export function encodeModelKey(secret: bigint): Uint8Array {
  return encode({ value: modulo(secret, P), offSubgroup: 0n }, KEY_LENGTH);
}

export function encodeModelSignature(value: bigint, offSubgroup = 0n): Uint8Array {
  return encode({ value: modulo(value, P), offSubgroup: modulo(offSubgroup, COFACTOR) }, SIGNATURE_LENGTH);
}

export const modelScheme: BlsScheme = {
  backend: modelBackend,
  publicKey: (key) => encodeModelKey(secretOf(key)),
  sign: (key, message) => encodeModelSignature(secretOf(key) * hashToModel(message)),
  signOffBy: (key, message, error) => encodeModelSignature(secretOf(key) * hashToModel(message) + BigInt(error)),
  signOffSubgroup: (key, message, part) => encodeModelSignature(secretOf(key) * hashToModel(message), BigInt(part)),
  infinity: encodeModelSignature(0n),
  // The point of a key is its secret.
  isSignedBy(publicKeys, message, signature) {
    const secret = publicKeys.reduce((total, key) => total + Buffer.from(key).readBigUInt64BE(KEY_LENGTH - 8), 0n);
    return Buffer.from(encodeModelSignature(secret * hashToModel(message))).equals(signature);
  },
};
