import { type CompiledFormula, compileFormulas } from './compile-formulas.ts';
import {
  add,
  add2,
  allocate,
  allocateMany,
  copy,
  FP2_BYTES,
  invert,
  invert2,
  isPlainOne,
  isPlainOne2,
  isZero,
  isZero2,
  mul,
  mul2,
  setOne,
  setZero,
  square,
  square2,
  storeWords,
  sub,
  sub2,
} from './field.ts';
import { FP_BYTES } from './field-choice.ts';
import { FormulaRecorder, type Value } from './formula-recorder.ts';

/**
 * Points of y² = x³ + b over the base field or its extension, in Jacobian coordinates (x = X/Z², y = Y/Z³). X, Y and Z stand
 * one after the other at an address; Z = 0 is infinity. The formulas are dbl-2009-l, add-2007-bl and madd-2007-bl of the
 * Explicit-Formulas Database. They depend neither on b nor on the subgroup.
 */
export interface Curve {
  readonly pointBytes: number;
  /** Bytes of one coordinate. */
  readonly width: number;
  readonly isInfinity: (point: number) => boolean;
  readonly setInfinity: (out: number) => void;
  readonly copy: (out: number, point: number) => void;
  readonly double: (out: number, point: number) => void;
  /** `out` may be one of the two; equal, opposite and infinite points are allowed. */
  readonly add: (out: number, a: number, b: number) => void;
  readonly negate: (out: number, point: number) => void;
  readonly areEqual: (a: number, b: number) => boolean;
  /** @param scalar not negative. The time taken depends on it, so it must not be a secret */
  readonly multiply: (out: number, point: number, scalar: bigint) => void;
  /** Makes Z = 1 where the point is not infinity. Adding such a point is cheaper by a third. */
  readonly normalize: (point: number) => void;
  readonly store: (point: number) => Uint32Array;
}

/** Of elements at addresses; so many bytes each. */
interface FieldOperations {
  readonly width: number;
  readonly copy: (out: number, from: number) => void;
  readonly mul: (out: number, a: number, b: number) => void;
  readonly square: (out: number, a: number) => void;
  readonly add: (out: number, a: number, b: number) => void;
  readonly sub: (out: number, a: number, b: number) => void;
  readonly invert: (out: number, a: number) => void;
  readonly isZero: (a: number) => boolean;
  readonly isPlainOne: (a: number) => boolean;
}

/**
 * Doublings of G2 are what subgroups and cofactors take, so they are worth a function of their own: the doubling of {@link createCurve},
 * recorded over elements that stand nowhere, and compiled.
 */
function compileDoubling(): CompiledFormula {
  const recorder = new FormulaRecorder();
  const elements = new Map<number, readonly [Value, Value]>();
  const at = (address: number): readonly [Value, Value] => elements.get(address) ?? [recorder.ZERO, recorder.ZERO];
  const termwise =
    (operation: (a: Value, b: Value) => Value) =>
    (out: number, a: number, b: number): void => {
      const [[a0, a1], [b0, b1]] = [at(a), at(b)];
      elements.set(out, [operation(a0, b0), operation(a1, b1)]);
    };
  const notOfDoubling = (): never => {
    throw new Error('no step of a doubling');
  };
  const { double } = createCurve({
    width: FP2_BYTES,
    copy: (out, from) => elements.set(out, at(from)),
    add: termwise((a, b) => recorder.add(a, b)),
    sub: termwise((a, b) => recorder.sub(a, b)),
    mul(out, a, b) {
      const [[a0, a1], [b0, b1]] = [at(a), at(b)];
      const [real, imaginary] = [recorder.mul(a0, b0), recorder.mul(a1, b1)];
      const crossed = recorder.mul(recorder.add(a0, a1), recorder.add(b0, b1));
      elements.set(out, [recorder.sub(real, imaginary), recorder.sub(crossed, recorder.add(real, imaginary))]);
    },
    square(out, a) {
      const [a0, a1] = at(a);
      const real = recorder.mul(recorder.add(a0, a1), recorder.sub(a0, a1));
      elements.set(out, [real, recorder.mul(recorder.add(a0, a0), a1)]);
    },
    invert: notOfDoubling,
    isZero: notOfDoubling,
    isPlainOne: notOfDoubling,
  });
  // Where no memory is.
  const point = -3 * FP2_BYTES;
  const coordinates = [0, 1, 2].map((n) => point + n * FP2_BYTES);
  for (const address of coordinates) elements.set(address, [recorder.input(), recorder.input()]);
  const inputs = coordinates.flatMap((address) => at(address));
  double(point, point);
  return compileFormulas({ double: { recorder, results: [coordinates.flatMap(at)], inputs: [inputs] } }).double;
}

export const g1Curve: Curve = createCurve({
  ...{ width: FP_BYTES, mul, add, sub, invert, isZero, isPlainOne },
  copy: (out, from) => copy(out, from, FP_BYTES),
  square: (out, a) => square(out, a, 1),
});

export const g2Curve: Curve = createCurve({
  ...{ width: FP2_BYTES, mul: mul2, add: add2, sub: sub2, invert: invert2, isZero: isZero2, isPlainOne: isPlainOne2 },
  copy: (out, from) => copy(out, from, FP2_BYTES),
  square: square2,
  compiledDoubling: compileDoubling(),
});

/** @param compiledDoubling the doubling below as one function */
function createCurve(field: FieldOperations & { readonly compiledDoubling?: CompiledFormula }): Curve {
  const { width, compiledDoubling } = field;
  const pointBytes = 3 * width;
  const [A, B, C, D, E, F, G, H] = allocateMany(8, width) as [
    number,
    number,
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const zero = allocate(width);
  const [base, difference, doubled] = allocateMany(3, pointBytes) as [number, number, number];

  const curve: Curve = {
    pointBytes,
    width,
    isInfinity: (point) => field.isZero(point + 2 * width),
    setInfinity: (out) => setZero(out, pointBytes),
    copy: (out, point) => copy(out, point, pointBytes),
    double(out, point) {
      if (compiledDoubling !== undefined) {
        compiledDoubling(doubled, point);
        copy(out, doubled, pointBytes);
        return;
      }
      const [x, y, z] = [point, point + width, point + 2 * width];
      field.square(A, x);
      field.square(B, y);
      field.square(C, B);
      field.add(D, x, B);
      field.square(D, D);
      field.sub(D, D, A);
      field.sub(D, D, C);
      field.add(D, D, D);
      field.add(E, A, A);
      field.add(E, E, A);
      field.square(F, E);
      field.mul(out + 2 * width, y, z);
      field.add(out + 2 * width, out + 2 * width, out + 2 * width);
      field.sub(F, F, D);
      field.sub(F, F, D);
      field.copy(out, F);
      field.sub(D, D, F);
      field.mul(D, D, E);
      field.add(C, C, C);
      field.add(C, C, C);
      field.add(C, C, C);
      field.sub(out + width, D, C);
    },
    add(out, a, b) {
      if (curve.isInfinity(b)) {
        if (out !== a) curve.copy(out, a);
      } else if (curve.isInfinity(a)) {
        if (out !== b) curve.copy(out, b);
      } else if (field.isPlainOne(b + 2 * width)) {
        addNormalized(out, a, b);
      } else {
        addGeneral(out, a, b);
      }
    },
    negate(out, point) {
      if (out !== point) curve.copy(out, point);
      field.sub(out + width, zero, point + width);
    },
    areEqual(a, b) {
      curve.negate(difference, b);
      curve.add(difference, a, difference);
      return curve.isInfinity(difference);
    },
    multiply(out, point, scalar) {
      curve.copy(base, point);
      curve.setInfinity(out);
      for (const bit of scalar.toString(2)) {
        curve.double(out, out);
        if (bit === '1') curve.add(out, out, base);
      }
    },
    normalize(point) {
      const [x, y, z] = [point, point + width, point + 2 * width];
      if (field.isZero(z) || field.isPlainOne(z)) return;
      field.invert(A, z);
      field.square(B, A);
      field.mul(x, x, B);
      field.mul(B, B, A);
      field.mul(y, y, B);
      setZero(z, width);
      setOne(z);
    },
    store: (point) => storeWords(point, pointBytes),
  };
  return curve;

  /** For two points that are not infinite, the second with Z = 1. */
  function addNormalized(out: number, a: number, b: number): void {
    const [x1, y1, z1, x2, y2] = [a, a + width, a + 2 * width, b, b + width];
    field.square(A, z1);
    field.mul(B, x2, A);
    field.mul(C, y2, z1);
    field.mul(C, C, A);
    field.sub(H, B, x1);
    field.sub(D, C, y1);
    if (field.isZero(H)) {
      if (field.isZero(D)) curve.double(out, a);
      else curve.setInfinity(out);
      return;
    }
    field.add(D, D, D);
    field.square(B, H);
    field.add(E, B, B);
    field.add(E, E, E);
    field.mul(F, H, E);
    field.mul(E, x1, E);
    field.add(C, z1, H);
    field.square(C, C);
    field.sub(C, C, A);
    field.mul(G, y1, F);
    field.sub(out + 2 * width, C, B);
    finishAddition(out);
  }

  /** For two points that are not infinite. */
  function addGeneral(out: number, a: number, b: number): void {
    const [x1, y1, z1, x2, y2, z2] = [a, a + width, a + 2 * width, b, b + width, b + 2 * width];
    field.square(A, z1);
    field.square(B, z2);
    field.mul(E, x1, B);
    field.mul(H, x2, A);
    field.mul(G, y1, z2);
    field.mul(G, G, B);
    field.mul(D, y2, z1);
    field.mul(D, D, A);
    field.sub(H, H, E);
    field.sub(D, D, G);
    if (field.isZero(H)) {
      if (field.isZero(D)) curve.double(out, a);
      else curve.setInfinity(out);
      return;
    }
    field.add(D, D, D);
    field.add(C, z1, z2);
    field.square(C, C);
    field.sub(C, C, A);
    field.sub(C, C, B);
    field.add(B, H, H);
    field.square(B, B);
    field.mul(F, H, B);
    field.mul(E, E, B);
    field.mul(G, G, F);
    field.mul(out + 2 * width, C, H);
    finishAddition(out);
  }

  /** With D = r, E = V, F = J and G = Y1·J of the formulas: X3 = r² - J - 2V, Y3 = r·(V - X3) - 2·Y1·J. */
  function finishAddition(out: number): void {
    field.square(A, D);
    field.sub(A, A, F);
    field.sub(A, A, E);
    field.sub(A, A, E);
    copy(out, A, width);
    field.sub(E, E, A);
    field.mul(D, D, E);
    field.add(G, G, G);
    field.sub(out + width, D, G);
  }
}
