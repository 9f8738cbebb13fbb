import { bls12_381 } from '@noble/curves/bls12-381.js';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import * as formulas from '../../../../src/bls/field/compiled-formulas.ts';
import {
  allocate,
  allocateMany,
  COEFFICIENT_BYTES,
  FP2_BYTES,
  getBigint,
  getBytes,
  setBigint,
  setBytes,
} from '../../../../src/bls/field/field.ts';
import { FIELD_ORDER } from '../../../../src/bls/field/field-module.ts';
import { FP_BYTES } from '../../../../src/bls/field/fused-field.ts';
import { RADIX } from '../../../../src/bls/field/fused-limbs.ts';
import {
  FP12_BYTES,
  finalExponentiate,
  isOne12,
  LINES_BYTES,
  millerLoop,
  prepareLines,
  setOne12,
} from '../../../../src/bls/pairing/fast-pairing.ts';
import { bytesToHex } from '../../../../src/lib/encoding/bytes.ts';

const { G1, G2, fields, millerLoopBatch, utils } = bls12_381;
const { Fp, Fp12 } = fields;
type Element12 = ReturnType<typeof millerLoopBatch>;

const [a, b, out] = allocateMany(3, FP12_BYTES) as [number, number, number];
const points = allocateMany(3, 2 * FP_BYTES);
const lines = allocateMany(3, LINES_BYTES);
const twistPoint = allocate(3 * FP2_BYTES);
/** Elements that stand in memory with limbs as large as there are, of either sign. */
const extreme = fc
  .array(fc.constantFrom(-1n, 1n, 1n, 0n), { minLength: 7, maxLength: 7 })
  .map((signs) => signs.reduce<bigint>((sum, sign, n) => sum + sign * ((1n << 49n) - 1n) * (1n << BigInt(50 * n)), 0n))
  .map((inMemory) => Fp.div(Fp.create(inMemory), Fp.create(RADIX)));
/** Also the ends of the range, where carries and reductions differ. */
const coefficient = fc.oneof(
  fc.bigInt(0n, FIELD_ORDER - 1n),
  fc.constantFrom(0n, 1n, FIELD_ORDER - 1n, FIELD_ORDER - 2n, 2n ** 380n),
  extreme,
);
const twelve = { minLength: 12, maxLength: 12 };
const element = fc
  .oneof(fc.array(coefficient, twelve), fc.array(extreme, twelve))
  .map((parts) => Fp12.fromBigTwelve(parts as never));
const scalar = fc.bigInt(1n, fields.Fr.ORDER - 1n);

function set(address: number, value: Element12): void {
  const bytes = Fp12.toBytes(value);
  for (let part = 0; part < 12; part += 1) setBytes(address + part * FP_BYTES, bytes, part * COEFFICIENT_BYTES);
}

function hex(address: number): string {
  const bytes = new Uint8Array(12 * COEFFICIENT_BYTES);
  for (let part = 0; part < 12; part += 1) getBytes(address + part * FP_BYTES, bytes, part * COEFFICIENT_BYTES);
  return bytesToHex(bytes);
}

const expectedHex = (value: Element12): string => bytesToHex(Fp12.toBytes(value));

function setPair(n: number, key: InstanceType<typeof G1.Point>, point: InstanceType<typeof G2.Point>) {
  const [at, prepared] = [points[n] as number, lines[n] as number];
  const [g1, g2] = [key.toAffine(), point.toAffine()];
  setBigint(at, g1.x);
  setBigint(at + FP_BYTES, g1.y);
  for (const [i, value] of [g2.x.c0, g2.x.c1, g2.y.c0, g2.y.c1, 1n, 0n].entries()) {
    setBigint(twistPoint + i * FP_BYTES, value);
  }
  prepareLines(prepared, twistPoint);
  return {
    ours: { point: at, lines: prepared },
    nobles: [utils.calcPairingPrecomputes(point), g1.x, g1.y] as Parameters<typeof millerLoopBatch>[0][number],
  };
}

test('the compiled formulas are those of noble', () => {
  fc.assert(
    fc.property(element, element, (x, y) => {
      set(a, x);
      set(b, y);
      for (const [compiled, expected] of [
        [formulas.square12, Fp12.sqr(x)],
        [formulas.conjugate12, Fp12.conjugate(x)],
        [formulas.frobenius12, Fp12.frobeniusMap(x, 1)],
        [formulas.frobeniusSquared12, Fp12.frobeniusMap(x, 2)],
        [formulas.frobeniusCubed12, Fp12.frobeniusMap(x, 3)],
        [formulas.cyclotomicSquare12, Fp12._cyclotomicSquare(x)],
        [formulas.mul12, Fp12.mul(x, y)],
      ] as const) {
        compiled(out, a, b);
        expect(hex(out)).toBe(expectedHex(expected));
      }
      if (Fp12.is0(x)) return;
      formulas.invert12(b, a);
      formulas.mul12(out, a, b);
      expect(isOne12(out)).toBe(true);
    }),
    { numRuns: 100 },
  );
});

test('1 is told from all else, and is the loop of no pairs', () => {
  setOne12(a);
  expect(isOne12(a)).toBe(true);
  millerLoop(out, []);
  expect(isOne12(out)).toBe(true);
  for (let part = 0; part < 12; part += 1) {
    const tuple = new Array<bigint>(12).fill(0n);
    tuple[0] = 1n;
    tuple[part] = (tuple[part] ?? 0n) + 1n;
    set(a, Fp12.fromBigTwelve(tuple as never));
    expect(isOne12(a)).toBe(false);
  }
  set(a, Fp12.ZERO);
  expect(isOne12(a)).toBe(false);
});

test('lines, Miller loops of one to three pairs and final exponentiations are those of noble', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(scalar, scalar), { minLength: 1, maxLength: 3 }), (scalars) => {
      const pairs = scalars.map(([p, q], n) => setPair(n, G1.Point.BASE.multiply(p), G2.Point.BASE.multiply(q)));
      for (const [n, { nobles }] of pairs.entries()) {
        const expected = nobles[0].flat(2).flatMap(({ c0, c1 }) => [c0, c1]);
        expect(expected.map((_, i) => getBigint((lines[n] as number) + i * FP_BYTES))).toEqual(expected);
      }
      millerLoop(
        out,
        pairs.map(({ ours }) => ours),
      );
      const product = millerLoopBatch(pairs.map(({ nobles }) => nobles));
      expect(hex(out)).toBe(expectedHex(product));
      finalExponentiate(out, out);
      expect(hex(out)).toBe(expectedHex(Fp12.finalExponentiate(product)));
    }),
    { numRuns: 10 },
  );
});
