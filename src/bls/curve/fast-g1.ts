import { BLS_PUBLIC_KEY_LENGTH } from '../../warp/bls-lengths.ts';
import { add, allocate, constant, isLarger, mul, setBytes, setOne, square, squareRoot, sub } from '../field/field.ts';
import { FP_BYTES } from '../field/fused-field.ts';
import { g1Curve } from './curve.ts';
import { type Decoding, splitEncoding } from './point-encoding.ts';

/** G1 of BLS12-381: y² = x³ + 4 over the base field, and its encoding. */

const CURVE_B = constant(4n);
const [ySquared, zero] = [allocate(FP_BYTES), allocate(FP_BYTES)];

/** Decodes a point of the curve, with Z = 1. It need not be in the subgroup. */
export function decodeG1(out: number, bytes: Uint8Array): Decoding {
  const encoding = splitEncoding(bytes, BLS_PUBLIC_KEY_LENGTH);
  if (encoding.kind !== 'finite') {
    if (encoding.kind === 'infinity') g1Curve.setInfinity(out);
    return encoding.kind;
  }
  const [x, y, z] = [out, out + FP_BYTES, out + 2 * FP_BYTES];
  if (!setBytes(x, encoding.x, 0)) return 'malformed';
  square(ySquared, x, 1);
  mul(ySquared, ySquared, x);
  add(ySquared, ySquared, CURVE_B);
  if (!squareRoot(y, ySquared)) return 'malformed';
  if (isLarger(y) !== encoding.isLargerY) sub(y, zero, y);
  setOne(z);
  return 'point';
}
