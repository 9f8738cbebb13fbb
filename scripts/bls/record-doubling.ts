import { doublePoint } from '../../src/bls/curve/double-point.ts';
import type { Formula } from './compile-formulas.ts';
import { FormulaRecorder, type Value } from './formula-recorder.ts';

/**
 * Records {@link doublePoint} over the extension as one function, because doublings of G2 take most of the time of subgroup checks and
 * cofactors.
 */
export function recordDoubling(): Formula {
  const recorder = new FormulaRecorder();
  const elements = new Map<number, readonly [Value, Value]>();
  const at = (address: number): readonly [Value, Value] => elements.get(address) ?? [recorder.ZERO, recorder.ZERO];
  const termwise =
    (operation: (a: Value, b: Value) => Value) =>
    (out: number, a: number, b: number): void => {
      const [[a0, a1], [b0, b1]] = [at(a), at(b)];
      elements.set(out, [operation(a0, b0), operation(a1, b1)]);
    };
  const field = {
    width: 1,
    copy: (out: number, from: number) => elements.set(out, at(from)),
    add: termwise((a, b) => recorder.add(a, b)),
    sub: termwise((a, b) => recorder.sub(a, b)),
    mul(out: number, a: number, b: number) {
      const [[a0, a1], [b0, b1]] = [at(a), at(b)];
      const [real, imaginary] = [recorder.mul(a0, b0), recorder.mul(a1, b1)];
      const crossed = recorder.mul(recorder.add(a0, a1), recorder.add(b0, b1));
      elements.set(out, [recorder.sub(real, imaginary), recorder.sub(crossed, recorder.add(real, imaginary))]);
    },
    square(out: number, a: number) {
      const [a0, a1] = at(a);
      const real = recorder.mul(recorder.add(a0, a1), recorder.sub(a0, a1));
      elements.set(out, [real, recorder.mul(recorder.add(a0, a0), a1)]);
    },
  };
  const coordinates = [0, 1, 2];
  for (const address of coordinates) elements.set(address, [recorder.input(), recorder.input()]);
  const inputs = coordinates.flatMap((address) => at(address));
  doublePoint(field, [3, 4, 5, 6, 7, 8], 0, 0);
  return { recorder, results: [coordinates.flatMap(at)], inputs: [inputs] };
}
