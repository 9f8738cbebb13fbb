import { BLS_SIGNATURE_LENGTH } from '../../warp/bls-lengths.ts';
import {
  add2,
  allocate,
  allocateMany,
  COEFFICIENT_BYTES,
  constant2,
  copy,
  FP2_BYTES,
  getBytes,
  isLarger2,
  mul2,
  type Root,
  setBytes,
  setOne,
  setZero,
  square2,
  squareRoots2,
  sub,
  sub2,
} from '../field/field.ts';
import { MINUS_U } from '../field/field-module.ts';
import { FP_BYTES } from '../field/fused-field.ts';
import { g2Curve } from './curve.ts';
import { type Decoding, encodeInfinity, setFlags, splitEncoding } from './point-encoding.ts';

/** G2 of BLS12-381: y² = x³ + 4(1 + i) over the extension field, its encoding, its subgroup, its cofactor. */

const CURVE_B = constant2(4n, 4n);
/**
 * ψ, untwist, Frobenius and twist: (x, y) to (x̄·(1 + i)^-((p-1)/3), ȳ·(1 + i)^-((p-1)/2)) (RFC 9380, appendix G.3).
 */
const PSI_X = constant2(
  0n,
  0x1a0111ea397fe699ec02408663d4de85aa0d857d89759ad4897d29650fb85f9b409427eb4f49fffd8bfd00000000aaadn,
);
const PSI_Y = constant2(
  0x135203e60180a68ee2e9c448d77a2cd91c3dedd930b1cf60ef396489f61eb45e304466cf3e67fa0af1ee7b04121bdea2n,
  0x06af0e0437ff400b6831e36d6bd17ffe48395dabc2d3435e77f76e17009241c5ee67992f72ec05f4c81084fbede3cc09n,
);

const { pointBytes } = g2Curve;
const ySquared = allocateMany(2, FP2_BYTES);
const zero = allocate(FP2_BYTES);
const image = allocate(pointBytes);
const multiple = allocate(pointBytes);

export interface EncodedPoint {
  readonly bytes: Uint8Array;
  /** Address for the point. */
  readonly out: number;
}

/** Decodes a point of the curve, with Z = 1. It need not be in the subgroup. */
export function decodeG2(out: number, bytes: Uint8Array): Decoding {
  return decodePointsG2([{ out, bytes }])[0] as Decoding;
}

/** Decodes one or two points; two take little longer than one. */
export function decodePointsG2(points: readonly [EncodedPoint] | readonly [EncodedPoint, EncodedPoint]): Decoding[] {
  const begun = points.map((point, n) => beginDecoding(point, ySquared[n] as number));
  const roots = begun.flatMap((decoding) => (typeof decoding === 'string' ? [] : [decoding.root]));
  const [first, second] = roots;
  const haveRoots = first === undefined ? [] : squareRoots2(second === undefined ? [first] : [first, second]);
  return begun.map((decoding) => {
    if (typeof decoding === 'string') return decoding;
    return haveRoots.shift() ? finishDecoding(decoding) : 'malformed';
  });
}

interface BegunDecoding {
  readonly root: Root;
  readonly isLargerY: boolean;
}

/** Sets x, and y² to take the root of. */
function beginDecoding({ bytes, out }: EncodedPoint, y2: number): Decoding | BegunDecoding {
  const encoding = splitEncoding(bytes, BLS_SIGNATURE_LENGTH);
  if (encoding.kind !== 'finite') {
    if (encoding.kind === 'infinity') g2Curve.setInfinity(out);
    return encoding.kind;
  }
  // The coefficient of i comes first.
  if (!setBytes(out + FP_BYTES, encoding.x, 0) || !setBytes(out, encoding.x, COEFFICIENT_BYTES)) return 'malformed';
  square2(y2, out);
  mul2(y2, y2, out);
  add2(y2, y2, CURVE_B);
  return { root: { out: out + FP2_BYTES, a: y2 }, isLargerY: encoding.isLargerY };
}

function finishDecoding({ root: { out: y }, isLargerY }: BegunDecoding): Decoding {
  if (isLarger2(y) !== isLargerY) sub2(y, zero, y);
  setZero(y + FP2_BYTES, FP2_BYTES);
  setOne(y + FP2_BYTES);
  return 'point';
}

/** @param point gets Z = 1 */
export function encodeG2(point: number): Uint8Array {
  if (g2Curve.isInfinity(point)) return encodeInfinity(BLS_SIGNATURE_LENGTH);
  g2Curve.normalize(point);
  const bytes = new Uint8Array(BLS_SIGNATURE_LENGTH);
  getBytes(point + FP_BYTES, bytes, 0);
  getBytes(point, bytes, COEFFICIENT_BYTES);
  setFlags(bytes, isLarger2(point + FP2_BYTES));
  return bytes;
}

/** ψ(P) = [u]P holds on the subgroup alone (Scott, https://eprint.iacr.org/2021/1130). */
export function isInSubgroup(point: number): boolean {
  multiplyByU(multiple, point);
  psi(image, point);
  return g2Curve.areEqual(image, multiple);
}

/**
 * Tests membership with a known [-u]P, which `prepareLines` computes for the pairing. Outside the subgroup its Z may be 0, which is
 * infinity, and ψ(P) is not infinity. In the subgroup Z is never 0, because the order is a prime far above u.
 *
 * @param point finite
 * @param multiplied with x = X/Z and y = Y/Z
 */
export function isInSubgroupBy(point: number, multiplied: number): boolean {
  const [z, toZ] = [multiplied + 2 * FP2_BYTES, multiple + 2 * FP2_BYTES];
  // x = XZ/Z² and y = YZ²/Z³.
  mul2(multiple, multiplied, z);
  square2(toZ, z);
  mul2(multiple + FP2_BYTES, multiplied + FP2_BYTES, toZ);
  copy(toZ, z, FP2_BYTES);
  g2Curve.negate(multiple, multiple);
  psi(image, point);
  return g2Curve.areEqual(image, multiple);
}

/**
 * Maps a point of the curve into the subgroup: [u² - u - 1]P + [u - 1]ψ(P) + ψ²(2P) (RFC 9380, appendix G.3; Budroni and Pintore,
 * https://eprint.iacr.org/2017/419).
 */
export function clearCofactor(out: number, point: number): void {
  multiplyByU(uP, point);
  psi(image, point);
  g2Curve.double(sum, point);
  psi(sum, sum);
  psi(sum, sum);
  g2Curve.negate(minusP, point);
  g2Curve.add(sum, sum, minusP); // ψ²(2P) - P
  g2Curve.negate(minusP, image);
  g2Curve.add(sum, sum, minusP); // … - ψ(P)
  g2Curve.add(image, image, uP); // ψ(P) + [u]P
  g2Curve.negate(minusP, uP);
  g2Curve.add(sum, sum, minusP); // … - [u]P
  multiplyByU(uP, image); // [u]ψ(P) + [u²]P
  g2Curve.add(out, sum, uP);
}
const [uP, sum, minusP] = [allocate(pointBytes), allocate(pointBytes), allocate(pointBytes)];

function multiplyByU(out: number, point: number): void {
  g2Curve.multiply(out, point, MINUS_U);
  g2Curve.negate(out, out);
}

function psi(out: number, point: number): void {
  for (let coordinate = 0; coordinate < 3; coordinate += 1) {
    const offset = coordinate * FP2_BYTES;
    copy(out + offset, point + offset, FP_BYTES);
    sub(out + offset + FP_BYTES, zero, point + offset + FP_BYTES);
  }
  mul2(out, out, PSI_X);
  mul2(out + FP2_BYTES, out + FP2_BYTES, PSI_Y);
}
