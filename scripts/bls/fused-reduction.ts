import { FIELD_ORDER } from '../../src/bls/field/field-module.ts';
import { centeredLimbs, indices, LIMB_BITS, LIMB_BYTES, LIMBS, ORDER_LIMBS } from '../../src/bls/field/fused-limbs.ts';
import {
  ADD,
  ADD_INTEGERS,
  AND,
  bitsOf,
  DROP,
  loadBoth,
  loadFirst,
  loadSecond,
  MUL,
  MULTIPLY_ADD,
  OR,
  SUB,
  SUBTRACT_PRODUCT,
  shiftRight,
  storeLane,
  type VectorBody,
} from './vector-assembly.ts';
import { type Code, get, set, tee } from './wasm-assembly.ts';

/**
 * Sums of products of two elements at a time, reduced, as code of `fused-code.ts`.
 *
 * An element is 8 limbs of 50 bits, little-endian, each a whole number in 8 bytes, in Montgomery form with R = 2^400. Limbs are of either
 * sign, and at most 2^49 + 4. The element is of either sign too, and at most a little more than p/2: so 0 is the only multiple of p, and all its
 * limbs are 0.
 *
 * How a product of limbs becomes exact (after Emmart, Zheng and Weems, "Faster modular exponentiation using double precision floating
 * point arithmetic on the GPU"): added to {@link HIGH}, whose last bit stands for 2^50, it is rounded to its high part h. The
 * product minus h · 2^50, added to {@link LOW}, is its low part l, at most 2^49 of either sign. Both sums keep their exponents as long
 * as the product is below 2^101. So their bit patterns are those of HIGH and LOW plus h and l, and they are added up as integers.
 */
/** 2^102 with room for either sign. */
const HIGH = 1.5 * 2 ** (LIMB_BITS + 52);
/** 2^52 in the same way. */
const LOW = 1.5 * 2 ** 52;
const TWO_52 = 2 ** 52;

/** A multiple of 2^50 that makes any column positive. */
const LIFT_BITS = 62;
const LIFT = 1n << BigInt(LIFT_BITS);
const LIFTED_CARRY = 1n << BigInt(LIFT_BITS - LIMB_BITS);
const HALF_LIMB = 1n << BigInt(LIMB_BITS - 1);

/** Columns that are reduced at a time. */
const BLOCK = 4;
const blockIndices = Array.from({ length: BLOCK }, (_, index) => index);
/** -1/p mod 2^200, by Newton's iteration, which doubles the good bits each time. */
const MINUS_INVERSE_OF_P = (() => {
  const bits = LIMB_BITS * BLOCK;
  let inverse = 1n;
  for (let good = 1; good < bits; good *= 2) inverse = BigInt.asIntN(bits, inverse * (2n - FIELD_ORDER * inverse));
  return centeredLimbs(-inverse, BLOCK);
})();

const columnPairs = (column: number): (readonly [number, number])[] =>
  indices.flatMap((i) => (column - i >= 0 && column - i < LIMBS ? [[i, column - i] as const] : []));

/** Vectors of limbs: the first of LIMBS locals. */
export type Limbs = number;

/** An element in both halves. */
export function loadSame(body: VectorBody, from: number): Limbs {
  const limbs = body.locals(LIMBS);
  for (const i of indices) body.emit(get(from), loadBoth(LIMB_BYTES * i), set(limbs + i));
  return limbs;
}

export function loadPair(body: VectorBody, first: number, second: number): Limbs {
  const limbs = body.locals(LIMBS);
  for (const i of indices) {
    const offset = LIMB_BYTES * i;
    body.emit(get(second), get(first), loadFirst(offset), loadSecond(offset), set(limbs + i));
  }
  return limbs;
}

export function storePair(body: VectorBody, first: number, second: number, limbs: Limbs): void {
  for (const i of indices) {
    const offset = LIMB_BYTES * i;
    body.emit(get(first), get(limbs + i), storeLane(offset, 0), get(second), get(limbs + i), storeLane(offset, 1));
  }
}

/** Each limb by this code, which finds it on the stack. */
export function mapLimbs(body: VectorBody, limbs: Limbs, code: (index: number) => Code): Limbs {
  const mapped = body.locals(LIMBS);
  for (const i of indices) body.emit(get(limbs + i), code(i), set(mapped + i));
  return mapped;
}

/** Products of limbs to add up by columns. */
export interface Products {
  readonly x: Limbs;
  readonly y: Limbs;
  /** Where x and y are the same: limbs of 2x, for the products that there are twice. */
  readonly doubled?: Limbs;
}

/** Columns that are added up as integers. What the parts of products have beside h and l is taken away once, in {@link settle}. */
class Columns {
  readonly #body: VectorBody;
  readonly #first: number;
  readonly #surplus: bigint[];
  readonly #isBegun = new Set<number>();

  constructor(body: VectorBody, count: number) {
    this.#body = body;
    this.#first = body.locals(count);
    this.#surplus = new Array<bigint>(count).fill(0n);
  }

  get(column: number): Code {
    return get(this.#first + column);
  }

  /** Adds what is on the stack, and has this surplus. */
  add(column: number, surplus: bigint): void {
    if (this.#isBegun.has(column)) this.#body.emit(this.get(column), ADD_INTEGERS);
    this.#isBegun.add(column);
    this.#body.emit(set(this.#first + column));
    this.#surplus[column] = (this.#surplus[column] ?? 0n) + surplus;
  }

  /** Its high part goes to the next column, or where there is none to that of others, or nowhere. */
  addProduct(column: number, x: Code, y: Code, beyond?: readonly [Columns, number]): void {
    const body = this.#body;
    const part = body.temporary();
    body.emit(x, y, body.value(HIGH), MULTIPLY_ADD, tee(part));
    if (column + 1 < this.#surplus.length) this.add(column + 1, bitsOf(HIGH));
    else if (beyond === undefined) body.emit([DROP]);
    else beyond[0].add(beyond[1], bitsOf(HIGH));
    body.emit(x, y, body.value(HIGH + LOW), get(part), SUB, MULTIPLY_ADD);
    this.add(column, bitsOf(LOW));
  }

  /** Once all but carries are there. @param start what the column is to have beside its sum, and beside as many lifted carries */
  settle(column: number, start: bigint, carries: number): void {
    const missing = start - (this.#surplus[column] ?? 0n) - BigInt(carries) * LIFTED_CARRY;
    this.#body.emit(this.get(column), this.#body.once(missing), ADD_INTEGERS, set(this.#first + column));
  }

  /** Adds the carry of a column that is lifted. */
  carry(column: number, to: readonly [Columns, number]): void {
    this.#body.emit(this.get(column), shiftRight(LIMB_BITS));
    to[0].add(to[1], LIFTED_CARRY);
  }
}

/**
 * Montgomery's reduction of a sum of products, four columns at a time: so many limbs of the quotient are computed from as many limbs of
 * the sum, with -1/p modulo 2^200. If it were one at a time, each would wait for all steps of the one before.
 *
 * Limbs of the factors are at most 2^50 + 8.
 *
 * @param into where the limbs of the result go; they may be those of factors
 */
export function reducedSum(body: VectorBody, sum: readonly Products[], into: Limbs): void {
  const columns = new Columns(body, 2 * LIMBS);
  const quotient = body.locals(LIMBS);
  const addProducts = (column: number): void => {
    for (const [x, y] of productsOf(sum, column)) columns.addProduct(column, get(x), get(y));
    const known = Math.floor(Math.min(column, LIMBS) / BLOCK) * BLOCK;
    for (const [i, j] of columnPairs(column))
      if (i < known) columns.addProduct(column, get(quotient + i), pLimb(body, j));
  };
  for (let block = 0; block < LIMBS; block += BLOCK) {
    for (const n of blockIndices) addProducts(block + n);
    addQuotient(body, columns, block, quotient);
  }
  const result = indices.map((i) => LIMBS + i);
  for (const column of result) addProducts(column);
  const last = 2 * LIMBS - 1;
  for (const column of result) {
    columns.settle(column, column === last ? bitsOf(LOW) : LIFT + HALF_LIMB, column > LIMBS ? 1 : 0);
  }
  for (const column of result) {
    if (column === last) body.emit(columns.get(column), body.value(LOW), SUB);
    else {
      columns.carry(column, [columns, column + 1]);
      body.emit(columns.get(column), lowBits(body), toNumber(body), body.value(TWO_52 + Number(HALF_LIMB)), SUB);
    }
    body.emit(set(into + column - LIMBS));
  }
}

/** The multiple of p that makes a block of columns 0: its limbs, and the carry that is left of the block, in the column after it. */
function addQuotient(body: VectorBody, columns: Columns, block: number, quotient: Limbs): void {
  const after = [columns, block + BLOCK] as const;
  const rest = new Columns(body, BLOCK);
  const limbs = body.locals(BLOCK);
  for (const n of blockIndices) columns.settle(block + n, LIFT, n > 0 ? 1 : 0);
  for (const n of blockIndices) {
    columns.carry(block + n, [columns, block + n + 1]);
    body.emit(columns.get(block + n), lowBits(body));
    rest.add(n, 0n);
    body.emit(rest.get(n), toNumber(body), body.value(TWO_52), SUB, set(limbs + n));
  }
  const products = new Columns(body, BLOCK);
  for (const n of blockIndices) {
    for (let i = 0; i <= n; i += 1) products.addProduct(n, get(limbs + i), body.value(MINUS_INVERSE_OF_P[n - i] ?? 0));
  }
  for (const n of blockIndices) products.settle(n, LIFT + HALF_LIMB, n > 0 ? 1 : 0);
  for (const n of blockIndices) {
    if (n + 1 < BLOCK) products.carry(n, [products, n + 1]);
    body.emit(products.get(n), lowBits(body), toNumber(body), body.value(TWO_52 + Number(HALF_LIMB)), SUB);
    body.emit(set(quotient + block + n));
  }
  for (const n of blockIndices) {
    for (let i = 0; i <= n; i += 1) rest.addProduct(n, get(quotient + block + i), pLimb(body, n - i), after);
  }
  for (const n of blockIndices) rest.settle(n, LIFT, n > 0 ? 1 : 0);
  for (const n of blockIndices) rest.carry(n, n + 1 < BLOCK ? [rest, n + 1] : after);
}

function pLimb(body: VectorBody, limb: number): Code {
  return body.value(ORDER_LIMBS[limb] ?? 0);
}

function lowBits(body: VectorBody): Code {
  return [...body.bits((1n << BigInt(LIMB_BITS)) - 1n), ...AND];
}

/** Turns an integer below 2^52 into the number 2^52 plus it. */
function toNumber(body: VectorBody): Code {
  return [...body.bits(bitsOf(TWO_52)), ...OR];
}

function productsOf(sum: readonly Products[], column: number): (readonly [number, number])[] {
  return sum.flatMap(({ x, y, doubled }) =>
    columnPairs(column).flatMap(([i, j]) => {
      if (doubled === undefined) return [[x + i, y + j] as const];
      if (i > j) return [];
      return [[i < j ? doubled + i : x + i, x + j] as const];
    }),
  );
}

/**
 * Takes away the multiple of p that the highest limb tells, and carries once, from all limbs at a time. Leaves limbs of at most 2^49 + 4. The
 * limbs given may be up to 2^51.
 */
export function reducedLimbs(body: VectorBody, limbs: Limbs): Limbs {
  const [multiple, carry] = [body.local(), body.local()];
  const top = LIMBS - 1;
  const [toOne, toLimb] = [body.value(LOW), body.value(HIGH)];
  body.emit(get(limbs + top), body.value(1 / (ORDER_LIMBS[top] ?? 1)), MUL, toOne, ADD, toOne, SUB, set(multiple));
  const reduced = body.locals(LIMBS);
  for (const i of indices) {
    body.emit(get(multiple), body.value(ORDER_LIMBS[i] ?? 0), get(limbs + i), SUBTRACT_PRODUCT, set(reduced + i));
    // That of the limb below.
    const carried =
      i === 0 ? get(reduced) : [...get(carry), ...body.value(2 ** -LIMB_BITS), ...get(reduced + i), ...MULTIPLY_ADD];
    if (i === top) {
      body.emit(carried, set(reduced + i));
      continue;
    }
    const own = body.local();
    body.emit(get(reduced + i), toLimb, ADD, toLimb, SUB, set(own));
    body.emit(carried, get(own), SUB, set(reduced + i), get(own), set(carry));
  }
  return reduced;
}
