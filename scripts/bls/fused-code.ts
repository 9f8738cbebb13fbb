import { FIELD_MEMORY_PAGES } from '../../src/bls/field/field-module.ts';
import { LIMB_BYTES, LIMBS } from '../../src/bls/field/fused-limbs.ts';
import { type Limbs, loadPair, loadSame, mapLimbs, reducedLimbs, reducedSum, storePair } from './fused-reduction.ts';
import {
  ADD,
  BRANCH_IF,
  Constants,
  END,
  LOOP,
  loadFirst,
  loadVector,
  MULTIPLY_ADD,
  SUB,
  SWAP,
  storeVector,
  VECTOR_BYTES,
  VectorBody,
  XOR,
} from './vector-assembly.ts';
import { address, addressFrom, assemble, type Code, call, get, set, tee, vector } from './wasm-assembly.ts';

/** The code of `fused-field.ts`, which is assembled by `npm run generate` into `gen/fused.ts`. */

const ELEMENT_BYTES = LIMBS * LIMB_BYTES;

/** The functions of two elements each: results first, as addresses. */
function mulPairBody(body: VectorBody): void {
  const [out0, out1, a0, b0, a1, b1] = [0, 1, 2, 3, 4, 5];
  const x = loadPair(body, a0, a1);
  reducedSum(body, [{ x, y: loadPair(body, b0, b1) }], x);
  storePair(body, out0, out1, x);
}

function squarePairBody(body: VectorBody): void {
  const [out0, out1, a0, a1, times] = [0, 1, 2, 3, 4];
  const x = loadPair(body, a0, a1);
  body.emit(LOOP);
  reducedSum(body, [{ x, y: x, doubled: mapLimbs(body, x, (i) => [...get(x + i), ...ADD]) }], x);
  const [I32_CONST_1, I32_SUB] = [[0x41, 1], [0x6b]];
  body.emit(get(times), I32_CONST_1, I32_SUB, tee(times), [BRANCH_IF, 0, END]);
  storePair(body, out0, out1, x);
}

/** @param isLoose the limbs of the results are up to twice as large, see `field-module.ts` */
const sumPairBody =
  (addOrSub: Code, isLoose = false) =>
  (body: VectorBody): void => {
    const [out0, out1, a0, b0, a1, b1] = [0, 1, 2, 3, 4, 5];
    const [x, y] = [loadPair(body, a0, a1), loadPair(body, b0, b1)];
    const sums = mapLimbs(body, x, (i) => [...get(y + i), ...addOrSub]);
    storePair(body, out0, out1, isLoose ? sums : reducedLimbs(body, sums));
  };

/** a·b = (a0·b0 - a1·b1) + (a0·b1 + a1·b0)·i. */
function mulParts2Body(body: VectorBody): void {
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
function squareParts2Body(body: VectorBody): void {
  const [out0, out1, a0, a1] = [0, 1, 2, 3];
  const other = loadPair(body, a1, a0);
  const x = mapLimbs(body, loadSame(body, a0), (i) => [...get(other + i), ...ADD]); // a0 + a1, 2·a0
  const plusMinus = negatedFirst(body, loadSame(body, a1));
  const y = mapLimbs(body, plusMinus, (i) => [...get(a0), ...loadFirst(LIMB_BYTES * i), ...ADD]); // a0 - a1, a1
  reducedSum(body, [{ x, y }], x);
  storePair(body, out0, out1, x);
}

function negatedFirst(body: VectorBody, limbs: Limbs): Limbs {
  const sign = body.local();
  body.emit(vector(0x0c, 0, 0, 0, 0, 0, 0, 0, 0x80, 0, 0, 0, 0, 0, 0, 0, 0), set(sign));
  return mapLimbs(body, limbs, () => [...get(sign), ...XOR]);
}

const PAIR_BODIES = {
  mulPair: { parameters: 6, write: mulPairBody },
  squarePair: { parameters: 5, write: squarePairBody },
  addPair: { parameters: 6, write: sumPairBody(ADD) },
  subPair: { parameters: 6, write: sumPairBody(SUB) },
  addPairLoose: { parameters: 6, write: sumPairBody(ADD, true) },
  subPairLoose: { parameters: 6, write: sumPairBody(SUB, true) },
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
  return addressFrom(parameter, ELEMENT_BYTES);
}

export function assembleFusedField(): Uint8Array<ArrayBuffer> {
  const constants = new Constants();
  const names = Object.keys(PAIR_BODIES);
  const pairs = Object.entries(PAIR_BODIES).map(([name, { parameters, write }]) => {
    const body = new VectorBody(parameters, constants);
    write(body);
    return { name, parameters, locals: 0, vectors: body.vectors, code: body.code };
  });
  const calls = Object.entries(CALLS).map(([name, { parameters, of, arguments: given }]) => ({
    name,
    parameters,
    locals: 0,
    code: [...given, ...call(names.indexOf(of))],
  }));
  return assemble([...pairs, ...calls], { memoryPages: FIELD_MEMORY_PAGES, data: constants.bytes() });
}

/** A function `test` that squares the first vector of the memory, and adds the second. */
export function assembleFusionTest(): Uint8Array<ArrayBuffer> {
  const test = [...address(0), ...address(0), ...loadVector(0), ...address(0), ...loadVector(0)];
  const code = [...test, ...address(0), ...loadVector(VECTOR_BYTES), ...MULTIPLY_ADD, ...storeVector(0)];
  return assemble([{ name: 'test', parameters: 0, locals: 0, code }], { memoryPages: 1 });
}
