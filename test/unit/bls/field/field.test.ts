import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  allocate,
  FP2_BYTES,
  getBigint,
  getBytes,
  invert,
  invert2,
  isLarger,
  isLarger2,
  isOdd,
  setBigint,
  setBytes,
  square,
  squareRoot,
  squareRoots2,
} from '../../../../src/bls/field/field.ts';
import { FIELD_ORDER as P } from '../../../../src/bls/field/field-module.ts';
import { FP_BYTES } from '../../../../src/bls/field/fused-field.ts';

type Pair = readonly [bigint, bigint];

const [a, b, out] = [allocate(FP2_BYTES), allocate(FP2_BYTES), allocate(FP2_BYTES)];
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

describe('the base field', () => {
  test('inverts, and has roots of squares alone', () => {
    fc.assert(
      fc.property(element, (x) => {
        setBigint(a, x);
        invert(out, a);
        expect(modulo(getBigint(out) * x)).toBe(x === 0n ? 0n : 1n);
        square(b, a, 1);
        expect(squareRoot(out, b)).toBe(true);
        expect([x, modulo(-x)]).toContain(getBigint(out));
        if (x === 0n) return;
        // -1 is no square modulo a prime that is 3 modulo 4.
        setBigint(a, modulo(-(x ** 2n)));
        expect(squareRoot(out, a)).toBe(false);
      }),
      { numRuns: 100 },
    );
  });

  test('takes bytes below p alone, and gives them back', () => {
    fc.assert(
      fc.property(fc.oneof(element, fc.bigInt({ min: 0n, max: 2n ** 384n - 1n }), fc.constantFrom(P, P + 1n)), (x) => {
        const bytes = Uint8Array.from(Buffer.from(`ff${x.toString(16).padStart(96, '0')}`, 'hex'));
        expect(setBytes(a, bytes, 1)).toBe(x < P);
        if (x >= P) return;
        expect(getBigint(a)).toBe(x);
        const written = new Uint8Array(49).fill(0xff);
        getBytes(a, written, 1);
        expect(written).toEqual(bytes);
        expect(isOdd(a)).toBe(x % 2n === 1n);
        expect(isLarger(a)).toBe(x > P - x && x !== 0n);
      }),
      { numRuns: 300 },
    );
  });
});

describe('the extension', () => {
  test('inverts', () => {
    fc.assert(
      fc.property(pair, (x) => {
        set2(a, x);
        invert2(out, a);
        expect(product(get2(out), x)).toEqual(x[0] === 0n && x[1] === 0n ? [0n, 0n] : [1n, 0n]);
      }),
      { numRuns: 100 },
    );
  });

  test('has roots of squares, also of those with one coefficient', () => {
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
        },
      ),
      { numRuns: 100 },
    );
  });

  test('has no roots of others: 1 + i times a square', () => {
    fc.assert(
      fc.property(pair, (x) => {
        fc.pre(x[0] !== 0n || x[1] !== 0n);
        set2(a, product(product(x, x), [1n, 1n]));
        expect(squareRoots2([{ out, a }])).toEqual([false]);
      }),
      { numRuns: 100 },
    );
  });

  test('orders by the second coefficient, unless it is 0', () => {
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
});
