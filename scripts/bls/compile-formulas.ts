import type { AssembledFormulas, OperationName } from '../../src/bls/field/run-formulas.ts';
import type { FormulaRecorder, Value } from './formula-recorder.ts';
import { address, addressFrom, assemble, type Code, call } from './wasm-assembly.ts';

/**
 * A function to be made of a formula. Its parameters are addresses: first those of results, then those of inputs, with which results must
 * not overlap. At each stand several values, one after the other.
 */
export interface Formula {
  readonly recorder: FormulaRecorder;
  readonly results: readonly (readonly Value[])[];
  readonly inputs: readonly (readonly Value[])[];
}

/** The functions of the field that formulas are made of, with the number of their parameters. */
const OPERATIONS = {
  add: 3,
  sub: 3,
  mul: 3,
  square: 3,
  invert: 2,
  mulParts2: 6,
  squareParts2: 4,
  addPair: 6,
  subPair: 6,
  addPairLoose: 6,
  subPairLoose: 6,
  mulPair: 6,
  squarePair: 5,
} as const satisfies Readonly<Record<OperationName, number>>;
const OPERATION_NAMES = Object.keys(OPERATIONS) as readonly OperationName[];

/** Where formulas will run. */
export interface FormulaPlace {
  /** Bytes of an element of the base field. */
  readonly elementBytes: number;
  /** Where their memory begins, and how much there is at most. */
  readonly address: number;
  readonly memoryBytes: number;
}

/**
 * Makes WebAssembly of formulas, one function of each, on the memory of `field.ts`; `run-formulas.ts` starts it. What they compute is what was recorded: only where the
 * two coefficients of a complex product or square are computed, in the way that spares a product, the field's function
 * takes their place that spares a reduction.
 *
 * @throws {RangeError} if they need more memory than there is
 */
export function compileFormulas(
  formulas: Readonly<Record<string, Formula>>,
  { elementBytes, address, memoryBytes }: FormulaPlace,
): AssembledFormulas {
  const compiled = Object.entries(formulas).map(([name, formula]) => ({
    name,
    formula: compile(formula, elementBytes),
  }));
  const constants: bigint[] = [];
  const constantsAt = address + Math.max(...compiled.map(({ formula }) => formula.scratchBytes));
  const constantAt = (value: bigint): number => {
    if (!constants.includes(value)) constants.push(value);
    return constantsAt + constants.indexOf(value) * elementBytes;
  };
  const functions = compiled.map(({ name, formula: { parameters, emit } }) => ({
    name,
    parameters,
    locals: 0,
    code: emit(address, constantAt),
  }));
  if (constantsAt + constants.length * elementBytes > address + memoryBytes) {
    throw new RangeError('formulas need more memory than there is for them');
  }
  return { wasm: assemble(functions, { imports: OPERATIONS }), constants, constantsAt };
}

/** One call of a function of the field. */
interface Step {
  readonly operation: OperationName;
  readonly results: readonly Value[];
  readonly operands: readonly Value[];
}

/** Where a value stands: beyond a parameter, or at a fixed address, or beyond the scratch memory. */
type Place =
  | { readonly parameter: number; readonly offset: number }
  | { readonly fixed: number }
  | { readonly scratch: number };

interface CompiledFormula {
  readonly parameters: number;
  readonly scratchBytes: number;
  readonly emit: (scratch: number, constantAt: (value: bigint) => number) => Code;
}

function compile(formula: Formula, elementBytes: number): CompiledFormula {
  const { inputs, results, recorder } = formula;
  const steps = stepsOf(formula);
  const places = new Map<Value, Place>();
  for (const [value, place] of placesOf(inputs, results.length, elementBytes)) places.set(value, place);
  const copies: (readonly [to: Place, from: Value])[] = [];
  for (const [value, place] of placesOf(results, 0, elementBytes)) {
    if (places.has(value) || value.constant !== undefined) copies.push([place, value]);
    else places.set(value, place);
  }
  const scratchBytes = placeScratch(steps, places, elementBytes);
  return {
    parameters: results.length + inputs.length,
    scratchBytes,
    emit(scratch, constantAt) {
      const placeOf = (value: Value): Place => {
        if (value.constant !== undefined) return { fixed: constantAt(value.constant) };
        const place = places.get(value);
        if (place === undefined) throw new Error('a formula uses an input that it does not name');
        return place;
      };
      const addressOf = (place: Place): Code => {
        if ('fixed' in place) return address(place.fixed);
        if ('scratch' in place) return address(scratch + place.scratch);
        return addressFrom(place.parameter, place.offset);
      };
      const code = steps.flatMap(({ operation, results: outs, operands }) => [
        ...[...outs, ...operands].flatMap((value) => addressOf(placeOf(value))),
        ...(operation === 'square' || operation === 'squarePair' ? address(1) : []),
        ...call(OPERATION_NAMES.indexOf(operation)),
      ]);
      const copying = copies.flatMap(([to, from]) => [
        ...addressOf(to),
        ...addressOf(placeOf(from)),
        ...addressOf(placeOf(recorder.ZERO)),
        ...call(OPERATION_NAMES.indexOf('add')),
      ]);
      return [...code, ...copying];
    },
  };
}

function placesOf(
  values: readonly (readonly Value[])[],
  firstParameter: number,
  elementBytes: number,
): (readonly [Value, Place])[] {
  return values.flatMap((at, index) =>
    at.map((value, n) => [value, { parameter: firstParameter + index, offset: n * elementBytes }] as const),
  );
}

/** Gives every value without a place one in the scratch memory, where it stays until it was last used. @returns bytes needed */
function placeScratch(steps: readonly Step[], places: Map<Value, Place>, elementBytes: number): number {
  const lastUses = new Map<Value, number>();
  for (const [at, { operands }] of steps.entries()) for (const value of operands) lastUses.set(value, at);
  const free: number[] = [];
  let bytes = 0;
  for (const [at, { results, operands }] of steps.entries()) {
    for (const value of results) {
      if (places.has(value)) continue;
      const from = free.pop() ?? bytes;
      bytes = Math.max(bytes, from + elementBytes);
      places.set(value, { scratch: from });
      // One of two coefficients may be of no use.
      if (!lastUses.has(value)) free.push(from);
    }
    for (const value of new Set(operands)) {
      const place = places.get(value);
      if (lastUses.get(value) === at && place !== undefined && 'scratch' in place) free.push(place.scratch);
    }
  }
  return bytes;
}

/** The steps that the results need, in the order in which the formula asked for them. */
function stepsOf({ recorder, results: parts }: Formula): readonly Step[] {
  const results = parts.flat();
  const complex = complexSteps(
    recorder,
    valuesBelow(results, ({ operands }) => operands),
  );
  const stepOf = (value: Value): Step => complex.get(value) ?? simpleStep(value);
  const values = valuesBelow(results, (value) => stepOf(value).operands);
  const all = new Set([...values].map(stepOf));
  return withLooseSums(inPairs([...all].toSorted((a, b) => startOf(a) - startOf(b))), new Set(results));
}

const PAIRS: Partial<Record<OperationName, OperationName>> = {
  add: 'addPair',
  sub: 'subPair',
  mul: 'mulPair',
  square: 'squarePair',
};

/**
 * Two steps of one kind become one where neither needs the other: the field computes two elements in little more time than one. The second
 * is done earlier for it, as soon as all is there that it needs.
 */
function inPairs(steps: readonly Step[]): readonly Step[] {
  const isDone = new Set<Value>();
  const waiting = new Set(steps);
  const isReady = ({ operands }: Step): boolean =>
    operands.every((value) => value.operation === 'input' || value.operation === 'constant' || isDone.has(value));
  const paired: Step[] = [];
  for (const step of steps) {
    if (!waiting.delete(step)) continue;
    const pair = PAIRS[step.operation];
    const partner = pair && waiting.values().find((other) => other.operation === step.operation && isReady(other));
    if (pair === undefined || partner === undefined) {
      paired.push(step);
    } else {
      waiting.delete(partner);
      paired.push({
        operation: pair,
        results: [...step.results, ...partner.results],
        operands: [...step.operands, ...partner.operands],
      });
    }
    for (const value of paired.at(-1)?.results ?? []) isDone.add(value);
  }
  return paired;
}

const LOOSE: Partial<Record<OperationName, OperationName>> = { addPair: 'addPairLoose', subPair: 'subPairLoose' };
/** They take operands that are loose. */
const TAKE_LOOSE: readonly OperationName[] = ['mulPair', 'mulParts2', 'addPair', 'subPair'];

/** Sums are left loose where only those need them that can take it: mostly factors. */
function withLooseSums(steps: readonly Step[], results: ReadonlySet<Value>): readonly Step[] {
  const mustBeTight = new Set(results);
  for (const { operation, operands } of steps) {
    if (!TAKE_LOOSE.includes(operation)) for (const value of operands) mustBeTight.add(value);
  }
  const isLoose = new Set<Value>();
  return steps.map((step) => {
    const loose = LOOSE[step.operation];
    const isPossible =
      !step.results.some((value) => mustBeTight.has(value)) && !step.operands.some((value) => isLoose.has(value));
    if (loose === undefined || !isPossible) return step;
    for (const value of step.results) isLoose.add(value);
    return { ...step, operation: loose };
  });
}

/** The results and what they are computed from, without inputs and constants. */
function valuesBelow(results: readonly Value[], operandsOf: (value: Value) => readonly Value[]): ReadonlySet<Value> {
  const values = new Set<Value>();
  const open = [...results];
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    if (values.has(value) || value.operation === 'input' || value.operation === 'constant') continue;
    values.add(value);
    open.push(...operandsOf(value));
  }
  return values;
}

/** The operands of a complex product are there before either of its coefficients. */
function startOf({ results }: Step): number {
  return Math.min(...results.map(({ id }) => id));
}

function simpleStep(value: Value): Step {
  const { operation, operands } = value;
  if (operation === 'input' || operation === 'constant') throw new Error(`${operation} takes no step`);
  const [first, second] = operands;
  if (operation === 'mul' && first !== undefined && first === second) {
    return { operation: 'square', results: [value], operands: [first] };
  }
  return { operation, results: [value], operands };
}

/** Complex products and squares of which both coefficients are wanted, by each of the two. */
function complexSteps(recorder: FormulaRecorder, wanted: ReadonlySet<Value>): ReadonlyMap<Value, Step> {
  const steps = new Map<Value, Step>();
  for (const value of wanted) {
    const step = squareStep(recorder, value) ?? productStep(recorder, value);
    if (step?.results.every((result) => wanted.has(result) && !steps.has(result))) {
      for (const result of step.results) steps.set(result, step);
    }
  }
  return steps;
}

/** (a0 + a1)(a0 - a1) and 2·a0 · a1. */
function squareStep(recorder: FormulaRecorder, real: Value): Step | undefined {
  if (real.operation !== 'mul') return undefined;
  const [sum, difference] = real.operands.toSorted((a, b) => a.operation.localeCompare(b.operation));
  if (sum?.operation !== 'add' || difference?.operation !== 'sub') return undefined;
  const [a0, a1] = difference.operands;
  if (a0 === undefined || a1 === undefined || recorder.find('add', a0, a1) !== sum) return undefined;
  const doubled = recorder.find('add', a0, a0);
  const imaginary = doubled && recorder.find('mul', doubled, a1);
  return imaginary && { operation: 'squareParts2', results: [real, imaginary], operands: [a0, a1] };
}

/** a0·b0 - a1·b1 and (a0 + a1)(b0 + b1) - (a0·b0 + a1·b1). */
function productStep(recorder: FormulaRecorder, imaginary: Value): Step | undefined {
  if (imaginary.operation !== 'sub') return undefined;
  const [crossed, sum] = imaginary.operands;
  if (crossed?.operation !== 'mul' || sum?.operation !== 'add') return undefined;
  for (const [x, y] of bothWays(sum.operands)) {
    const real = recorder.find('sub', x, y);
    if (real === undefined || x.operation !== 'mul' || y.operation !== 'mul') continue;
    for (const [a0, b0] of bothWays(x.operands)) {
      for (const [a1, b1] of bothWays(y.operands)) {
        const [a, b] = [recorder.find('add', a0, a1), recorder.find('add', b0, b1)];
        if (a === undefined || b === undefined || recorder.find('mul', a, b) !== crossed) continue;
        return { operation: 'mulParts2', results: [real, imaginary], operands: [a0, a1, b0, b1] };
      }
    }
  }
  return undefined;
}

function bothWays([a, b]: readonly Value[]): readonly (readonly [Value, Value])[] {
  if (a === undefined || b === undefined) return [];
  return [
    [a, b],
    [b, a],
  ];
}
