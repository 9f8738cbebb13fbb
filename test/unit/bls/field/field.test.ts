import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  add,
  add2,
  allocate,
  FP2_BYTES,
  getBigint,
  getBytes,
  invert,
  invert2,
  isLarger,
  isLarger2,
  isOdd,
  isZero,
  mul,
  mul2,
  setBigint,
  setBytes,
  square,
  square2,
  squareRoot,
  squareRoots2,
  sub,
  sub2,
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
  test('computes as integers modulo p do, also into an operand', () => {
    fc.assert(
      fc.property(element, element, (x, y) => {
        const results = [
          [mul, x * y],
          [add, x + y],
          [sub, x - y],
        ] as const;
        for (const [operation, expected] of results) {
          for (const to of [out, a, b]) {
            setBigint(a, x);
            setBigint(b, y);
            operation(to, a, b);
            expect(getBigint(to)).toBe(modulo(expected));
          }
        }
      }),
      { numRuns: 300 },
    );
  });

  test('stays exact over long chains of operations, which are never fully reduced', () => {
    fc.assert(
      fc.property(
        element,
        element,
        fc.array(fc.constantFrom('mul', 'add', 'sub', 'square'), { maxLength: 60 }),
        (x, y, steps) => {
          setBigint(a, x);
          setBigint(b, y);
          let expected = x;
          for (const step of steps) {
            if (step === 'square') square(a, a, 1);
            else ({ mul, add, sub })[step](a, a, b);
            expected = modulo(
              step === 'mul'
                ? expected * y
                : step === 'add'
                  ? expected + y
                  : step === 'sub'
                    ? expected - y
                    : expected ** 2n,
            );
          }
          expect(getBigint(a)).toBe(expected);
          expect(isZero(a)).toBe(expected === 0n);
        },
      ),
      { numRuns: 200 },
    );
  });

  test('squares many times over', () => {
    fc.assert(
      fc.property(element, fc.integer({ min: 1, max: 8 }), (x, times) => {
        setBigint(a, x);
        square(out, a, times);
        expect(getBigint(out)).toBe(modulo(x ** (2n ** BigInt(times))));
      }),
    );
  });

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
  test('computes as complex numbers modulo p do, also into an operand', () => {
    fc.assert(
      fc.property(pair, pair, (x, y) => {
        const results = [
          [mul2, product(x, y)],
          [add2, [modulo(x[0] + y[0]), modulo(x[1] + y[1])]],
          [sub2, [modulo(x[0] - y[0]), modulo(x[1] - y[1])]],
          [(to: number, from: number) => square2(to, from), product(x, x)],
        ] as const;
        for (const [operation, expected] of results) {
          for (const to of [out, a, b]) {
            set2(a, x);
            set2(b, y);
            operation(to, a, b);
            expect(get2(to)).toEqual(expected);
          }
        }
      }),
      { numRuns: 300 },
    );
  });

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
