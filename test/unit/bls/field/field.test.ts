import fc from 'fast-check';
import { expect, test } from 'vitest';
import { allocate, FP2_BYTES, getBigint, isLarger2, setBigint, squareRoots2 } from '../../../../src/bls/field/field.ts';
import { FIELD_ORDER as P } from '../../../../src/bls/field/field-module.ts';
import { FP_BYTES } from '../../../../src/bls/field/fused-field.ts';

type Pair = readonly [bigint, bigint];

const [a, out] = [allocate(FP2_BYTES), allocate(FP2_BYTES)];
/** The ends of the field, where carries and reductions happen, as often as all the rest. */
const element = fc.oneof(
  fc.bigInt({ min: 0n, max: P - 1n }),
  fc.bigInt({ min: 0n, max: 3n }),
  fc.bigInt({ min: P - 3n, max: P - 1n }),
  fc.nat(380).map((bit) => 1n << BigInt(bit)),
  fc.nat(380).map((bit) => (1n << BigInt(bit)) - 1n),
);
const pair: fc.Arbitrary<Pair> = fc.tuple(element, element);
const modulo = (value: bigint): bigint => ((value % P) + P) % P;

function set2(address: number, [c0, c1]: Pair): void {
  setBigint(address, c0);
  setBigint(address + FP_BYTES, c1);
}

function get2(address: number): Pair {
  return [getBigint(address), getBigint(address + FP_BYTES)];
}

const product = ([x0, x1]: Pair, [y0, y1]: Pair): Pair => [modulo(x0 * y0 - x1 * y1), modulo(x0 * y1 + x1 * y0)];

test('the extension has roots of squares alone, also of those with one coefficient', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        pair,
        pair.map(([c0]): Pair => [c0, 0n]),
        pair.map(([c0]): Pair => [0n, c0]),
      ),
      (x) => {
        set2(a, product(x, x));
        expect(squareRoots2([{ out, a }])).toEqual([true]);
        expect([x, [modulo(-x[0]), modulo(-x[1])]]).toContainEqual(get2(out));
        // Every element of the base field is a square here.
        set2(a, [x[0], 0n]);
        expect(squareRoots2([{ out, a }])).toEqual([true]);
        expect(product(get2(out), get2(out))).toEqual([x[0], 0n]);
        if (x[0] === 0n && x[1] === 0n) return;
        // 1 + i is no square.
        set2(a, product(product(x, x), [1n, 1n]));
        expect(squareRoots2([{ out, a }])).toEqual([false]);
      },
    ),
    { numRuns: 100 },
  );
});

test('the extension orders by the second coefficient, unless it is 0', () => {
  for (const [x, expected] of [
    [[0n, 0n], false],
    [[1n, 0n], false],
    [[P - 1n, 0n], true],
    [[P - 1n, 1n], false],
    [[1n, P - 1n], true],
    [[0n, (P - 1n) / 2n], false],
    [[0n, (P + 1n) / 2n], true],
  ] as const) {
    set2(a, x);
    expect(isLarger2(a)).toBe(expected);
  }
});
