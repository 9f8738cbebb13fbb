import { hexToBytes } from '@noble/hashes/utils.js';
import { BLS_PUBLIC_KEY_LENGTH } from '../../warp/bls-lengths.ts';
import { FIELD_ORDER, FORMULA_MEMORY_BYTES } from './field-module.ts';
import { createFieldModule, FP_BYTES } from './fused-field.ts';
import { CONSTANT_BYTES, PIECE_BITS, RADIX } from './fused-limbs.ts';

/**
 * Elements of the base field and of its quadratic extension, in the memory of one instance of {@link createFieldModule}. An element is
 * named by its address. Functions allocate the memory that they need beside their arguments once, when the module is loaded. So nothing
 * here is reentrant; all calls are synchronous.
 */
const field = createFieldModule();
export const { mul, square, add, sub, mul2, square2, add2, sub2, mulParts2, squareParts2, isZero } = field;
export const { mulPair, squarePair, addPair, subPair, addPairLoose, subPairLoose } = field;
const words = new Uint32Array(field.memory.buffer);

export const FP2_BYTES = 2 * FP_BYTES;
/** Bytes of one coefficient in standard encodings. A compressed public key is one coefficient. */
export const COEFFICIENT_BYTES = BLS_PUBLIC_KEY_LENGTH;

/** The memory of `compiled-formulas.ts` comes first. */
let allocated = CONSTANT_BYTES + FORMULA_MEMORY_BYTES;

/** Returns zeroed memory that is never freed: only for data that lives as long as the process. */
export function allocate(bytes: number): number {
  const address = allocated;
  allocated += bytes;
  if (allocated > field.memory.buffer.byteLength) throw new RangeError('the field has no memory left');
  return address;
}

export function allocateMany(count: number, bytes: number): number[] {
  return Array.from({ length: count }, () => allocate(bytes));
}

const ORDER_BYTES = bytesOf(FIELD_ORDER);
const LARGEST_SMALLER_ROOT = bytesOf((FIELD_ORDER - 1n) / 2n);

const toMontgomery = allocate(FP_BYTES);
field.writePieces(toMontgomery, toPieces(RADIX ** 2n % FIELD_ORDER));
const fromMontgomery = allocate(FP_BYTES);
field.writePieces(fromMontgomery, toPieces(1n));
const plain = allocate(FP_BYTES);
/** Pieces of the last number read, and of the number being written. */
const [plainPieces, pieces]: readonly [number[], number[]] = [[], []];
const oneWords = (() => {
  const one = allocate(FP_BYTES);
  setBigint(one, 1n);
  return storeWords(one, FP_BYTES);
})();
const half = constant((FIELD_ORDER + 1n) / 2n);

export function copy(out: number, from: number, bytes: number): void {
  words.copyWithin(out / 4, from / 4, (from + bytes) / 4);
}

/** Returns a copy of the raw memory, which {@link loadWords} of this or another instance can load. */
export function storeWords(from: number, bytes: number): Uint32Array {
  return words.slice(from / 4, (from + bytes) / 4);
}

export function loadWords(out: number, source: Uint32Array): void {
  words.set(source, out / 4);
}

export function setZero(out: number, bytes: number): void {
  words.fill(0, out / 4, (out + bytes) / 4);
}

export function setOne(out: number): void {
  words.set(oneWords, out / 4);
}

export function constant(value: bigint): number {
  const address = allocate(FP_BYTES);
  setBigint(address, value);
  return address;
}

export function constant2(c0: bigint, c1: bigint): number {
  const address = allocate(FP2_BYTES);
  setBigint(address, c0);
  setBigint(address + FP_BYTES, c1);
  return address;
}

/** @param value in [0, p) */
export function setBigint(out: number, value: bigint): void {
  field.writePieces(out, toPieces(value));
  mul(out, out, toMontgomery);
}

export function getBigint(from: number): bigint {
  setPlain(from);
  let value = 0n;
  for (const piece of plainPieces.toReversed()) value = (value << BigInt(PIECE_BITS)) | BigInt(piece);
  return value;
}

/** Reads 48 big-endian bytes at `offset`. @returns false if they are not below p */
export function setBytes(out: number, bytes: Uint8Array, offset: number): boolean {
  let comparison = 0;
  for (let i = 0; comparison === 0 && i < COEFFICIENT_BYTES; i += 1) {
    comparison = (bytes[offset + i] ?? 0) - (ORDER_BYTES[i] ?? 0);
  }
  if (comparison >= 0) return false;
  let rest = 0;
  let bits = 0;
  let piece = 0;
  for (let i = offset + COEFFICIENT_BYTES - 1; i >= offset; i -= 1) {
    rest += (bytes[i] ?? 0) * 2 ** bits;
    bits += 8;
    if (bits < PIECE_BITS) continue;
    pieces[piece] = rest % 2 ** PIECE_BITS;
    piece += 1;
    rest = Math.floor(rest / 2 ** PIECE_BITS);
    bits -= PIECE_BITS;
  }
  pieces[piece] = rest;
  field.writePieces(out, pieces);
  mul(out, out, toMontgomery);
  return true;
}

/** Writes 48 big-endian bytes at `offset`. */
export function getBytes(from: number, bytes: Uint8Array, offset: number): void {
  setPlain(from);
  let rest = 0;
  let bits = 0;
  let piece = 0;
  for (let i = offset + COEFFICIENT_BYTES - 1; i >= offset; i -= 1) {
    if (bits < 8) {
      rest += (plainPieces[piece] ?? 0) * 2 ** bits;
      piece += 1;
      bits += PIECE_BITS;
    }
    bytes[i] = rest % 256;
    rest = Math.floor(rest / 256);
    bits -= 8;
  }
}

export function isOdd(from: number): boolean {
  setPlain(from);
  return (plainPieces[0] ?? 0) % 2 === 1;
}

export function isZero2(from: number): boolean {
  return isZero(from) && isZero(from + FP_BYTES);
}

/** Whether it is 1 as {@link setOne} writes it. Elements are not fully reduced, and other representatives of 1 give false. */
export function isPlainOne(from: number): boolean {
  return hasWords(from, oneWords);
}

export function isPlainOne2(from: number): boolean {
  return isPlainOne(from) && hasWords(from + FP_BYTES, zeroWords);
}

/** Whether y is the larger of y and -y, as numbers: the sign flag of an encoding. */
export function isLarger(from: number): boolean {
  getBytes(from, signBytes, 0);
  for (let i = 0; i < COEFFICIENT_BYTES; i += 1) {
    const difference = (signBytes[i] ?? 0) - (LARGEST_SMALLER_ROOT[i] ?? 0);
    if (difference !== 0) return difference > 0;
  }
  return false;
}
const signBytes = new Uint8Array(COEFFICIENT_BYTES);

/** The same in the extension, where the coefficient of i decides unless it is 0. */
export function isLarger2(from: number): boolean {
  return isLarger(isZero(from + FP_BYTES) ? from : from + FP_BYTES);
}

/**
 * Computes a^((p-3)/4) for two elements, which takes little longer than for one. Since p ≡ 3 mod 4, square roots and inverses follow from
 * it. An `out` must not alias an `a`; for a single element pass it twice.
 */
function powForRoot(out0: number, out1: number, a0: number, a1: number): void {
  const powers0 = oddPowers[0];
  const powers1 = out0 === out1 ? powers0 : oddPowers[1];
  copy(powers0, a0, FP_BYTES);
  copy(powers1, a1, FP_BYTES);
  copy(out0, a0, FP_BYTES);
  copy(out1, a1, FP_BYTES);
  squareBoth(out0, out1, 1);
  for (let at = FP_BYTES; at < ODD_POWERS * FP_BYTES; at += FP_BYTES) {
    mulBoth(powers0 + at, powers1 + at, powers0 + at - FP_BYTES, out0, powers1 + at - FP_BYTES, out1);
  }
  copy(out0, powers0 + FIRST_STEP * FP_BYTES, FP_BYTES);
  copy(out1, powers1 + FIRST_STEP * FP_BYTES, FP_BYTES);
  for (const { squarings, power } of STEPS) {
    squareBoth(out0, out1, squarings);
    if (power >= 0) mulBoth(out0, out1, out0, powers0 + power * FP_BYTES, out1, powers1 + power * FP_BYTES);
  }
}

function squareBoth(a0: number, a1: number, times: number): void {
  if (a0 === a1) square(a0, a0, times);
  else squarePair(a0, a1, a0, a1, times);
}

function mulBoth(out0: number, out1: number, a0: number, b0: number, a1: number, b1: number): void {
  if (out0 === out1) mul(out0, a0, b0);
  else mulPair(out0, out1, a0, b0, a1, b1);
}

/** Sliding windows of 5 bits over the fixed exponent, which need no even powers: 380 squarings and 79 products. */
const WINDOW_BITS = 5;
const ODD_POWERS = 2 ** (WINDOW_BITS - 1);
const oddPowers = allocateMany(2, ODD_POWERS * FP_BYTES) as [number, number];
const [FIRST_STEP, STEPS] = slidingWindows((FIELD_ORDER - 3n) / 4n);

/** `power` is an index into the table of odd powers, or -1 for no multiplication. */
function slidingWindows(exponent: bigint): [number, { readonly squarings: number; readonly power: number }[]] {
  const bits = exponent.toString(2);
  const steps: { squarings: number; power: number }[] = [];
  let squarings = 0;
  for (let at = 0; at < bits.length; ) {
    if (bits[at] === '0') {
      squarings += 1;
      at += 1;
      continue;
    }
    const window = bits.slice(at, at + WINDOW_BITS).replace(/0+$/, '');
    steps.push({ squarings: squarings + window.length, power: (Number.parseInt(window, 2) - 1) / 2 });
    squarings = 0;
    at += window.length;
  }
  if (squarings > 0) steps.push({ squarings, power: -1 });
  return [steps[0]?.power ?? 0, steps.slice(1)];
}

/** Zero has no inverse; the result is then zero. */
export function invert(out: number, a: number): void {
  // p - 2 = 4 · (p-3)/4 + 1
  powForRoot(inverse, inverse, a, a);
  square(inverse, inverse, 2);
  mul(out, inverse, a);
}
const inverse = allocate(FP_BYTES);

/** 1/(a + b·i) = (a - b·i)/(a² + b²). */
export function invert2(out: number, a: number): void {
  setNorm(norm, a);
  invert(norm, norm);
  sub(minus, zero, a + FP_BYTES);
  mulPair(out, out + FP_BYTES, a, norm, minus, norm);
}
const zero = allocate(FP_BYTES);
const [norm, minus, scratch] = allocateMany(3, FP_BYTES) as [number, number, number];

/** `out` must not alias `a`. @returns false if `a` is not a square; `out` is then undefined */
export function squareRoot(out: number, a: number): boolean {
  // If a is a square, a^((p-1)/2) = 1, and a^((p+1)/4) squared is a.
  powForRoot(out, out, a, a);
  mul(out, out, a);
  square(scratch, out, 1);
  return areEqual(scratch, a);
}

/**
 * Computes one or two square roots in the extension by the complex method: with n² = a0² + a1² and d = (a0 + n)/2, either d or -d is a
 * square in the base field, and the root is x + a1/(2x)·i or a1/(2x) + x·i for x² = d or -d. d^((p-3)/4) is both x/d and ±1/x, so no
 * inversion is needed. The result is squared and compared with `a`, so a wrong one is never returned. An `out` must not alias an `a`.
 *
 * @returns false if `a` is not a square; its `out` is then undefined
 */
export function squareRoots2(roots: readonly [Root] | readonly [Root, Root]): boolean[] {
  const one = rootWork[0];
  const other = roots.length === 2 ? rootWork[1] : one;
  for (const [n, { a }] of roots.entries()) setNorm((n === 0 ? one : other).norm, a);
  powForRoot(one.root, other.root, one.norm, other.norm);
  for (const [n, { a }] of roots.entries()) setHalfSum(n === 0 ? one : other, a);
  powForRoot(one.root, other.root, one.norm, other.norm);
  return roots.map((root, n) => finishRoot(n === 0 ? one : other, root));
}

export interface Root {
  readonly out: number;
  readonly a: number;
}

/** `norm` is n² first, and d later; `root` is a power of one of them. */
interface RootWork {
  readonly norm: number;
  readonly root: number;
}
const rootWork: readonly [RootWork, RootWork] = [
  { norm: allocate(FP_BYTES), root: allocate(FP_BYTES) },
  { norm: allocate(FP_BYTES), root: allocate(FP_BYTES) },
];

function setHalfSum({ norm: d, root }: RootWork, a: number): void {
  mul(root, root, d);
  add(scratch, a, root);
  // Here a1 = 0 and n = -a0, and the other root of the norm works.
  if (isZero(scratch)) sub(scratch, a, root);
  mul(d, scratch, half);
}

function finishRoot({ norm: d, root }: RootWork, { out, a }: Root): boolean {
  const [a0, a1, out0, out1] = [a, a + FP_BYTES, out, out + FP_BYTES];
  mul(out0, root, d);
  square(scratch, out0, 1);
  const isSquare = areEqual(scratch, d);
  mul(root, root, half);
  mul(out1, root, a1);
  if (!isSquare) {
    copy(scratch, out0, FP_BYTES);
    sub(out0, zero, out1);
    copy(out1, scratch, FP_BYTES);
  }
  square2(squared, out);
  return areEqual(squared, a0) && areEqual(squared + FP_BYTES, a1);
}
const squared = allocate(FP2_BYTES);

function setNorm(out: number, a: number): void {
  squarePair(out, minus, a, a + FP_BYTES, 1);
  add(out, out, minus);
}

function areEqual(a: number, b: number): boolean {
  sub(minus, a, b);
  return isZero(minus);
}

const zeroWords = new Uint32Array(FP_BYTES / 4);

function hasWords(from: number, expected: Uint32Array): boolean {
  for (let i = 0; i < expected.length; i += 1) if (words[from / 4 + i] !== expected[i]) return false;
  return true;
}

/** Takes an element out of Montgomery form and reduces it fully, into `plainPieces`. */
function setPlain(from: number): void {
  mul(plain, from, fromMontgomery);
  field.readPieces(plain, plainPieces);
}

function toPieces(value: bigint): number[] {
  const all: number[] = [];
  for (let rest = value; rest > 0n; rest >>= BigInt(PIECE_BITS)) all.push(Number(BigInt.asUintN(PIECE_BITS, rest)));
  return all;
}

function bytesOf(value: bigint): Uint8Array {
  return hexToBytes(value.toString(16).padStart(2 * COEFFICIENT_BYTES, '0'));
}
