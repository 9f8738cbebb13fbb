import { FIELD_MEMORY_PAGES, FIELD_ORDER, type FieldModule } from './field-module.ts';
import { addressFrom, assemble, type Code, call, constant, get, set, tee, unsigned } from './wasm-assembly.ts';
import { instantiate } from './wasm-instance.ts';

/**
 * The arithmetic of `field-module.ts` on integers, for machines that cannot do what `fused-field.ts` asks of them. Products of BigInts
 * take four times as long, mostly for reductions and allocations that limbs in i64 do not need.
 *
 * An element is 14 limbs of 28 bits, little-endian, each in 4 bytes, in Montgomery form with R = 2^392. Products of two
 * limbs have 56 bits, so a column of the schoolbook product and of the reduction (at most 42 of them) fits into one signed
 * i64 without carries in between. Values are below 3p, not fully reduced: R / p > 2^11 leaves room for that in a product, and
 * sums are reduced to below 2p by a quotient estimated from their top limbs.
 */
const LIMB_BITS = 28;
const LIMBS = 14;
const LIMB_MASK = 2 ** LIMB_BITS - 1;
const LIMB_BYTES = 4;
const FP_BYTES = LIMBS * LIMB_BYTES;
export const INTEGER_FIELD_BYTES = FP_BYTES;

const P = toLimbs(FIELD_ORDER);
/** -1/p mod 2^28, by Newton's iteration, which doubles the good bits each time. */
const MINUS_INVERSE_OF_P = (() => {
  let inverse = 1n;
  for (let bits = 1; bits < LIMB_BITS; bits *= 2) inverse *= 2n - FIELD_ORDER * inverse;
  return Number(BigInt.asUintN(LIMB_BITS, -inverse));
})();
/**
 * The quotient by p of a value with the top limb t is about t · 40323 / 2^32, rounded down. Carries from the limbs below may
 * change t by one, so one less than t is used. The remainder is then at least 0, and little more than p.
 */
const QUOTIENT_SHIFT = 32;
const QUOTIENT_FACTOR = Math.floor(2 ** QUOTIENT_SHIFT / ((P[LIMBS - 1] ?? 0) + 1));

function toLimbs(value: bigint): number[] {
  return Array.from({ length: LIMBS }, (_, index) => Number((value >> BigInt(LIMB_BITS * index)) & BigInt(LIMB_MASK)));
}

/** Assembles and compiles the module and starts an instance, with memory of its own. */
export function createIntegerField(): FieldModule {
  const bodies = { mul: mulBody(), square: squareBody(), add: sumBody(ADD, 1), sub: sumBody(SUB, 1) };
  const bodies2 = { add2: sumBody(ADD, 2), sub2: sumBody(SUB, 2) };
  const parts2 = { mulParts2: mulParts2Body(), squareParts2: squareParts2Body() };
  const named = Object.entries({ ...bodies, ...bodies2, ...parts2 });
  const indexOf = (wanted: string): number => named.findIndex(([name]) => name === wanted);
  const calls = {
    mul2: onParts(3, indexOf('mulParts2')),
    square2: onParts(2, indexOf('squareParts2')),
    mulPair: twice(6, indexOf('mul'), [0, 2, 3], [1, 4, 5]),
    squarePair: twice(5, indexOf('square'), [0, 2, 4], [1, 3, 4]),
    addPair: twice(6, indexOf('add'), [0, 2, 3], [1, 4, 5]),
    subPair: twice(6, indexOf('sub'), [0, 2, 3], [1, 4, 5]),
    addPairLoose: twice(6, indexOf('add'), [0, 2, 3], [1, 4, 5]),
    subPairLoose: twice(6, indexOf('sub'), [0, 2, 3], [1, 4, 5]),
  };
  const functions = [...named, ...Object.entries(calls)].map(([name, body]) => ({ name, ...body }));
  // The exports are what has just been assembled.
  const made = instantiate(assemble(functions, { memoryPages: FIELD_MEMORY_PAGES })) as Pick<
    FieldModule,
    'memory' | keyof typeof bodies | keyof typeof bodies2 | keyof typeof parts2 | keyof typeof calls
  >;
  const words = new Uint32Array(made.memory.buffer);
  const isZero = (at: number): boolean =>
    ZERO_MULTIPLES.some((limbs) => limbs.every((limb, i) => words[at / LIMB_BYTES + i] === limb));
  return {
    ...made,
    elementBytes: FP_BYTES,
    firstFree: 0,
    radix: 1n << BigInt(LIMB_BITS * LIMBS),
    isZero,
    pieceBits: LIMB_BITS,
    writePieces: (at, pieces) => {
      for (const i of indices) words[at / LIMB_BYTES + i] = pieces[i] ?? 0;
    },
    // (a + q·p) / R with a < 3p and q < R is at most p, and p only for multiples of p.
    readPieces(at, pieces) {
      const isNothing = isZero(at);
      for (const i of indices) pieces[i] = isNothing ? 0 : (words[at / LIMB_BYTES + i] ?? 0);
    },
  };
}
const ZERO_MULTIPLES = [0n, FIELD_ORDER, 2n * FIELD_ORDER].map(toLimbs);

interface Body {
  readonly parameters: number;
  readonly locals: number;
  readonly code: Code;
}

/** Opcodes of the WebAssembly core specification, section 5.4. */
const load = (offset: number): Code => [0x35, 2, ...unsigned(offset)];
const store = (offset: number): Code => [0x3e, 2, ...unsigned(offset)];
const ADD = [0x7c];
const SUB = [0x7d];
const MUL = [0x7e];
const AND = [0x83];
const SHIFT_RIGHT = [0x87];
const LOOP = [0x03, 0x40];
const BRANCH_IF = 0x0d;
const END = 0x0b;
const DROP = 0x1a;

const lowLimb = [...constant(LIMB_MASK), ...AND];
const carry = [...constant(LIMB_BITS), ...SHIFT_RIGHT];
const indices = Array.from({ length: LIMBS }, (_, index) => index);
const columnPairs = (column: number): (readonly [number, number])[] =>
  indices.flatMap((i) => (column - i >= 0 && column - i < LIMBS ? [[i, column - i] as const] : []));

/** Most functions have three parameters, which are locals 0 to 2. */
const FIRST_LOCAL = 3;

function mulBody(): Body {
  const [x, y, q] = [FIRST_LOCAL, FIRST_LOCAL + LIMBS, FIRST_LOCAL + 2 * LIMBS];
  return {
    parameters: 3,
    locals: 3 * LIMBS + 1,
    code: [
      ...loadLimbs(1, x),
      ...loadLimbs(2, y),
      ...reducedProduct((column) => products(column, x, y, ADD), q, x),
      ...storeLimbs(0, x),
    ],
  };
}

function squareBody(): Body {
  const [x, doubled, q] = [FIRST_LOCAL, FIRST_LOCAL + LIMBS, FIRST_LOCAL + 2 * LIMBS];
  const I32_CONST_1 = [0x41, 1];
  const I32_SUB = [0x6b];
  return {
    parameters: 3,
    locals: 3 * LIMBS + 1,
    code: [
      ...loadLimbs(1, x),
      ...LOOP,
      ...indices.flatMap((i) => [...get(x + i), ...get(x + i), ...ADD, ...set(doubled + i)]),
      ...reducedProduct(
        (column) =>
          columnPairs(column).flatMap(([i, j]) =>
            i > j ? [] : [...get(i < j ? doubled + i : x + i), ...get(x + j), ...MUL, ...ADD],
          ),
        q,
        x,
      ),
      ...[...get(2), ...I32_CONST_1, ...I32_SUB, ...tee(2), BRANCH_IF, 0, END], // again while any are left
      ...storeLimbs(0, x),
    ],
  };
}

/** a·b = (a0·b0 - a1·b1) + (a0·b1 + a1·b0)·i, with four products but only two reductions. */
function mulParts2Body(): Body {
  const parameters = 6;
  const [a0, a1, b0, b1, q, out] = [0, 1, 2, 3, 4, 5].map((n) => parameters + n * LIMBS + (n > 4 ? 1 : 0)) as Six;
  return {
    parameters,
    locals: 6 * LIMBS + 1,
    code: [
      ...[a0, a1, b0, b1].flatMap((limbs, n) => loadLimbs(2 + n, limbs)),
      ...reducedProduct(
        (column) => [...products(column, a0, b0, ADD), ...products(column, a1, b1, SUB), ...plusP(column)],
        q,
        out,
      ),
      ...storeLimbs(0, out),
      ...reducedProduct((column) => [...products(column, a0, b1, ADD), ...products(column, a1, b0, ADD)], q, out),
      ...storeLimbs(1, out),
    ],
  };
}

/** a² = (a0 + a1)(a0 - a1) + (2·a0·a1)·i. */
function squareParts2Body(): Body {
  const parameters = 4;
  const [a0, a1, sum, difference, q, out] = [0, 1, 2, 3, 4, 5].map(
    (n) => parameters + n * LIMBS + (n > 4 ? 1 : 0),
  ) as Six;
  return {
    parameters,
    locals: 6 * LIMBS + 1,
    code: [
      ...loadLimbs(2, a0),
      ...loadLimbs(3, a1),
      ...indices.flatMap((i) => [
        ...[...get(a0 + i), ...get(a1 + i), ...ADD, ...set(sum + i)],
        ...[...get(a0 + i), ...get(a1 + i), ...SUB, ...set(difference + i)],
        ...[...get(a0 + i), ...get(a0 + i), ...ADD, ...set(a0 + i)],
      ]),
      ...reducedProduct((column) => [...products(column, sum, difference, ADD), ...plusP(column)], q, out),
      ...storeLimbs(0, out),
      ...reducedProduct((column) => products(column, a0, a1, ADD), q, out),
      ...storeLimbs(1, out),
    ],
  };
}
type Six = [number, number, number, number, number, number];

/** Calls a function on both coefficients of each parameter. */
function onParts(parameters: number, index: number): Body {
  const both = Array.from({ length: parameters }, (_, n) => [...get(n), ...addressFrom(n, FP_BYTES)]);
  return { parameters, locals: 0, code: [...both.flat(), ...call(index)] };
}

/** Calls a function with some of the parameters, and then with others. */
function twice(parameters: number, index: number, first: readonly number[], second: readonly number[]): Body {
  return {
    parameters,
    locals: 0,
    code: [...first.flatMap(get), ...call(index), ...second.flatMap(get), ...call(index)],
  };
}

/**
 * Montgomery's reduction of a product, column by column. `product` returns the code that adds a column of the product to the
 * top of the stack. Uses the locals `q` to `q + LIMBS`, and writes the limbs to `out` onwards. Those may be the limbs of a
 * factor, because a factor's limb i is not read any more after the column LIMBS + i.
 */
function reducedProduct(product: (column: number) => Code, q: number, out: number): Code {
  const sum = q + LIMBS;
  const code: number[] = [...constant(0)];
  for (let column = 0; column < 2 * LIMBS - 1; column += 1) {
    code.push(...product(column));
    for (const [i, j] of columnPairs(column)) {
      if (i < column) code.push(...get(q + i), ...constant(P[j] ?? 0), ...MUL, ...ADD);
    }
    code.push(...tee(sum));
    if (column < LIMBS) {
      // The multiple of p that makes this column divisible by 2^28.
      code.push(...constant(MINUS_INVERSE_OF_P), ...MUL, ...lowLimb, ...tee(q + column));
      code.push(...constant(P[0] ?? 0), ...MUL, ...get(sum), ...ADD, ...carry);
    } else {
      code.push(...lowLimb, ...set(out + column - LIMBS), ...get(sum), ...carry);
    }
  }
  // The last column has no products, only what is added to the result.
  code.push(...product(2 * LIMBS - 1), ...set(out + LIMBS - 1));
  return code;
}

function products(column: number, x: number, y: number, addOrSub: Code): Code {
  return columnPairs(column).flatMap(([i, j]) => [...get(x + i), ...get(y + j), ...MUL, ...addOrSub]);
}

/** Adds p·R, and so p to the result, because a difference of products may be negative, though not below -p. */
function plusP(column: number): Code {
  return column < LIMBS ? [] : [...constant(P[column - LIMBS] ?? 0), ...ADD];
}

/** a + b, or a - b + 4p, minus the multiple of p that the top limbs tell. */
function sumBody(addOrSub: Code, coefficients: 1 | 2): Body {
  const multiple = FIRST_LOCAL;
  const sum = FIRST_LOCAL + 1;
  const lift = addOrSub === SUB ? 4 : 0;
  const top = LIMBS - 1;
  const limb = (index: number, base: number): Code => [
    ...[...get(1), ...load(base + LIMB_BYTES * index)],
    ...[...get(2), ...load(base + LIMB_BYTES * index), ...addOrSub],
  ];
  return {
    parameters: 3,
    locals: 2,
    code: Array.from({ length: coefficients }, (_, n) => n * FP_BYTES).flatMap((base) => [
      ...constant(lift),
      ...[...limb(top, base), ...constant(lift * (P[top] ?? 0) - 1), ...ADD],
      ...[...constant(QUOTIENT_FACTOR), ...MUL, ...constant(QUOTIENT_SHIFT), ...SHIFT_RIGHT],
      ...[...SUB, ...set(multiple), ...constant(0)],
      ...indices.flatMap((index) => [
        ...[...limb(index, base), ...ADD, ...get(multiple), ...constant(P[index] ?? 0), ...MUL, ...ADD, ...tee(sum)],
        // The top limb has no carry: the value is small enough for it.
        ...(index === top ? [] : [...carry, ...get(0), ...get(sum), ...lowLimb, ...store(base + LIMB_BYTES * index)]),
      ]),
      ...[DROP, ...get(0), ...get(sum), ...store(base + LIMB_BYTES * top)],
    ]),
  };
}

function loadLimbs(from: number, into: number): Code {
  return indices.flatMap((i) => [...get(from), ...load(LIMB_BYTES * i), ...set(into + i)]);
}

function storeLimbs(to: number, from: number): Code {
  return indices.flatMap((i) => [...get(to), ...get(from + i), ...store(LIMB_BYTES * i)]);
}
