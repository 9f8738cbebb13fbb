/**
 * Arithmetic of the base field of BLS12-381 and of its quadratic extension as a WebAssembly module, which is assembled here
 * when this file is loaded. Products of BigInts take four times as long, mostly for reductions and allocations that limbs in
 * i64 do not need.
 *
 * An element is 14 limbs of 28 bits, little-endian, each in 4 bytes, in Montgomery form with R = 2^392. Products of two
 * limbs have 56 bits, so a column of the schoolbook product and of the reduction (at most 42 of them) fits into one signed
 * i64 without carries in between. Values are below 3p, not fully reduced: R / p > 2^11 leaves room for that in a product, and
 * sums are reduced to below 2p by a quotient estimated from their top limbs.
 *
 * Public keys and signatures are not secret, so nothing here needs to run in constant time.
 */
export interface FieldModule {
  readonly memory: { readonly buffer: ArrayBuffer };
  /** Arguments are addresses; `out` may be an input too. */
  readonly mul: (out: number, a: number, b: number) => void;
  /** Squares `times` (at least 1) times over. */
  readonly square: (out: number, a: number, times: number) => void;
  readonly add: (out: number, a: number, b: number) => void;
  readonly sub: (out: number, a: number, b: number) => void;
  /** The same for a + b·i, with i² = -1: the two coefficients stand one after the other. */
  readonly mul2: (out: number, a: number, b: number) => void;
  readonly square2: (out: number, a: number) => void;
  readonly add2: (out: number, a: number, b: number) => void;
  readonly sub2: (out: number, a: number, b: number) => void;
}

export const FIELD_ORDER =
  0x1a0111ea397fe69a4b1ba7b6434bacd764774b84f38512bf6730d2a0f6b0f6241eabfffeb153ffffb9feffffffffaaabn;

export const LIMB_BITS = 28;
export const LIMBS = 14;
const LIMB_MASK = 2 ** LIMB_BITS - 1;
const LIMB_BYTES = 4;
export const FP_BYTES = LIMBS * LIMB_BYTES;

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

export function toLimbs(value: bigint): number[] {
  return Array.from({ length: LIMBS }, (_, index) => Number((value >> BigInt(LIMB_BITS * index)) & BigInt(LIMB_MASK)));
}

/** The part of this global that is used here: Node's types do not declare it, as those of browsers do. */
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array<ArrayBuffer>) => object;
  readonly Instance: new (module: object) => { readonly exports: object };
};

/** Compiles the module and starts an instance, with memory of its own of one page (64 KiB). */
export function createFieldModule(): FieldModule {
  const instance = new WebAssembly.Instance(new WebAssembly.Module(assemble()));
  // The exports are what `assemble` has just written.
  return instance.exports as unknown as FieldModule;
}

type Code = readonly number[];
interface Body {
  readonly locals: number;
  readonly code: Code;
}

/** Opcodes of the WebAssembly core specification, section 5.4. */
const get = (local: number): Code => [0x20, ...unsigned(local)];
const set = (local: number): Code => [0x21, ...unsigned(local)];
const tee = (local: number): Code => [0x22, ...unsigned(local)];
const constant = (value: number): Code => [0x42, ...signed(BigInt(value))];
const load = (offset: number): Code => [0x35, 2, ...unsigned(offset)];
const store = (offset: number): Code => [0x3e, 2, ...unsigned(offset)];
const ADD = [0x7c];
const SUB = [0x7d];
const MUL = [0x7e];
const AND = [0x83];
const SHIFT_RIGHT = [0x87];
const END = 0x0b;

const lowLimb = [...constant(LIMB_MASK), ...AND];
const carry = [...constant(LIMB_BITS), ...SHIFT_RIGHT];
const indices = Array.from({ length: LIMBS }, (_, index) => index);
const columnPairs = (column: number): (readonly [number, number])[] =>
  indices.flatMap((i) => (column - i >= 0 && column - i < LIMBS ? [[i, column - i] as const] : []));

/** The three parameters are locals 0 to 2. */
const FIRST_LOCAL = 3;

function assemble(): Uint8Array<ArrayBuffer> {
  const bodies = { mul: mulBody(), square: squareBody(), add: sumBody(ADD, 1), sub: sumBody(SUB, 1) };
  const bodies2 = { mul2: mul2Body(), square2: square2Body(), add2: sumBody(ADD, 2), sub2: sumBody(SUB, 2) };
  const functions = Object.entries({ ...bodies, ...bodies2 });
  const I32 = 0x7f;
  const typeOf = (name: string): number => (name === 'square2' ? 1 : 0);
  return new Uint8Array([
    ...[0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, [
      [0x60, 3, I32, I32, I32, 0],
      [0x60, 2, I32, I32, 0],
    ]),
    ...section(
      3,
      functions.map(([name]) => [typeOf(name)]),
    ),
    ...section(5, [[0, 1]]),
    ...section(7, [
      [...text('memory'), 2, 0],
      ...functions.map(([name], index) => [...text(name), 0, ...unsigned(index)]),
    ]),
    ...section(
      10,
      functions.map(([name, { locals, code }]) => {
        // square2 has one parameter less. With one more local, all other locals keep their numbers.
        const body = [1, ...unsigned(locals + typeOf(name)), 0x7e, ...code, END];
        return [...unsigned(body.length), ...body];
      }),
    ),
  ]);
}

function mulBody(): Body {
  const [x, y, q] = [FIRST_LOCAL, FIRST_LOCAL + LIMBS, FIRST_LOCAL + 2 * LIMBS];
  return {
    locals: 3 * LIMBS + 1,
    code: [
      ...loadLimbs(1, 0, x),
      ...loadLimbs(2, 0, y),
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
    locals: 3 * LIMBS + 1,
    code: [
      ...loadLimbs(1, 0, x),
      ...[0x03, 0x40], // loop
      ...indices.flatMap((i) => [...get(x + i), ...get(x + i), ...ADD, ...set(doubled + i)]),
      ...reducedProduct(
        (column) =>
          columnPairs(column).flatMap(([i, j]) =>
            i > j ? [] : [...get(i < j ? doubled + i : x + i), ...get(x + j), ...MUL, ...ADD],
          ),
        q,
        x,
      ),
      ...[...get(2), ...I32_CONST_1, ...I32_SUB, ...tee(2), 0x0d, 0, END], // again while any are left
      ...storeLimbs(0, x),
    ],
  };
}

/** a·b = (a0·b0 - a1·b1) + (a0·b1 + a1·b0)·i, with four products but only two reductions. */
function mul2Body(): Body {
  const [a0, a1, b0, b1, q, out] = [0, 1, 2, 3, 4, 5].map((n) => FIRST_LOCAL + n * LIMBS + (n > 4 ? 1 : 0)) as Six;
  return {
    locals: 6 * LIMBS + 1,
    code: [
      ...loadLimbs(1, 0, a0),
      ...loadLimbs(1, FP_BYTES, a1),
      ...loadLimbs(2, 0, b0),
      ...loadLimbs(2, FP_BYTES, b1),
      ...reducedProduct(
        (column) => [...products(column, a0, b0, ADD), ...products(column, a1, b1, SUB), ...plusP(column)],
        q,
        out,
      ),
      ...storeLimbs(0, out),
      ...reducedProduct((column) => [...products(column, a0, b1, ADD), ...products(column, a1, b0, ADD)], q, out),
      ...storeLimbs(0, out, FP_BYTES),
    ],
  };
}

/** a² = (a0 + a1)(a0 - a1) + (2·a0·a1)·i. */
function square2Body(): Body {
  const [a0, a1, sum, difference, q, out] = [0, 1, 2, 3, 4, 5].map(
    (n) => FIRST_LOCAL + n * LIMBS + (n > 4 ? 1 : 0),
  ) as Six;
  return {
    locals: 6 * LIMBS + 1,
    code: [
      ...loadLimbs(1, 0, a0),
      ...loadLimbs(1, FP_BYTES, a1),
      ...indices.flatMap((i) => [
        ...[...get(a0 + i), ...get(a1 + i), ...ADD, ...set(sum + i)],
        ...[...get(a0 + i), ...get(a1 + i), ...SUB, ...set(difference + i)],
        ...[...get(a0 + i), ...get(a0 + i), ...ADD, ...set(a0 + i)],
      ]),
      ...reducedProduct((column) => [...products(column, sum, difference, ADD), ...plusP(column)], q, out),
      ...storeLimbs(0, out),
      ...reducedProduct((column) => products(column, a0, a1, ADD), q, out),
      ...storeLimbs(0, out, FP_BYTES),
    ],
  };
}
type Six = [number, number, number, number, number, number];

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
      ...[0x1a, ...get(0), ...get(sum), ...store(base + LIMB_BYTES * top)], // drop
    ]),
  };
}

function loadLimbs(address: number, offset: number, into: number): Code {
  return indices.flatMap((i) => [...get(address), ...load(offset + LIMB_BYTES * i), ...set(into + i)]);
}

function storeLimbs(address: number, from: number, offset = 0): Code {
  return indices.flatMap((i) => [...get(address), ...get(from + i), ...store(offset + LIMB_BYTES * i)]);
}

function section(id: number, items: readonly Code[]): Code {
  const content = [...unsigned(items.length), ...items.flat()];
  return [id, ...unsigned(content.length), ...content];
}

function text(name: string): Code {
  return [...unsigned(name.length), ...new TextEncoder().encode(name)];
}

/** LEB128. */
function unsigned(value: number): Code {
  const bytes: number[] = [];
  for (let rest = value; ; rest >>>= 7) {
    if (rest < 0x80) return [...bytes, rest];
    bytes.push((rest & 0x7f) | 0x80);
  }
}

function signed(value: bigint): Code {
  const bytes: number[] = [];
  for (let rest = value; ; rest >>= 7n) {
    const low = Number(rest & 0x7fn);
    if (rest >= -64n && rest < 64n) return [...bytes, low];
    bytes.push(low | 0x80);
  }
}
