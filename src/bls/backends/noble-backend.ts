import { randomBytes } from 'node:crypto';
import { bytesToHex } from '../../lib/encoding/bytes.ts';
import { ParseError } from '../../lib/encoding/parse-error.ts';
import { BLS_PUBLIC_KEY_LENGTH, BLS_SIGNATURE_LENGTH } from '../../warp/bls-lengths.ts';
import { type Curve, g1Curve, g2Curve } from '../curve/curve.ts';
import { decodeG1 } from '../curve/fast-g1.ts';
import { decodeG2, decodePointsG2, encodeG2, isInSubgroup, isInSubgroupBy } from '../curve/fast-g2.ts';
import { hashToG2 } from '../curve/hash-to-g2.ts';
import type { Decoding } from '../curve/point-encoding.ts';
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
import {
  type BlsBackend,
  type HashedMessage,
  type PublicKey,
  SIGNATURE_DST,
  type Signature,
  type SignatureCheck,
} from './bls-backend.ts';

/** The generator of G1. */
const GENERATOR_X = 0x17f1d3a73197d7942695638c4fa9ac0fc3688c4f9774b905a14e3a3f171bac586c55e83ff97a1aeffb3af00adb22c6bbn;
const GENERATOR_Y = 0x08b3f481e3aaa0f1a09e30ed741d8ae4fcf5e095d5d00af600db18cb2c04b3edd03cc744a2888ae40caa232946c5e7e1n;

const WEIGHT_BYTES = 8;

/** Memory for one operation at a time: points are copied in, worked on and copied out. */
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
 * Pairings by the formulas of @noble/curves, which is audited, has no native code and runs everywhere, on arithmetic of our own:
 * `field.ts` and the modules on top of it. Tests compare all of that with noble itself, and so does the service with a share of
 * its verdicts (`verdict-audit.ts`).
 *
 * A point is a copy of its words in the field's memory; that of a hashed message has Z = 1.
 */
export const nobleBackend: BlsBackend = {
  name: 'noble',
  parsePublicKey: (bytes) =>
    parsePoint(g1Curve, decodeG1, key, bytes, BLS_PUBLIC_KEY_LENGTH, 'public key') as unknown as PublicKey,
  parseSignature: (bytes) =>
    parsePoint(g2Curve, decodeG2, point, bytes, BLS_SIGNATURE_LENGTH, 'signature') as unknown as Signature,
  parseTwoSignatures([first, second]) {
    const points = [
      { out: point, bytes: first },
      { out: pointSum, bytes: second },
    ] as const;
    return decodePointsG2(points).map((decoding, n) => {
      const problem = decodingProblem(decoding, 'signature');
      return problem ?? (g2Curve.store(n === 0 ? point : pointSum) as unknown as Signature);
    });
  },
  aggregatePublicKeys: (keys) => sum(g1Curve, key, keySum, keys.map(words)) as unknown as PublicKey,
  aggregateSignatures: (signatures) => sum(g2Curve, point, pointSum, signatures.map(words)) as unknown as Signature,
  hashToCurve(message) {
    hashToG2(point, message, SIGNATURE_DST);
    g2Curve.normalize(point);
    const hashed = g2Curve.store(point);
    linesOf(hashed);
    return hashed as unknown as HashedMessage;
  },
  verify(publicKey, message, signature) {
    if (!loadCheck({ key: publicKey, message, signature })) return false;
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
      if (!loadCheck(check) || !isInSubgroup(point)) return false;
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
};

function multiplyBy(pairs: readonly PreparedPair[]): void {
  millerLoop(factor, pairs);
  mul12(other, product, factor);
  copy(product, other, FP12_BYTES);
}

/** Lines of the negated `key`. */
function negatedPair(to: number, message: HashedMessage): PreparedPair {
  g1Curve.normalize(key);
  g1Curve.negate(key, key);
  copy(to, key, 2 * FP_BYTES);
  return { point: to, lines: linesOf(words(message)) };
}

/**
 * The signature's side of the equation.
 *
 * @param signature finite; gets Z = 1
 * @returns what `prepareLines` does
 */
function prepareSignature(signature: number): number {
  g2Curve.normalize(signature);
  return prepareLines(signatureLines, signature);
}

/** Loads the check into `key` and `point`; false where a side is infinity. */
function loadCheck(check: SignatureCheck): boolean {
  loadWords(key, words(check.key));
  loadWords(point, words(check.signature));
  return !g1Curve.isInfinity(key) && !g2Curve.isInfinity(point);
}

/** Never 0, because then its signature would not be checked. */
function randomWeight(): bigint {
  for (;;) {
    const weight = BigInt(`0x${bytesToHex(randomBytes(WEIGHT_BYTES))}`);
    if (weight !== 0n) return weight;
  }
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
  const problem = decodingProblem(decoding, what);
  if (problem !== undefined) throw problem;
  return curve.store(address);
}

function decodingProblem(decoding: Decoding, what: string): ParseError | undefined {
  switch (decoding) {
    case 'malformed':
      return new ParseError(what, 'is not a compressed point on the curve');
    case 'infinity':
      return new ParseError(what, 'is the point at infinity');
    case 'point':
      return undefined;
  }
}

function sum(curve: Curve, term: number, total: number, points: readonly Uint32Array[]): Uint32Array {
  curve.setInfinity(total);
  for (const each of points) {
    loadWords(term, each);
    curve.add(total, total, term);
  }
  return curve.store(total);
}
