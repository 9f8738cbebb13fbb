import fc from 'fast-check';
import { expect, test } from 'vitest';
import { compileFormulas } from '../../../../scripts/bls/compile-formulas.ts';
import { FormulaRecorder } from '../../../../scripts/bls/formula-recorder.ts';
import { allocate, allocateMany, getBigint, invert, setBigint } from '../../../../src/bls/field/field.ts';
import { FORMULA_MEMORY_BYTES, FIELD_ORDER as P } from '../../../../src/bls/field/field-module.ts';
import { FP_BYTES } from '../../../../src/bls/field/fused-field.ts';
import { RADIX } from '../../../../src/bls/field/fused-limbs.ts';
import { runFormulas } from '../../../../src/bls/field/run-formulas.ts';

const modulo = (value: bigint): bigint => ((value % P) + P) % P;
const [radix, inverseOfRadix] = allocateMany(2, FP_BYTES) as [number, number];
setBigint(radix, modulo(RADIX));
invert(inverseOfRadix, radix);

/** Elements that stand in memory with limbs as large as there are, of either sign. */
const extreme = fc
  .array(fc.constantFrom(-1n, 1n, 1n, 0n), { minLength: 7, maxLength: 7 })
  .map((signs) => signs.reduce<bigint>((sum, sign, n) => sum + sign * ((1n << 49n) - 1n) * (1n << BigInt(50 * n)), 0n))
  .map((inMemory) => modulo(inMemory * getBigint(inverseOfRadix)));

const recorder = new FormulaRecorder();
const [a0, a1, b0, b1] = Array.from({ length: 4 }, () => recorder.input()) as [Value, Value, Value, Value];
type Value = ReturnType<FormulaRecorder['input']>;
const [s0, s1] = [recorder.add(a0, b0), recorder.add(a1, b1)];
const [d0, d1] = [recorder.sub(a0, b0), recorder.sub(a1, b1)];
const BOTH = [
  [a0, a1],
  [b0, b1],
];
const formulas = {
  /** A square in the extension, whose factors are sums of sums. */
  squareOfSum: {
    recorder,
    results: [[recorder.mul(recorder.add(s0, s1), recorder.sub(s0, s1)), recorder.mul(recorder.add(s0, s0), s1)]],
    inputs: BOTH,
  },
  squares: {
    recorder,
    results: [[recorder.sqr(s0), recorder.sqr(s1)]],
    inputs: BOTH,
  },
  products: {
    recorder,
    results: [[recorder.mul(s0, d1), recorder.mul(s1, d0), recorder.add(recorder.add(s0, d0), recorder.add(s1, d1))]],
    inputs: BOTH,
  },
  /** A result of the first input alone. */
  square: {
    recorder,
    results: [[recorder.mul(recorder.add(a0, a1), recorder.sub(a0, a1)), recorder.mul(recorder.add(a0, a0), a1)]],
    inputs: [[a0, a1]],
  },
  sums: {
    recorder,
    results: [[s0, s1]],
    inputs: BOTH,
  },
};
const place = { elementBytes: FP_BYTES, address: allocate(FORMULA_MEMORY_BYTES), memoryBytes: FORMULA_MEMORY_BYTES };
const compiled = runFormulas<keyof typeof formulas>(compileFormulas(formulas, place));
const [first, second] = allocateMany(2, 2 * FP_BYTES) as [number, number];
const out = allocate(3 * FP_BYTES);

test('sums of the largest limbs, squared, multiplied and added up, are exact', () => {
  fc.assert(
    fc.property(extreme, extreme, extreme, extreme, (w, x, y, z) => {
      const values = [w, x, y, z];
      for (const [n, value] of values.entries()) setBigint((n < 2 ? first : second) + (n % 2) * FP_BYTES, value);
      const [p, q, r, s] = [w + y, x + z, w - y, x - z];
      for (const [compute, expected] of [
        [compiled.squareOfSum, [p * p - q * q, 2n * p * q]],
        [compiled.squares, [p * p, q * q]],
        [compiled.products, [p * s, q * r, p + q + r + s]],
        [compiled.sums, [p, q]],
      ] as const) {
        compute(out, first, second);
        expect(expected.map((_, n) => getBigint(out + n * FP_BYTES))).toEqual(expected.map(modulo));
      }
      // Results are tight, whatever they came from.
      compiled.sums(out, first, second);
      compiled.square(second, out);
      expect(getBigint(second)).toBe(modulo(p * p - q * q));
    }),
    { numRuns: 100 },
  );
});

test('formulas stay within the memory that there is for them', () => {
  const { constants, constantsAt } = compileFormulas(formulas, place);
  const needed = constantsAt + constants.length * FP_BYTES - place.address;
  expect(() => compileFormulas(formulas, { ...place, memoryBytes: needed })).not.toThrow();
  expect(() => compileFormulas(formulas, { ...place, memoryBytes: needed - 1 })).toThrow('more memory');
});
