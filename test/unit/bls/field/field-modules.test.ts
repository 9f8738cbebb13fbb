import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { FIELD_ORDER as P } from '../../../../src/bls/field/field-module.ts';
import { createFieldModule, FP_BYTES, isFused } from '../../../../src/bls/field/fused-field.ts';
import { CONSTANT_BYTES, PIECE_BITS, RADIX } from '../../../../src/bls/field/fused-limbs.ts';

const modulo = (value: bigint): bigint => ((value % P) + P) % P;
const CASES = { numRuns: 100 };

test('this machine multiplies and adds with one rounding', () => {
  expect(isFused()).toBe(true);
});

describe('the field', () => {
  const field = createFieldModule();
  const inverseOfRadix = inverse(RADIX);
  const place = (n: number): number => CONSTANT_BYTES + n * FP_BYTES;
  const [a0, a1, b0, b1, out0, out1, toForm, fromForm, plain] = Array.from({ length: 9 }, (_, n) =>
    place(n),
  ) as unknown as Nine;
  write(toForm, modulo(RADIX * RADIX));
  write(fromForm, 1n);

  /** A value as in memory, often at the ends of limbs of 50 bits, where carries and signs differ. */
  const half = 1n << 49n;
  const inMemory = fc.oneof(
    fc.constantFrom(0n, 1n, P - 1n, (P - 1n) / 2n, (P + 1n) / 2n, P - 2n ** 28n),
    fc
      .array(fc.constantFrom(-half, half - 1n, half, 2n * half - 1n, -1n, 0n, 1n), { minLength: 8, maxLength: 8 })
      .map((all) => modulo(all.reduce((sum, limb, n) => sum + (limb << BigInt(50 * n)), 0n))),
  );
  const element = fc.oneof(
    fc.bigInt(0n, P - 1n),
    inMemory.map((value) => modulo(value * inverseOfRadix)),
  );
  const four = fc.tuple(element, element, element, element);

  function write(at: number, value: bigint): void {
    const pieces: number[] = [];
    for (let rest = value; rest > 0n; rest >>= BigInt(PIECE_BITS))
      pieces.push(Number(BigInt.asUintN(PIECE_BITS, rest)));
    field.writePieces(at, pieces);
  }

  function set(at: number, value: bigint): void {
    write(at, value);
    field.mul(at, at, toForm);
  }

  function read(at: number): bigint {
    field.mul(plain, at, fromForm);
    const pieces: number[] = [];
    field.readPieces(plain, pieces);
    return pieces.reduceRight((value, piece) => (value << BigInt(PIECE_BITS)) | BigInt(piece), 0n);
  }

  function setAll([x0, x1, y0, y1]: Four): void {
    for (const [at, value] of [
      [a0, x0],
      [a1, x1],
      [b0, y0],
      [b1, y1],
    ] as const)
      set(at, value);
  }

  test('computes two elements at a time as integers modulo p do', () => {
    fc.assert(
      fc.property(four, fc.boolean(), (values, isInPlace) => {
        const [x0, x1, y0, y1] = values;
        const [to0, to1] = isInPlace ? [a0, a1] : [out0, out1];
        const cases = [
          [() => field.mulPair(to0, to1, a0, b0, a1, b1), x0 * y0, x1 * y1],
          [() => field.addPair(to0, to1, a0, b0, a1, b1), x0 + y0, x1 + y1],
          [() => field.subPair(to0, to1, a0, b0, a1, b1), x0 - y0, x1 - y1],
          [() => field.squarePair(to0, to1, a0, a1, 1), x0 ** 2n, x1 ** 2n],
          [() => field.squarePair(to0, to1, a0, a1, 3), x0 ** 8n, x1 ** 8n],
          [() => field.mulParts2(to0, to1, a0, a1, b0, b1), x0 * y0 - x1 * y1, x0 * y1 + x1 * y0],
          [() => field.squareParts2(to0, to1, a0, a1), x0 * x0 - x1 * x1, 2n * x0 * x1],
          [() => field.mul2(to0, a0, b0), x0 * y0 - x1 * y1, x0 * y1 + x1 * y0],
          [() => field.square2(to0, a0), x0 * x0 - x1 * x1, 2n * x0 * x1],
          [() => field.add2(to0, a0, b0), x0 + y0, x1 + y1],
          [() => field.sub2(to0, a0, b0), x0 - y0, x1 - y1],
        ] as const;
        for (const [compute, first, second] of cases) {
          setAll(values);
          compute();
          expect([read(to0), read(to1)]).toEqual([modulo(first), modulo(second)]);
          expect([field.isZero(to0), field.isZero(to1)]).toEqual([modulo(first) === 0n, modulo(second) === 0n]);
        }
      }),
      CASES,
    );
  });

  test('takes loose sums as factors and terms', () => {
    const loose = Array.from({ length: 4 }, (_, n) => place(9 + n)) as unknown as [number, number, number, number];
    fc.assert(
      fc.property(four, (values) => {
        const [x0, x1, y0, y1] = values;
        setAll(values);
        const [s0, s1, d0, d1] = loose;
        field.addPairLoose(s0, s1, a0, b0, a1, b1);
        field.subPairLoose(d0, d1, a0, b1, a1, b0);
        const [v0, v1, w0, w1] = [x0 + y0, x1 + y1, x0 - y1, x1 - y0];
        for (const [compute, first, second] of [
          [() => field.mulPair(out0, out1, s0, d0, s1, d1), v0 * w0, v1 * w1],
          [() => field.mulPair(out0, out1, s0, s0, d1, d1), v0 * v0, w1 * w1],
          [() => field.mulParts2(out0, out1, s0, s1, d0, d1), v0 * w0 - v1 * w1, v0 * w1 + v1 * w0],
          [() => field.mulParts2(out0, out1, s0, s1, s0, s1), v0 * v0 - v1 * v1, 2n * v0 * v1],
          [() => field.addPair(out0, out1, s0, d0, s1, d1), v0 + w0, v1 + w1],
          [() => field.subPair(out0, out1, s0, d0, s1, a1), v0 - w0, v1 - x1],
        ] as const) {
          compute();
          expect([read(out0), read(out1)]).toEqual([modulo(first), modulo(second)]);
          expect([field.isZero(out0), field.isZero(out1)]).toEqual([modulo(first) === 0n, modulo(second) === 0n]);
          // The result is as tight as all others.
          field.squareParts2(out0, out1, out0, out1);
          expect(read(out0)).toBe(modulo(first * first - second * second));
        }
      }),
      CASES,
    );
  });

  test('computes one element as it computes two', () => {
    fc.assert(
      fc.property(element, element, fc.integer({ min: 1, max: 9 }), (x, y, times) => {
        for (const [compute, expected] of [
          [() => field.mul(out0, a0, b0), x * y],
          [() => field.add(out0, a0, b0), x + y],
          [() => field.sub(out0, a0, b0), x - y],
          [() => field.sub(out0, a0, a0), 0n],
          [() => field.square(out0, a0, times), x ** (2n ** BigInt(times))],
        ] as const) {
          set(a0, x);
          set(b0, y);
          compute();
          expect(read(out0)).toBe(modulo(expected));
          expect(field.isZero(out0)).toBe(modulo(expected) === 0n);
        }
      }),
      CASES,
    );
  });

  test('stays exact where sums are added up and multiplied without end', () => {
    type Step = readonly [compute: () => void, expect: (x0: bigint, x1: bigint, y0: bigint, y1: bigint) => Pair];
    const step = fc.constantFrom<Step>(
      [() => field.addPair(a0, a1, a0, b0, a1, b1), (x0, x1, y0, y1) => [x0 + y0, x1 + y1]],
      [() => field.subPair(a0, a1, a0, b0, a1, b1), (x0, x1, y0, y1) => [x0 - y0, x1 - y1]],
      [() => field.addPair(a0, a1, a0, a0, a1, a1), (x0, x1) => [2n * x0, 2n * x1]],
      [() => field.subPair(a0, a1, out0, a0, out0, a1), (x0, x1) => [-x0, -x1]],
      [() => field.mulParts2(a0, a1, a0, a1, b0, b1), (x0, x1, y0, y1) => [x0 * y0 - x1 * y1, x0 * y1 + x1 * y0]],
      [() => field.squareParts2(a0, a1, a0, a1), (x0, x1) => [x0 * x0 - x1 * x1, 2n * x0 * x1]],
      [() => field.mulPair(a0, a1, a0, b0, a1, b1), (x0, x1, y0, y1) => [x0 * y0, x1 * y1]],
    );
    fc.assert(
      fc.property(four, fc.array(step, { maxLength: 120 }), (values, steps) => {
        setAll(values);
        let [x0, x1] = values;
        const [, , y0, y1] = values;
        write(out0, 0n);
        for (const [compute, expected] of steps) {
          compute();
          [x0, x1] = expected(x0, x1, y0, y1).map(modulo) as unknown as Pair;
        }
        expect([read(a0), read(a1)]).toEqual([x0, x1]);
        expect([field.isZero(a0), field.isZero(a1)]).toEqual([x0 === 0n, x1 === 0n]);
      }),
      CASES,
    );
  });
});

type Pair = readonly [bigint, bigint];
type Four = readonly [bigint, bigint, bigint, bigint];
type Nine = readonly [number, number, number, number, number, number, number, number, number];

/** Inverts by Fermat's theorem. */
function inverse(value: bigint): bigint {
  let result = 1n;
  for (const bit of (P - 2n).toString(2)) result = modulo(result * result * (bit === '1' ? value : 1n));
  return result;
}
