import {
  additionStep,
  conjugate12,
  cyclotomicSquare12,
  doublingStep,
  frobenius12,
  frobeniusCubed12,
  frobeniusSquared12,
  invert12,
  mul12,
  mulByLine,
  square12,
} from '../field/compiled-formulas.ts';
import { allocate, allocateMany, copy, FP2_BYTES, isZero, setOne, sub } from '../field/field.ts';
import { MINUS_U } from '../field/field-module.ts';
import { FP_BYTES } from '../field/fused-field.ts';

/**
 * The optimal ate pairing of BLS12-381 with the formulas of @noble/curves on the memory of `field.ts`. The order of steps here is that
 * of noble's `millerLoopBatch` and `finalExponentiate`; each step is noble's own formula, compiled (`compiled-formulas.ts`).
 *
 * Elements of the target group are twelve coefficients, in noble's order.
 */
export const FP12_BYTES = 12 * FP_BYTES;

const MINUS_U_BITS = Array.from(MINUS_U.toString(2), Number);
/** Digits of -u from the second highest on, in non-adjacent form: each is a step of the loop. */
const LOOP_DIGITS = nonAdjacentForm(MINUS_U).slice(1);

const POINT_BYTES = 3 * FP2_BYTES;
const LINE_BYTES = 3 * FP2_BYTES;
const LINE_COUNT = LOOP_DIGITS.length + LOOP_DIGITS.filter((digit) => digit !== 0).length;
/** Bytes of all lines of a point of G2. */
export const LINES_BYTES = LINE_COUNT * LINE_BYTES;

/** A point of G1, as affine x and y, and the lines of a point of G2: addresses. */
export interface PreparedPair {
  readonly point: number;
  readonly lines: number;
}

const one = allocate(FP12_BYTES);
setOne(one);
const zero = allocate(FP_BYTES);

/** Two alternating buffers, because results must not overlap with operands. */
class Turns {
  current: number;
  #other: number;

  constructor(bytes: number) {
    this.current = allocate(bytes);
    this.#other = allocate(bytes);
  }

  /** @returns the buffer to write to, which is the current one from then on; the previous one stays unchanged until the next turn */
  turn(): number {
    [this.current, this.#other] = [this.#other, this.current];
    return this.current;
  }
}

const multiple = new Turns(POINT_BYTES);
const negated = allocate(2 * FP2_BYTES);

/**
 * Computes all lines of the loop, in its order.
 *
 * @param out {@link LINES_BYTES}
 * @param point of G2, finite and with Z = 1
 * @returns the address of [-u] times the point, valid until the next call, with x = X/Z and y = Y/Z. For points of which a smaller multiple
 * is the point itself, its opposite or infinity, Z may be 0 instead
 */
export function prepareLines(out: number, point: number): number {
  copy(multiple.current, point, POINT_BYTES);
  copy(negated, point, FP2_BYTES);
  for (const part of [FP2_BYTES, FP2_BYTES + FP_BYTES]) sub(negated + part, zero, point + part);
  let line = out;
  for (const digit of LOOP_DIGITS) {
    const before = multiple.current;
    doublingStep(multiple.turn(), line, before);
    line += LINE_BYTES;
    if (digit === 0) continue;
    const doubled = multiple.current;
    additionStep(multiple.turn(), line, doubled, digit > 0 ? point : negated);
    line += LINE_BYTES;
  }
  return multiple.current;
}

const product = new Turns(FP12_BYTES);

/** Computes the product of the pairs' Miller loops, with one shared squaring in each step. */
export function millerLoop(out: number, pairs: readonly PreparedPair[]): void {
  copy(product.current, one, FP12_BYTES);
  let at = 0;
  for (const [step, digit] of LOOP_DIGITS.entries()) {
    const before = product.current;
    if (step > 0) square12(product.turn(), before);
    const linesOfStep = digit === 0 ? 1 : 2;
    for (const { point, lines } of pairs) {
      for (let line = 0; line < linesOfStep; line += 1) {
        const factor = product.current;
        mulByLine(product.turn(), factor, lines + at + line * LINE_BYTES, point);
      }
    }
    at += linesOfStep * LINE_BYTES;
  }
  // u is negative.
  conjugate12(out, product.current);
}

const power = new Turns(FP12_BYTES);

/** Computes a^u for elements whose conjugate is their inverse. `out` must not alias `a`. */
function powU(out: number, a: number): void {
  copy(power.current, a, FP12_BYTES);
  for (const bit of MINUS_U_BITS.slice(1)) {
    const root = power.current;
    cyclotomicSquare12(power.turn(), root);
    if (bit === 0) continue;
    const squared = power.current;
    mul12(power.turn(), squared, a);
  }
  conjugate12(out, power.current);
}

const [t0, t1, t2, t3, t4, t5, t6, t7, x, y, z] = allocateMany(11, FP12_BYTES) as unknown as Eleven;
type Eleven = readonly [number, number, number, number, number, number, number, number, number, number, number];

/** Raises to the power of 3·(p¹² - 1)/r. `out` may be `a`. */
export function finalExponentiate(out: number, a: number): void {
  conjugate12(x, a);
  invert12(y, a);
  mul12(t0, x, y);
  frobeniusSquared12(x, t0);
  mul12(t1, x, t0);
  powU(t2, t1);
  cyclotomicSquare12(x, t1);
  conjugate12(y, x);
  mul12(t3, y, t2);
  powU(t4, t3);
  powU(t5, t4);
  powU(x, t5);
  cyclotomicSquare12(y, t2);
  mul12(t6, x, y);
  powU(t7, t6);
  mul12(x, t2, t5);
  frobeniusSquared12(y, x);
  mul12(x, t4, t1);
  frobeniusCubed12(z, x);
  mul12(t0, y, z); // (t2·t5)^(p²) · (t4·t1)^(p³)
  conjugate12(x, t1);
  mul12(y, t6, x);
  frobenius12(z, y);
  mul12(x, t0, z); // … · (t6/t1)^p
  conjugate12(y, t3);
  mul12(z, t7, y);
  mul12(y, z, t1);
  mul12(t0, x, y); // … · t7/t3·t1
  copy(out, t0, FP12_BYTES);
}

export function setOne12(out: number): void {
  copy(out, one, FP12_BYTES);
}

export function isOne12(a: number): boolean {
  for (let part = FP_BYTES; part < FP12_BYTES; part += FP_BYTES) if (!isZero(a + part)) return false;
  sub(difference, a, one);
  return isZero(difference);
}
const difference = allocate(FP_BYTES);

/** Highest digit first; of two neighbouring digits at least one is 0. */
function nonAdjacentForm(value: bigint): readonly number[] {
  const digits: number[] = [];
  for (let rest = value; rest > 0n; rest >>= 1n) {
    const digit = (rest & 1n) === 0n ? 0 : 2 - Number(rest & 3n);
    digits.unshift(digit);
    rest -= BigInt(digit);
  }
  return digits;
}
