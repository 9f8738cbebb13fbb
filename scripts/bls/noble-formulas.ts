import { blsBasic } from '@noble/curves/abstract/bls.js';
import { bls12_381 } from '@noble/curves/bls12-381.js';
import type { Formula } from './compile-formulas.ts';
import { FormulaRecorder, type Value } from './formula-recorder.ts';

/**
 * The formulas of @noble/curves for pairings, as functions on the memory of `field.ts`. There are no formulas here: noble's own code
 * runs once over a field that notes what is asked of it, and what it noted is compiled.
 */

const noble = bls12_381.fields;
const recorder = new FormulaRecorder();

interface Fp2 {
  readonly c0: Value;
  readonly c1: Value;
}
interface Fp6 {
  readonly c0: Fp2;
  readonly c1: Fp2;
  readonly c2: Fp2;
}
interface Fp12 {
  readonly c0: Fp6;
  readonly c1: Fp6;
}
interface Line extends ReadonlyArray<Fp2> {}
interface Point {
  readonly Rx: Fp2;
  readonly Ry: Fp2;
  readonly Rz: Fp2;
}

/** What is called of noble's towers. Their classes are not exported by name, but their constructors take a field. */
interface Tower2 {
  readonly ONE: Fp2;
  readonly NONRESIDUE: Fp2;
  mulByNonresidue(a: Fp2): Fp2;
}
interface Tower12 {
  mul(a: Fp12, b: Fp12): Fp12;
  sqr(a: Fp12): Fp12;
  inv(a: Fp12): Fp12;
  conjugate(a: Fp12): Fp12;
  frobeniusMap(a: Fp12, power: number): Fp12;
  _cyclotomicSquare(a: Fp12): Fp12;
}
type TowerClass<Base, Tower, Options = unknown> = new (base: Base, options: Options) => Tower;

const NobleTower2 = noble.Fp2.constructor as TowerClass<FormulaRecorder, Tower2>;
const NobleTower6 = noble.Fp6.constructor as TowerClass<Tower2, object>;
const NobleTower12 = noble.Fp12.constructor as TowerClass<object, Tower12>;

/** noble's extension, but for two methods that work on numbers instead of on elements of a field. */
class RecordedTower2 extends NobleTower2 {
  /** 1/(a + b·i) = (a - b·i)/(a² + b²). */
  inv({ c0, c1 }: Fp2): Fp2 {
    const factor = recorder.inv(recorder.add(recorder.sqr(c0), recorder.sqr(c1)));
    return { c0: recorder.mul(c0, factor), c1: recorder.mul(recorder.neg(c1), factor) };
  }

  /** Only of constants. Exponents matter modulo the order of the group. */
  pow({ c0, c1 }: Fp2, power: bigint): Fp2 {
    if (c0.constant === undefined || c1.constant === undefined) throw new Error('powers of constants only');
    const result = noble.Fp2.pow({ c0: c0.constant, c1: c1.constant }, power % (noble.Fp2.ORDER - 1n));
    return { c0: recorder.constant(result.c0), c1: recorder.constant(result.c1) };
  }
}

const tower2: Tower2 = new RecordedTower2(recorder, {
  FP2_NONRESIDUE: [recorder.ONE, recorder.ONE],
  // The curve is y² = x³ + 4(1 + i).
  Fp2mulByB: ({ c0, c1 }: Fp2) => tower2.mulByNonresidue({ c0: recorder.mul(c0, 4n), c1: recorder.mul(c1, 4n) }),
});
const tower6 = new NobleTower6(tower2, undefined);
const tower12 = new NobleTower12(tower6, {});

const fp2 = (): Fp2 => ({ c0: recorder.input(), c1: recorder.input() });
const fp6 = (): Fp6 => ({ c0: fp2(), c1: fp2(), c2: fp2() });
const fp12 = (): Fp12 => ({ c0: fp6(), c1: fp6() });
const parts2 = ({ c0, c1 }: Fp2): Value[] => [c0, c1];
const parts6 = ({ c0, c1, c2 }: Fp6): Value[] => [c0, c1, c2].flatMap(parts2);
const parts12 = ({ c0, c1 }: Fp12): Value[] => [c0, c1].flatMap(parts6);
const partsOfPoint = ({ Rx, Ry, Rz }: Point): Value[] => [Rx, Ry, Rz].flatMap(parts2);

function unary(formula: (a: Fp12) => Fp12): Formula {
  const a = fp12();
  return { recorder, results: [parts12(formula(a))], inputs: [parts12(a)] };
}

function product(): Formula {
  const [a, b] = [fp12(), fp12()];
  return { recorder, results: [parts12(tower12.mul(a, b))], inputs: [parts12(a), parts12(b)] };
}

/**
 * noble's pairing over the recorder.
 *
 * @param one what it takes for 1 in the fields above: an input here makes its first step a step from anywhere
 */
function recordedPairing(one: { readonly fp2?: Fp2; readonly fp12?: Fp12 }, params: object): RecordedPairing {
  let isMade = false;
  const Fp2 = Object.create(tower2, { ONE: { get: () => (isMade && one.fp2) || tower2.ONE } });
  const Fp12 = Object.create(tower12, { ONE: { value: one.fp12 } });
  const fields = { Fp: recorder, Fr: noble.Fr, Fp2, Fp6: tower6, Fp12 };
  const pairing = blsBasic(
    ...([
      fields,
      RecordedPoint,
      RecordedPoint,
      { xNegative: false, twistType: 'multiplicative', ...params },
    ] as never as Parameters<typeof blsBasic>),
  );
  isMade = true;
  return { millerLoop: pairing.millerLoopBatch, linesOf: pairing.utils.calcPairingPrecomputes } as never;
}
interface RecordedPairing {
  readonly millerLoop: (pairs: readonly (readonly [lines: readonly (readonly Line[])[], x: Value, y: Value])[]) => Fp12;
  readonly linesOf: (point: RecordedPoint) => readonly (readonly Line[])[];
}

class RecordedPoint {
  /** noble prepares the base for multiplications, of which there are none here. */
  static readonly BASE = { precompute: () => undefined };
  readonly x: Fp2;
  readonly y: Fp2;
  constructor(x: Fp2, y: Fp2) {
    this.x = x;
    this.y = y;
  }

  toAffine(): { readonly x: Fp2; readonly y: Fp2 } {
    return { x: this.x, y: this.y };
  }
}

/** f · (the line at a point of G1). */
function lineProduct(): Formula {
  const [f, line, x, y] = [fp12(), [fp2(), fp2(), fp2()], recorder.input(), recorder.input()];
  const { millerLoop } = recordedPairing({ fp12: f }, { ateLoopSize: 2n });
  return {
    recorder,
    results: [parts12(millerLoop([[[[line]], x, y]]))],
    inputs: [parts12(f), line.flatMap(parts2), [x, y]],
  };
}

/** The double of a point of G2 in homogeneous coordinates, and the tangent. */
function doubling(): Formula {
  const [x, y, z] = [fp2(), fp2(), fp2()];
  let doubled: Point | undefined;
  const { linesOf } = recordedPairing(
    { fp2: z },
    // One step of the loop, and that is a doubling.
    {
      ateLoopSize: 2n,
      postPrecompute(Rx: Fp2, Ry: Fp2, Rz: Fp2) {
        doubled = { Rx, Ry, Rz };
      },
    },
  );
  const [line] = linesOf(new RecordedPoint(x, y))[0] ?? [];
  if (line === undefined || doubled === undefined) throw new Error('no doubling was recorded');
  return { recorder, results: [partsOfPoint(doubled), line.flatMap(parts2)], inputs: [[x, y, z].flatMap(parts2)] };
}

/** The sum of a point of G2 in homogeneous coordinates and one in affine coordinates, and the line through both. */
function addition(): Formula {
  const [x, y, z, x2, y2] = [fp2(), fp2(), fp2(), fp2(), fp2()];
  let sum: Point | undefined;
  const { linesOf } = recordedPairing(
    {},
    {
      ateLoopSize: 2n,
      postPrecompute(...[, , , , , add]: [Fp2, Fp2, Fp2, Fp2, Fp2, (...coordinates: Fp2[]) => Point]) {
        sum = add(x, y, z, x2, y2);
      },
    },
  );
  const [, line] = linesOf(new RecordedPoint(fp2(), fp2()))[0] ?? [];
  if (line === undefined || sum === undefined) throw new Error('no addition was recorded');
  return {
    recorder,
    results: [partsOfPoint(sum), line.flatMap(parts2)],
    inputs: [[x, y, z].flatMap(parts2), [x2, y2].flatMap(parts2)],
  };
}

/** Elements of the twelfth-degree extension are twelve coefficients, in noble's order. */
export function recordPairing() {
  return {
    mul12: product(),
    square12: unary((a) => tower12.sqr(a)),
    invert12: unary((a) => tower12.inv(a)),
    conjugate12: unary((a) => tower12.conjugate(a)),
    frobenius12: unary((a) => tower12.frobeniusMap(a, 1)),
    frobeniusSquared12: unary((a) => tower12.frobeniusMap(a, 2)),
    frobeniusCubed12: unary((a) => tower12.frobeniusMap(a, 3)),
    cyclotomicSquare12: unary((a) => tower12._cyclotomicSquare(a)),
    mulByLine: lineProduct(),
    doublingStep: doubling(),
    additionStep: addition(),
  };
}
