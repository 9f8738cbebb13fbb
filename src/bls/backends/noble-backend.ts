import { randomBytes } from 'node:crypto';
import { bytesToHex } from '../../lib/encoding/bytes.ts';
import { attempt } from '../../lib/encoding/parse-error.ts';
import { BLS_PUBLIC_KEY_LENGTH, BLS_SIGNATURE_LENGTH } from '../../warp/bls-lengths.ts';
import { type Curve, g1Curve, g2Curve } from '../curve/curve.ts';
import { decodeG1 } from '../curve/fast-g1.ts';
import { decodeG2, decodePointsG2, encodeG2, isInSubgroup, isInSubgroupBy } from '../curve/fast-g2.ts';
import { hashToG2 } from '../curve/hash-to-g2.ts';
import { type Decoding, parsePoint } from '../curve/point-encoding.ts';
import { mul12 } from '../field/compiled-formulas.ts';
import { allocate, allocateMany, copy, loadWords, setBigint } from '../field/field.ts';
import { FP_BYTES } from '../field/fused-field.ts';
import {
  FP12_BYTES,
  finalExponentiate,
  isOne12,
  LINES_BYTES,
  millerLoop,
  type PreparedPair,
  prepareLines,
  setOne12,
} from '../pairing/fast-pairing.ts';
import { linesOf, MAX_PREPARED } from '../pairing/message-lines.ts';
import { type BlsBackend, SIGNATURE_DST } from './bls-backend.ts';

/** The generator of G1. */
const GENERATOR_X = 0x17f1d3a73197d7942695638c4fa9ac0fc3688c4f9774b905a14e3a3f171bac586c55e83ff97a1aeffb3af00adb22c6bbn;
const GENERATOR_Y = 0x08b3f481e3aaa0f1a09e30ed741d8ae4fcf5e095d5d00af600db18cb2c04b3edd03cc744a2888ae40caa232946c5e7e1n;

const WEIGHT_BYTES = 8;

/** Memory of one operation: points are copied in, changed and copied out. */
const [key, keySum] = [allocate(g1Curve.pointBytes), allocate(g1Curve.pointBytes)];
const [point, pointSum] = [allocate(g2Curve.pointBytes), allocate(g2Curve.pointBytes)];

/** For the pairing: affine points of G1, the lines of a signature, and elements of the target group. */
const MAX_PAIRS = MAX_PREPARED + 1;
const affineKeys = allocateMany(MAX_PAIRS, 2 * FP_BYTES);
const generator = allocate(2 * FP_BYTES);
setBigint(generator, GENERATOR_X);
setBigint(generator + FP_BYTES, GENERATOR_Y);
const signatureLines = allocate(LINES_BYTES);
const generatorPair: PreparedPair = { point: generator, lines: signatureLines };
const [factor, other, product] = allocateMany(3, FP12_BYTES) as [number, number, number];

/**
 * Noble's formulas, recorded and compiled to WebAssembly (`run-formulas.ts`), and judged by noble: it is not @noble/curves as published,
 * which is audited and takes some ten times as long (`plain-backend.ts`). Field and curve are our own: `field.ts` and the modules on top of
 * it. Tests compare the results with noble itself, and the service compares a share of its verdicts (`verdict-audit.ts`).
 *
 * A point is a copy of its words in the field's memory; that of a hashed message has Z = 1.
 */
const backend: BlsBackend<Uint32Array, Uint32Array, Uint32Array> = {
  name: 'noble',
  parsePublicKey: (bytes) =>
    parsePoint(bytes, BLS_PUBLIC_KEY_LENGTH, 'public key', () => stored(g1Curve, key, decodeG1(key, bytes))),
  parseSignature: (bytes) =>
    parsePoint(bytes, BLS_SIGNATURE_LENGTH, 'signature', () => stored(g2Curve, point, decodeG2(point, bytes))),
  parseTwoSignatures([first, second]) {
    const points = [
      { out: point, bytes: first },
      { out: pointSum, bytes: second },
    ] as const;
    const decodings = decodePointsG2(points);
    return points.map(({ out, bytes }, n) =>
      attempt(() =>
        parsePoint(bytes, BLS_SIGNATURE_LENGTH, 'signature', () => stored(g2Curve, out, decodings[n] as Decoding)),
      ),
    );
  },
  aggregatePublicKeys: (keys) => sum(g1Curve, key, keySum, keys),
  aggregateSignatures: (signatures) => sum(g2Curve, point, pointSum, signatures),
  hashToCurve(message) {
    hashToG2(point, message, SIGNATURE_DST);
    g2Curve.normalize(point);
    const hashed = g2Curve.store(point);
    linesOf(hashed);
    return hashed;
  },
  verify(publicKey, message, signature) {
    if (!loadCheck(publicKey, signature)) return false;
    if (!isInSubgroupBy(point, prepareSignature(point))) return false;
    // e(-P, H(m)) · e(G, S), with one final exponentiation for both pairings.
    millerLoop(product, [generatorPair, negatedPair(affineKeys[0] as number, message)]);
    finalExponentiate(product, product);
    return isOne12(product);
  },
  verifyBatch(checks) {
    g2Curve.setInfinity(pointSum);
    setOne12(product);
    let pairs: PreparedPair[] = [];
    for (const check of checks) {
      if (!loadCheck(check.key, check.signature) || !isInSubgroup(point)) return false;
      const weight = randomWeight();
      g2Curve.multiply(point, point, weight);
      g2Curve.add(pointSum, pointSum, point);
      g1Curve.multiply(key, key, weight);
      if (g1Curve.isInfinity(key)) return false;
      pairs.push(negatedPair(affineKeys[pairs.length] as number, check.message));
      if (pairs.length < MAX_PREPARED) continue;
      multiplyBy(pairs);
      pairs = [];
    }
    if (!g2Curve.isInfinity(pointSum)) {
      prepareSignature(pointSum);
      pairs.push(generatorPair);
    }
    multiplyBy(pairs);
    finalExponentiate(product, product);
    return isOne12(product);
  },
  encodeSignature(signature) {
    loadWords(point, signature);
    return encodeG2(point);
  },

  packedPublicKeyBytes: g1Curve.pointBytes,
  packedSignatureBytes: g2Curve.pointBytes,
  packPublicKey: pack,
  unpackPublicKey: unpack,
  packSignature: pack,
  unpackSignature: unpack,
  packMessage: pack,
  unpackMessage: unpack,
};
export const nobleBackend = backend as unknown as BlsBackend;

function multiplyBy(pairs: readonly PreparedPair[]): void {
  millerLoop(factor, pairs);
  mul12(other, product, factor);
  copy(product, other, FP12_BYTES);
}

/** Lines of the negated `key`. */
function negatedPair(to: number, message: Uint32Array): PreparedPair {
  g1Curve.normalize(key);
  g1Curve.negate(key, key);
  copy(to, key, 2 * FP_BYTES);
  return { point: to, lines: linesOf(message) };
}

/**
 * Prepares the signature's side of the equation.
 *
 * @param signature finite; gets Z = 1
 * @returns the result of `prepareLines`
 */
function prepareSignature(signature: number): number {
  g2Curve.normalize(signature);
  return prepareLines(signatureLines, signature);
}

/** Loads the check into `key` and `point`; false if a side is infinity. */
function loadCheck(publicKey: Uint32Array, signature: Uint32Array): boolean {
  loadWords(key, publicKey);
  loadWords(point, signature);
  return !g1Curve.isInfinity(key) && !g2Curve.isInfinity(point);
}

/** Never 0, because then its signature would not be checked. */
function randomWeight(): bigint {
  for (;;) {
    const weight = BigInt(`0x${bytesToHex(randomBytes(WEIGHT_BYTES))}`);
    if (weight !== 0n) return weight;
  }
}

function pack({ buffer, byteOffset, byteLength }: Uint32Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}

/** Copies: packed bytes may begin at any offset, and the words of a typed array must be aligned. */
function unpack(packed: Uint8Array): Uint32Array {
  return new Uint32Array(new Uint8Array(packed).buffer);
}

function stored(curve: Curve, address: number, decoding: Decoding): Uint32Array {
  if (decoding === 'malformed') throw new RangeError('no point of the curve');
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
