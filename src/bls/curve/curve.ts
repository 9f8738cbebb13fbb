import { doublingG2 } from '../field/compiled-formulas.ts';
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
} from '../field/field.ts';
import { FP_BYTES } from '../field/fused-field.ts';
import type { CompiledFormula } from '../field/run-formulas.ts';
import { type DoublingOperations, doublePoint } from './double-point.ts';

/**
 * Points of y² = x³ + b over the base field or its extension, in Jacobian coordinates (x = X/Z², y = Y/Z³). X, Y and Z stand
 * one after the other at an address; Z = 0 is infinity. The formulas are dbl-2009-l and add-2007-bl of the
 * Explicit-Formulas Database. They depend neither on b nor on the subgroup.
 */
export interface Curve {
  /** Bytes of a point. */
  readonly pointBytes: number;
  /** Bytes of one coordinate. */
  readonly width: number;
  isInfinity(point: number): boolean;
  setInfinity(out: number): void;
  copy(out: number, point: number): void;
  double(out: number, point: number): void;
  /** `out` may be one of the two; equal, opposite and infinite points are allowed. */
  add(out: number, a: number, b: number): void;
  negate(out: number, point: number): void;
  areEqual(a: number, b: number): boolean;
  /** @param scalar not negative. The time taken depends on it, so it must not be a secret */
  multiply(out: number, point: number, scalar: bigint): void;
  /** Makes Z = 1 if the point is not infinity. */
  normalize(point: number): void;
  store(point: number): Uint32Array;
}

/** Operations on elements, which are given by their addresses. */
interface FieldOperations extends DoublingOperations {
  readonly invert: (out: number, a: number) => void;
  readonly isZero: (a: number) => boolean;
  readonly isPlainOne: (a: number) => boolean;
}

export const g1Curve = createCurve({
  width: FP_BYTES,
  mul,
  add,
  sub,
  invert,
  isZero,
  isPlainOne,
  copy: (out, from) => copy(out, from, FP_BYTES),
  square: (out, a) => square(out, a, 1),
});

export const g2Curve = createCurve({
  width: FP2_BYTES,
  mul: mul2,
  add: add2,
  sub: sub2,
  invert: invert2,
  isZero: isZero2,
  isPlainOne: isPlainOne2,
  copy: (out, from) => copy(out, from, FP2_BYTES),
  square: square2,
  compiledDoubling: doublingG2,
});

type Eight = readonly [number, number, number, number, number, number, number, number];

/** @param compiledDoubling the doubling as one function */
function createCurve(field: FieldOperations & { readonly compiledDoubling?: CompiledFormula }): Curve {
  const { width, compiledDoubling } = field;
  const pointBytes = 3 * width;
  const [A, B, C, D, E, F, G, H] = allocateMany(8, width) as unknown as Eight;
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
      doublePoint(field, [A, B, C, D, E, F], out, point);
    },
    add(out, a, b) {
      if (curve.isInfinity(b)) {
        if (out !== a) curve.copy(out, a);
      } else if (curve.isInfinity(a)) {
        if (out !== b) curve.copy(out, b);
      } else {
        addFinite(out, a, b);
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

  /** For two points that are not infinite: D = r, E = V, F = J and G = Y1·J; X3 = r² - J - 2V, Y3 = r·(V - X3) - 2·Y1·J. */
  function addFinite(out: number, a: number, b: number): void {
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
