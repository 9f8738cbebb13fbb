import { g1Curve } from './curve.ts';
import { add, allocate, COEFFICIENT_BYTES, constant, getBytes, isLarger, mul, setBytes, setOne, square, squareRoot, sub } from './field.ts';
import { FP_BYTES } from './field-module.ts';
import type { Decoding } from './fast-g2.ts';

/** G1 of BLS12-381: y² = x³ + 4 over the base field, and its encoding. */
export const PUBLIC_KEY_BYTES = COEFFICIENT_BYTES;
const COMPRESSED = 0x80;
const INFINITY = 0x40;
const LARGER_Y = 0x20;
const FLAGS = COMPRESSED | INFINITY | LARGER_Y;

const CURVE_B = constant(4n);
const [ySquared, zero] = [allocate(FP_BYTES), allocate(FP_BYTES)];
const head = new Uint8Array(COEFFICIENT_BYTES);

/** Decodes the 48 compressed bytes of a point of the curve, of whatever subgroup, with Z = 1. */
export function decodeG1(out: number, bytes: Uint8Array): Decoding {
  const flags = (bytes[0] ?? 0) & FLAGS;
  if (bytes.length !== PUBLIC_KEY_BYTES || (flags & COMPRESSED) === 0) return 'malformed';
  if ((flags & INFINITY) !== 0) {
    const isCanonical = flags === (COMPRESSED | INFINITY) && bytes.every((byte, i) => (i === 0 ? (byte & ~FLAGS) === 0 : byte === 0));
    if (isCanonical) g1Curve.setInfinity(out);
    return isCanonical ? 'infinity' : 'malformed';
  }
  head.set(bytes);
  head[0] = (head[0] ?? 0) & ~FLAGS;
  const [x, y, z] = [out, out + FP_BYTES, out + 2 * FP_BYTES];
  if (!setBytes(x, head, 0)) return 'malformed';
  square(ySquared, x, 1);
  mul(ySquared, ySquared, x);
  add(ySquared, ySquared, CURVE_B);
  if (!squareRoot(y, ySquared)) return 'malformed';
  if (isLarger(y) !== ((flags & LARGER_Y) !== 0)) sub(y, zero, y);
  setOne(z);
  return 'point';
}
