import { FIELD_ORDER, type FieldModule } from './field-module.ts';
import {
  address,
  addressFrom,
  type Code,
  call,
  get,
  instantiate,
  set,
  tee,
  unsigned,
  vector,
} from './wasm-assembly.ts';

/**
 * The arithmetic of `field-module.ts` on vectors of two floating-point numbers: two elements at a time, or the two coefficients of one of
 * the extension. It needs a processor that adds to a product without rounding it before, as all have that are younger than 2013 or so;
 * it is then three times as fast as `integer-field.ts`, which has to do elsewhere.
 *
 * An element is 8 limbs of 50 bits, little-endian, each a whole number in 8 bytes, in Montgomery form with R = 2^400. Limbs are of either
 * sign, and at most 2^49 + 1; so is the element, which is at most a little more than p/2. Hence only 0 is a multiple of p.
 *
 * How a product of limbs becomes exact (after Emmart, Zheng and Weems, "Faster modular exponentiation using double precision floating
 * point arithmetic on the GPU"): added to {@link HIGH}, whose last bit stands for 2^50, it is rounded to its high part h. The
 * product minus h · 2^50, added to {@link LOW}, is its low part l, at most 2^49 of either sign. Both sums keep their exponents as long
 * as the product is below 2^101. So their bit patterns are those of HIGH and LOW plus h and l, and they are added up as integers.
 */
const LIMB_BITS = 50;
const LIMBS = 8;
const LIMB_BYTES = 8;
const FP_BYTES = LIMBS * LIMB_BYTES;
export const FUSED_FIELD_BYTES = FP_BYTES;
const RADIX = 1n << BigInt(LIMB_BITS * LIMBS);
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

/** For the reader and writer of elements: a limb is two pieces. */
const PIECE_BITS = 25;

/** Memory in front, for constants: each is there twice, as a vector. */
const CONSTANT_BYTES = 4096;
const VECTOR_BYTES = 16;

const P = centeredLimbs(FIELD_ORDER);
/** So many columns are reduced at a time. */
const BLOCK = 4;
const blockIndices = Array.from({ length: BLOCK }, (_, index) => index);
/** -1/p mod 2^200, by Newton's iteration, which doubles the good bits each time. */
const MINUS_INVERSE_OF_P = (() => {
  const bits = LIMB_BITS * BLOCK;
  let inverse = 1n;
  for (let good = 1; good < bits; good *= 2) inverse = BigInt.asIntN(bits, inverse * (2n - FIELD_ORDER * inverse));
  return centeredLimbs(-inverse, BLOCK);
})();

/** From the lowest on; only the highest limb is not between -2^49 and 2^49. */
function centeredLimbs(value: bigint, count = LIMBS): number[] {
  let rest = value;
  return Array.from({ length: count }, (_, index) => {
    const limb = index === count - 1 ? rest : BigInt.asIntN(LIMB_BITS, rest);
    rest = (rest - limb) >> BigInt(LIMB_BITS);
    return Number(limb);
  });
}

function bitsOf(value: number): bigint {
  return new BigInt64Array(Float64Array.of(value).buffer)[0] ?? 0n;
}

/** Constants of the functions, which stand in the memory from its begin on: there they are loaded faster than as immediates. */
class Constants {
  readonly #addresses = new Map<bigint, number>();

  /** @param bits of both halves of a vector */
  bits(bits: bigint): Code {
    return this.#load(BigInt.asUintN(64, bits));
  }

  value(value: number): Code {
    return this.#load(BigInt.asUintN(64, bitsOf(value)));
  }

  writeTo(memory: ArrayBuffer): void {
    const words = new BigUint64Array(memory);
    for (const [bits, at] of this.#addresses) words.fill(bits, at / 8, at / 8 + 2);
  }

  #load(bits: bigint): Code {
    let at = this.#addresses.get(bits);
    if (at === undefined) {
      at = this.#addresses.size * VECTOR_BYTES;
      if (at >= CONSTANT_BYTES) throw new RangeError('no room for a constant');
      this.#addresses.set(bits, at);
    }
    return [...address(0), ...V_LOAD(at)];
  }
}

const memoryArgument = (offset: number): Code => [3, ...unsigned(offset)];
const V_LOAD = (offset: number): Code => vector(0x00, ...memoryArgument(offset));
const LOAD_BOTH = (offset: number): Code => vector(0x0a, ...memoryArgument(offset));
const LOAD_FIRST = (offset: number): Code => vector(0x5d, ...memoryArgument(offset));
const LOAD_SECOND = (offset: number): Code => vector(0x57, ...memoryArgument(offset), 1);
const STORE_LANE = (offset: number, lane: number): Code => vector(0x5b, ...memoryArgument(offset), lane);
const SWAP = vector(0x0d, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7);
const [AND, OR, XOR] = [vector(0x4e), vector(0x50), vector(0x51)];
const ADD_INTEGERS = vector(0xce);
const SHIFT_RIGHT = [...address(LIMB_BITS), ...vector(0xcd)];
const [ADD, SUB, MUL] = [vector(0xf0), vector(0xf1), vector(0xf2)];
/** The product of the first two plus the third; minus the product. */
const [MULTIPLY_ADD, SUBTRACT_PRODUCT] = [vector(0x107), vector(0x108)];
const LOOP = [0x03, 0x40];
const BRANCH_IF = 0x0d;
const END = 0x0b;
const DROP = 0x1a;

const indices = Array.from({ length: LIMBS }, (_, index) => index);
const columnPairs = (column: number): (readonly [number, number])[] =>
  indices.flatMap((i) => (column - i >= 0 && column - i < LIMBS ? [[i, column - i] as const] : []));

/** Vectors of limbs: the first of LIMBS locals. */
type Limbs = number;

/** One body: its parameters, and the vectors that it takes. */
class Body {
  readonly parameters: number;
  readonly code: number[] = [];
  readonly #constants: Constants;
  readonly #cached = new Map<string, number>();
  #next: number;
  #temporary: number | undefined;

  constructor(parameters: number, constants: Constants) {
    this.parameters = parameters;
    this.#next = parameters;
    this.#constants = constants;
  }

  get vectors(): number {
    return this.#next - this.parameters;
  }

  emit(...codes: readonly Code[]): void {
    for (const code of codes) this.code.push(...code);
  }

  local(): number {
    return this.limbs(1);
  }

  limbs(count = LIMBS): Limbs {
    const first = this.#next;
    this.#next += count;
    return first;
  }

  /** A local that is read soon after it is written. */
  temporary(): number {
    this.#temporary ??= this.local();
    return this.#temporary;
  }

  /** A constant that is used often, in a local. To be asked for outside of loops first. */
  value(value: number): Code {
    return this.#cache(`value ${value}`, () => this.#constants.value(value));
  }

  bits(bits: bigint): Code {
    return this.#cache(`bits ${bits}`, () => this.#constants.bits(bits));
  }

  /** One that is used once. */
  once(bits: bigint): Code {
    return this.#constants.bits(bits);
  }

  #cache(name: string, load: () => Code): Code {
    const known = this.#cached.get(name);
    if (known !== undefined) return get(known);
    const local = this.local();
    this.#cached.set(name, local);
    this.emit(load(), set(local));
    return get(local);
  }
}

/** An element in both halves. */
function loadSame(body: Body, from: number): Limbs {
  const limbs = body.limbs();
  for (const i of indices) body.emit(get(from), LOAD_BOTH(LIMB_BYTES * i), set(limbs + i));
  return limbs;
}

function loadPair(body: Body, first: number, second: number): Limbs {
  const limbs = body.limbs();
  for (const i of indices) {
    const offset = LIMB_BYTES * i;
    body.emit(get(second), get(first), LOAD_FIRST(offset), LOAD_SECOND(offset), set(limbs + i));
  }
  return limbs;
}

function storePair(body: Body, first: number, second: number, limbs: Limbs): void {
  for (const i of indices) {
    const offset = LIMB_BYTES * i;
    body.emit(get(first), get(limbs + i), STORE_LANE(offset, 0), get(second), get(limbs + i), STORE_LANE(offset, 1));
  }
}

/** Each limb by this code, which finds it on the stack. */
function mapLimbs(body: Body, limbs: Limbs, code: (index: number) => Code): Limbs {
  const mapped = body.limbs();
  for (const i of indices) body.emit(get(limbs + i), code(i), set(mapped + i));
  return mapped;
}

/** Products of limbs to add up by columns. */
interface Products {
  readonly x: Limbs;
  readonly y: Limbs;
  /** Where x and y are the same: limbs of 2x, for the products that there are twice. */
  readonly doubled?: Limbs;
}

/** Columns that are added up as integers. What the parts of products have beside h and l is taken away once, in {@link settle}. */
class Columns {
  readonly #body: Body;
  readonly #first: number;
  readonly #surplus: bigint[];
  readonly #isBegun = new Set<number>();

  constructor(body: Body, count: number) {
    this.#body = body;
    this.#first = body.limbs(count);
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
    this.#body.emit(this.get(column), SHIFT_RIGHT);
    to[0].add(to[1], LIFTED_CARRY);
  }
}

/**
 * Montgomery's reduction of a sum of products, four columns at a time: so many limbs of the quotient are computed from as many limbs of
 * the sum, with -1/p modulo 2^200. If it were one at a time, each would wait for all steps of the one before.
 *
 * Limbs of the factors are at most 2^50 + 8; where there are two products, one factor of each at most half of that.
 *
 * @param into where the limbs of the result go; they may be those of factors
 */
function reducedSum(body: Body, sum: readonly Products[], into: Limbs): void {
  const columns = new Columns(body, 2 * LIMBS);
  const quotient = body.limbs();
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
function addQuotient(body: Body, columns: Columns, block: number, quotient: Limbs): void {
  const after = [columns, block + BLOCK] as const;
  const rest = new Columns(body, BLOCK);
  const limbs = body.limbs(BLOCK);
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

function pLimb(body: Body, limb: number): Code {
  return body.value(P[limb] ?? 0);
}

function lowBits(body: Body): Code {
  return [...body.bits((1n << BigInt(LIMB_BITS)) - 1n), ...AND];
}

/** Of an integer below 2^52: so much more than it. */
function toNumber(body: Body): Code {
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
function reducedLimbs(body: Body, limbs: Limbs): Limbs {
  const [multiple, carry] = [body.local(), body.local()];
  const top = LIMBS - 1;
  const [toOne, toLimb] = [body.value(LOW), body.value(HIGH)];
  body.emit(get(limbs + top), body.value(1 / (P[top] ?? 1)), MUL, toOne, ADD, toOne, SUB, set(multiple));
  const reduced = body.limbs();
  for (const i of indices) {
    body.emit(get(multiple), body.value(P[i] ?? 0), get(limbs + i), SUBTRACT_PRODUCT, set(reduced + i));
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

/** The functions of two elements each: results first, as addresses. */
function mulPairBody(body: Body): void {
  const [out0, out1, a0, b0, a1, b1] = [0, 1, 2, 3, 4, 5];
  const x = loadPair(body, a0, a1);
  reducedSum(body, [{ x, y: loadPair(body, b0, b1) }], x);
  storePair(body, out0, out1, x);
}

function squarePairBody(body: Body): void {
  const [out0, out1, a0, a1, times] = [0, 1, 2, 3, 4];
  const x = loadPair(body, a0, a1);
  body.emit(LOOP);
  reducedSum(body, [{ x, y: x, doubled: mapLimbs(body, x, (i) => [...get(x + i), ...ADD]) }], x);
  const [I32_CONST_1, I32_SUB] = [[0x41, 1], [0x6b]];
  body.emit(get(times), I32_CONST_1, I32_SUB, tee(times), [BRANCH_IF, 0, END]);
  storePair(body, out0, out1, x);
}

const sumPairBody =
  (addOrSub: Code) =>
  (body: Body): void => {
    const [out0, out1, a0, b0, a1, b1] = [0, 1, 2, 3, 4, 5];
    const [x, y] = [loadPair(body, a0, a1), loadPair(body, b0, b1)];
    const sums = mapLimbs(body, x, (i) => [...get(y + i), ...addOrSub]);
    storePair(body, out0, out1, reducedLimbs(body, sums));
  };

/** a·b = (a0·b0 - a1·b1) + (a0·b1 + a1·b0)·i. */
function mulParts2Body(body: Body): void {
  const [out0, out1, a0, a1, b0, b1] = [0, 1, 2, 3, 4, 5];
  const [x, y] = [loadSame(body, a0), loadPair(body, b0, b1)];
  const minus = negatedFirst(body, loadSame(body, a1));
  const swapped = mapLimbs(body, y, (i) => [...get(y + i), ...SWAP]);
  reducedSum(
    body,
    [
      { x, y },
      { x: minus, y: swapped },
    ],
    x,
  );
  storePair(body, out0, out1, x);
}

/** a² = (a0 + a1)(a0 - a1) + 2a0·a1·i. */
function squareParts2Body(body: Body): void {
  const [out0, out1, a0, a1] = [0, 1, 2, 3];
  const other = loadPair(body, a1, a0);
  const x = mapLimbs(body, loadSame(body, a0), (i) => [...get(other + i), ...ADD]); // a0 + a1, 2·a0
  const plusMinus = negatedFirst(body, loadSame(body, a1));
  const y = mapLimbs(body, plusMinus, (i) => [...get(a0), ...LOAD_FIRST(LIMB_BYTES * i), ...ADD]); // a0 - a1, a1
  reducedSum(body, [{ x, y }], x);
  storePair(body, out0, out1, x);
}

function negatedFirst(body: Body, limbs: Limbs): Limbs {
  const sign = body.local();
  body.emit(vector(0x0c, 0, 0, 0, 0, 0, 0, 0, 0x80, 0, 0, 0, 0, 0, 0, 0, 0), set(sign));
  return mapLimbs(body, limbs, () => [...get(sign), ...XOR]);
}

const PAIR_BODIES = {
  mulPair: { parameters: 6, write: mulPairBody },
  squarePair: { parameters: 5, write: squarePairBody },
  addPair: { parameters: 6, write: sumPairBody(ADD) },
  subPair: { parameters: 6, write: sumPairBody(SUB) },
  mulParts2: { parameters: 6, write: mulParts2Body },
  squareParts2: { parameters: 4, write: squareParts2Body },
} as const;
type PairName = keyof typeof PAIR_BODIES;

/** The other functions call those of pairs: with the same element twice, or with both coefficients of an element of the extension. */
const CALLS: Readonly<
  Record<string, { readonly parameters: number; readonly of: PairName; readonly arguments: Code }>
> = {
  mul: { parameters: 3, of: 'mulPair', arguments: [0, 0, 1, 2, 1, 2].flatMap(get) },
  square: { parameters: 3, of: 'squarePair', arguments: [0, 0, 1, 1, 2].flatMap(get) },
  add: { parameters: 3, of: 'addPair', arguments: [0, 0, 1, 2, 1, 2].flatMap(get) },
  sub: { parameters: 3, of: 'subPair', arguments: [0, 0, 1, 2, 1, 2].flatMap(get) },
  mul2: { parameters: 3, of: 'mulParts2', arguments: bothOf([0, 1, 2]) },
  square2: { parameters: 2, of: 'squareParts2', arguments: bothOf([0, 1]) },
  add2: {
    parameters: 3,
    of: 'addPair',
    arguments: [...bothOf([0]), ...[1, 2].flatMap(get), ...[1, 2].flatMap(second)],
  },
  sub2: {
    parameters: 3,
    of: 'subPair',
    arguments: [...bothOf([0]), ...[1, 2].flatMap(get), ...[1, 2].flatMap(second)],
  },
};

function bothOf(parameters: readonly number[]): Code {
  return parameters.flatMap((parameter) => [...get(parameter), ...second(parameter)]);
}

function second(parameter: number): Code {
  return addressFrom(parameter, FP_BYTES);
}

/** Compiles the module and starts an instance, with memory of its own. */
export function createFusedField(memoryPages: number): FieldModule {
  const constants = new Constants();
  const names = Object.keys(PAIR_BODIES);
  const pairs = Object.entries(PAIR_BODIES).map(([name, { parameters, write }]) => {
    const body = new Body(parameters, constants);
    write(body);
    return { name, parameters, locals: 0, vectors: body.vectors, code: body.code };
  });
  const calls = Object.entries(CALLS).map(([name, { parameters, of, arguments: given }]) => ({
    ...{ name, parameters, locals: 0, code: [...given, ...call(names.indexOf(of))] },
  }));
  // The exports are what has just been assembled.
  const made = instantiate([...pairs, ...calls], { memoryPages }) as Made;
  constants.writeTo(made.memory.buffer);
  const limbs = new Float64Array(made.memory.buffer);
  return {
    ...made,
    elementBytes: FP_BYTES,
    firstFree: CONSTANT_BYTES,
    radix: RADIX,
    pieceBits: PIECE_BITS,
    writePieces(at, pieces) {
      for (const i of indices)
        limbs[at / LIMB_BYTES + i] = (pieces[2 * i] ?? 0) + (pieces[2 * i + 1] ?? 0) * 2 ** PIECE_BITS;
    },
    readPieces: (at, pieces) => readPieces(limbs, at / LIMB_BYTES, pieces),
    isZero(at) {
      for (let i = at / LIMB_BYTES; i < at / LIMB_BYTES + LIMBS; i += 1) if (limbs[i] !== 0) return false;
      return true;
    },
  };
}
type Made = Omit<
  FieldModule,
  'elementBytes' | 'firstFree' | 'radix' | 'pieceBits' | 'writePieces' | 'readPieces' | 'isZero'
>;

const ORDER_LIMBS = P;

/** An element between -p and p, as a number in [0, p). */
function readPieces(limbs: Float64Array, first: number, pieces: number[]): void {
  let carry = 0;
  const isNegative = limbIsNegative(limbs, first);
  for (const i of indices) {
    const limb = (limbs[first + i] ?? 0) + (isNegative ? (ORDER_LIMBS[i] ?? 0) : 0) + carry;
    carry = Math.floor(limb / 2 ** LIMB_BITS);
    const positive = limb - carry * 2 ** LIMB_BITS;
    pieces[2 * i] = positive % 2 ** PIECE_BITS;
    pieces[2 * i + 1] = Math.floor(positive / 2 ** PIECE_BITS);
  }
}

/** The highest limb that is not 0 tells: those below it are too small to change the sign. */
function limbIsNegative(limbs: Float64Array, first: number): boolean {
  for (let i = LIMBS - 1; i >= 0; i -= 1) {
    const limb = limbs[first + i] ?? 0;
    if (limb !== 0) return limb < 0;
  }
  return false;
}

/**
 * Whether this machine rounds a product and its sum once, as the arithmetic here needs it: 1 + 2^-52 squared minus its rounded value is not 0.
 */
export function isFused(): boolean {
  try {
    const test = [...address(0), ...address(0), ...V_LOAD(0), ...address(0), ...V_LOAD(0)];
    const code = [
      ...test,
      ...address(0),
      ...V_LOAD(VECTOR_BYTES),
      ...MULTIPLY_ADD,
      ...vector(0x0b, ...memoryArgument(0)),
    ];
    const made = instantiate([{ name: 'test', parameters: 0, locals: 0, code }], { memoryPages: 1 }) as {
      readonly memory: { readonly buffer: ArrayBuffer };
      readonly test: () => void;
    };
    const numbers = new Float64Array(made.memory.buffer);
    const x = 1 + Number.EPSILON;
    numbers.set([x, x, -(x * x), -(x * x)]);
    made.test();
    return numbers[0] === Number.EPSILON ** 2 && numbers[1] === Number.EPSILON ** 2;
  } catch {
    // No vectors, or none of these operations.
    return false;
  }
}
