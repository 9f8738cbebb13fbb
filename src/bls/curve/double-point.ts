/** The operations of a field that a doubling needs, on elements given by their addresses. */
export interface DoublingOperations {
  readonly width: number;
  readonly copy: (out: number, from: number) => void;
  readonly mul: (out: number, a: number, b: number) => void;
  readonly square: (out: number, a: number) => void;
  readonly add: (out: number, a: number, b: number) => void;
  readonly sub: (out: number, a: number, b: number) => void;
}

/** Memory for intermediate elements. */
export type DoublingWork = readonly [A: number, B: number, C: number, D: number, E: number, F: number];

/** dbl-2009-l of the Explicit-Formulas Database, in Jacobian coordinates. `out` may be `point`. */
export function doublePoint(field: DoublingOperations, work: DoublingWork, out: number, point: number): void {
  const { width } = field;
  const [A, B, C, D, E, F] = work;
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
}
