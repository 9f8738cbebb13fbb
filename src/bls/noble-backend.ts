import { randomBytes } from 'node:crypto';
import { bls12_381 } from '@noble/curves/bls12-381.js';
import { LRUCache } from 'lru-cache';
import { BLS_PUBLIC_KEY_LENGTH, BLS_SIGNATURE_LENGTH } from '../primitives/bls-lengths.ts';
import { bytesToHex, equalBytes } from '../primitives/bytes.ts';
import { ParseError } from '../primitives/parse-error.ts';
import {
  type BlsBackend,
  type DefectArithmetic,
  type HashedMessage,
  type PublicKey,
  SIGNATURE_DST,
  type Signature,
  type SignatureCheck,
  type SignatureDefect,
} from './bls-backend.ts';
import { type Curve, g1Curve, g2Curve } from './curve.ts';
import { decodeG1 } from './fast-g1.ts';
import { decodeG2, encodeG2, isInSubgroup } from './fast-g2.ts';
import { allocate, FP2_BYTES, getBigint, loadWords } from './field.ts';
import { FP_BYTES } from './field-module.ts';
import { hashToG2 } from './hash-to-g2.ts';
import type { Decoding } from './point-encoding.ts';

const { G1, G2, millerLoopBatch } = bls12_381;
const { calcPairingPrecomputes } = bls12_381.utils;
const { Fp12 } = bls12_381.fields;
type Fp12Element = ReturnType<typeof millerLoopBatch>;
type G2Affine = Parameters<typeof G2.Point.fromAffine>[0];

const WEIGHT_BYTES = 8;

/** Memory for one operation at a time: points are copied in, worked on and copied out. */
const [key, keySum] = [allocate(g1Curve.pointBytes), allocate(g1Curve.pointBytes)];
const [point, pointSum, messagePoint] = [
  allocate(g2Curve.pointBytes),
  allocate(g2Curve.pointBytes),
  allocate(g2Curve.pointBytes),
];

/**
 * Pairings by @noble/curves, which is audited, has no native code and runs everywhere. What comes before the pairings, points
 * and their sums, is done by `field.ts` and the modules on top of it, and the tests compare all of that with noble.
 *
 * A point is a copy of its words in the field's memory; that of a hashed message has Z = 1.
 */
export const nobleBackend: BlsBackend = {
  name: 'noble',
  parsePublicKey: (bytes) =>
    parsePoint(g1Curve, decodeG1, key, bytes, BLS_PUBLIC_KEY_LENGTH, 'public key') as unknown as PublicKey,
  parseSignature: (bytes) =>
    parsePoint(g2Curve, decodeG2, point, bytes, BLS_SIGNATURE_LENGTH, 'signature') as unknown as Signature,
  aggregatePublicKeys: (keys) => sum(g1Curve, key, keySum, keys.map(words)) as unknown as PublicKey,
  aggregateSignatures: (signatures) => sum(g2Curve, point, pointSum, signatures.map(words)) as unknown as Signature,
  hashToCurve(message) {
    hashToG2(point, message, SIGNATURE_DST);
    g2Curve.normalize(point);
    const hashed = g2Curve.store(point) as unknown as HashedMessage;
    linesOf(hashed);
    return hashed;
  },
  verify(publicKey, message, signature) {
    const defect = defectElement({ key: publicKey, message, signature });
    return defect !== undefined && Fp12.eql(defect, Fp12.ONE);
  },
  verifyBatch(checks) {
    g2Curve.setInfinity(pointSum);
    const pairs: Pair[] = [];
    for (const check of checks) {
      if (!loadCheck(check)) return false;
      const weight = randomWeight();
      g2Curve.multiply(point, point, weight);
      g2Curve.add(pointSum, pointSum, point);
      g1Curve.multiply(key, key, weight);
      if (g1Curve.isInfinity(key)) return false;
      pairs.push(negatedPair(key, check.message));
    }
    if (!g2Curve.isInfinity(pointSum)) pairs.push(generatorPair(pointSum));
    return Fp12.eql(pair(pairs), Fp12.ONE);
  },
  encodeSignature(signature) {
    loadWords(point, words(signature));
    return encodeG2(point);
  },

  packedPublicKeyBytes: g1Curve.pointBytes,
  packedSignatureBytes: g2Curve.pointBytes,
  packPublicKey: (publicKey) => pack(publicKey),
  unpackPublicKey: (packed) => unpack(packed) as unknown as PublicKey,
  packSignature: (signature) => pack(signature),
  unpackSignature: (packed) => unpack(packed) as unknown as Signature,
  packMessage: (message) => pack(message),
  unpackMessage: (packed) => unpack(packed) as unknown as HashedMessage,

  defects: {
    defectOf(check) {
      const defect = defectElement(check);
      return defect && packDefect(defect);
    },
    isNone: (defect) => Fp12.eql(Fp12.fromBytes(defect), Fp12.ONE),
    areEqual: (a, b) => equalBytes(a, b),
    divide: (a, b) => packDefect(Fp12.mul(Fp12.fromBytes(a), inverse(Fp12.fromBytes(b)))),
    logarithm,
  } satisfies DefectArithmetic,
};

/** e(-P, H(m)) · e(G, S), with one final exponentiation for both pairings. */
function defectElement(check: SignatureCheck): Fp12Element | undefined {
  if (!loadCheck(check)) return undefined;
  return pair([generatorPair(point), negatedPair(key, check.message)]);
}

/** Lines through multiples of a point of G2, and a point of G1 to evaluate them at. */
type Pair = Parameters<typeof millerLoopBatch>[0][number];

function pair(pairs: Pair[]): Fp12Element {
  return Fp12.finalExponentiate(millerLoopBatch(pairs));
}

function negatedPair(address: number, message: HashedMessage): Pair {
  g1Curve.normalize(address);
  g1Curve.negate(address, address);
  return [linesOf(message), getBigint(address), getBigint(address + FP_BYTES)];
}

function generatorPair(address: number): Pair {
  return [calcPairingPrecomputes(g2Point(address)), G1.Point.BASE.x, G1.Point.BASE.y];
}

/**
 * A part of the Miller loop depends on the message alone. It is computed when the message is hashed, and kept in case this
 * thread verifies the signature too. Bound: 64 messages of some 50 KB each; computing one again takes 1 ms.
 */
const lines = new LRUCache<string, Lines>({ max: 64 });
type Lines = ReturnType<typeof calcPairingPrecomputes>;

function linesOf(message: HashedMessage): Lines {
  const name = bytesToHex(pack(message));
  const known = lines.get(name);
  if (known !== undefined) return known;
  loadWords(messagePoint, words(message));
  const computed = calcPairingPrecomputes(g2Point(messagePoint));
  lines.set(name, computed);
  return computed;
}

/** Loads the check into `key` and `point`; false where it fails without any pairing. */
function loadCheck(check: SignatureCheck): boolean {
  loadWords(key, words(check.key));
  loadWords(point, words(check.signature));
  return !g1Curve.isInfinity(key) && !g2Curve.isInfinity(point) && isInSubgroup(point);
}

/** Never 0, because then its signature would not be checked at all. */
function randomWeight(): bigint {
  for (;;) {
    const weight = BigInt(`0x${bytesToHex(randomBytes(WEIGHT_BYTES))}`);
    if (weight !== 0n) return weight;
  }
}

/** Shanks' baby and giant steps: about 2 · √max products. */
function logarithm(power: SignatureDefect, base: SignatureDefect, max: number): number | undefined {
  const step = Math.ceil(Math.sqrt(Math.max(max, 1)));
  const exponents = new Map<string, number>();
  const element = Fp12.fromBytes(base);
  let baby = Fp12.ONE;
  for (let exponent = 0; exponent < step; exponent += 1) {
    exponents.set(bytesToHex(Fp12.toBytes(baby)), exponent);
    baby = Fp12.mul(baby, element);
  }
  const giantStep = inverse(baby);
  let giant = Fp12.fromBytes(power);
  for (let taken = 0; taken <= max; taken += step) {
    const exponent = exponents.get(bytesToHex(Fp12.toBytes(giant)));
    if (exponent !== undefined) return taken + exponent >= 1 && taken + exponent <= max ? taken + exponent : undefined;
    giant = Fp12.mul(giant, giantStep);
  }
  return undefined;
}

/** Only for the result of a final exponentiation, whose conjugate is its inverse. */
function inverse(element: Fp12Element): Fp12Element {
  return Fp12.conjugate(element);
}

function packDefect(defect: Fp12Element): SignatureDefect {
  return Fp12.toBytes(defect) as Uint8Array as SignatureDefect;
}

function g2Point(address: number) {
  g2Curve.normalize(address);
  const [x, y] = [address, address + FP2_BYTES].map((at) => ({ c0: getBigint(at), c1: getBigint(at + FP_BYTES) }));
  return G2.Point.fromAffine({ x, y } as G2Affine);
}

function words(element: PublicKey | Signature | HashedMessage): Uint32Array {
  return element as unknown as Uint32Array;
}

function pack(element: PublicKey | Signature | HashedMessage): Uint8Array {
  const { buffer, byteOffset, byteLength } = words(element);
  return new Uint8Array(buffer, byteOffset, byteLength);
}

/** Copies, because the words of a typed array must be aligned and packed bytes may stand at any offset. */
function unpack(packed: Uint8Array): Uint32Array {
  return new Uint32Array(new Uint8Array(packed).buffer);
}

function parsePoint(
  curve: Curve,
  decode: (out: number, bytes: Uint8Array) => Decoding,
  address: number,
  bytes: Uint8Array,
  length: number,
  what: string,
): Uint32Array {
  if (bytes.length !== length) throw new ParseError(what, `must have ${length} bytes, has ${bytes.length}`);
  const decoding = decode(address, bytes);
  if (decoding === 'malformed') throw new ParseError(what, 'is not a compressed point on the curve');
  if (decoding === 'infinity') throw new ParseError(what, 'is the point at infinity');
  return curve.store(address);
}

function sum(curve: Curve, term: number, total: number, points: readonly Uint32Array[]): Uint32Array {
  curve.setInfinity(total);
  for (const each of points) {
    loadWords(term, each);
    curve.add(total, total, term);
  }
  return curve.store(total);
}
