import * as blst from '@chainsafe/blst';
import { bls12_381 } from '@noble/curves/bls12-381.js';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type BlsBackend, type SignatureCheck } from '../../../../src/bls/backends/bls-backend.ts';
import { nobleBackend } from '../../../../src/bls/backends/noble-backend.ts';
import { plainBackend } from '../../../../src/bls/backends/plain-backend.ts';
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
import { ParseError } from '../../../../src/lib/encoding/parse-error.ts';

/** Cases of each property instead of the usual number: `PAIRING_CASES=1000000` takes a day. */
const CASES = Number(process.env['PAIRING_CASES'] ?? 0);
/** A verdict of plain noble takes some 30 ms, one of blst one, and a formula a fraction of that. */
const [few, some, many] = [20, 1_000, 2_000].map((usual) => ({ numRuns: Math.max(CASES, usual) }));
/** One in this many verdicts is compared with plain noble's too, beside blst's. */
const NOBLE_EVERY = 10;
const timeout = Math.max(60_000, CASES * 200);

const { G1, G2, fields, millerLoopBatch, utils } = bls12_381;
const { Fp12 } = fields;
type Element12 = ReturnType<typeof millerLoopBatch>;

const [a, b, out] = allocateMany(3, FP12_BYTES) as [number, number, number];
const points = allocateMany(3, 2 * FP_BYTES);
const lines = allocateMany(3, LINES_BYTES);
const twistPoint = allocate(3 * FP2_BYTES);
const base = fc.bigInt(0n, FIELD_ORDER - 1n);
/** Also the ends of the range, where carries and reductions differ. */
const coefficient = fc.oneof(base, fc.constantFrom(0n, 1n, FIELD_ORDER - 1n, FIELD_ORDER - 2n, 2n ** 380n));
const element = fc
  .array(coefficient, { minLength: 12, maxLength: 12 })
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

describe('the formulas of noble, compiled', () => {
  test.each([
    ['square12', formulas.square12, (x: Element12) => Fp12.sqr(x)],
    ['conjugate12', formulas.conjugate12, (x: Element12) => Fp12.conjugate(x)],
    ['frobenius12', formulas.frobenius12, (x: Element12) => Fp12.frobeniusMap(x, 1)],
    ['frobeniusSquared12', formulas.frobeniusSquared12, (x: Element12) => Fp12.frobeniusMap(x, 2)],
    ['frobeniusCubed12', formulas.frobeniusCubed12, (x: Element12) => Fp12.frobeniusMap(x, 3)],
    ['cyclotomicSquare12', formulas.cyclotomicSquare12, (x: Element12) => Fp12._cyclotomicSquare(x)],
  ] as const)('%s', (_, compiled, expected) => {
    fc.assert(
      fc.property(element, (x) => {
        set(a, x);
        compiled(out, a);
        expect(hex(out)).toBe(expectedHex(expected(x)));
      }),
      many,
    );
  });

  test('mul12 and invert12', () => {
    fc.assert(
      fc.property(element, element, (x, y) => {
        set(a, x);
        set(b, y);
        formulas.mul12(out, a, b);
        expect(hex(out)).toBe(expectedHex(Fp12.mul(x, y)));
        if (Fp12.is0(x)) return;
        formulas.invert12(b, a);
        formulas.mul12(out, a, b);
        expect(isOne12(out)).toBe(true);
      }),
      many,
    );
  });

  test('1 is told from all else', () => {
    setOne12(a);
    expect(isOne12(a)).toBe(true);
    for (let part = 0; part < 12; part += 1) {
      const tuple: bigint[] = [1n, ...new Array<bigint>(11).fill(0n)];
      tuple[part] = (tuple[part] ?? 0n) + 1n;
      set(a, Fp12.fromBigTwelve(tuple as never));
      expect(isOne12(a)).toBe(false);
    }
    set(a, Fp12.ZERO);
    expect(isOne12(a)).toBe(false);
  });
});

test('lines, Miller loops of one to three pairs and final exponentiations are those of noble', { timeout }, () => {
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
    few,
  );
});

test('a loop of no pairs is 1', () => {
  millerLoop(out, []);
  expect(isOne12(out)).toBe(true);
});

/** A case of a signature check, as any peer could send it. */
type Spoil = (good: Uint8Array, other: Uint8Array) => Uint8Array;
const flipped =
  (bit: number): Spoil =>
  (good) =>
    good.map((byte, index) => (index === bit >> 3 ? byte ^ (1 << (bit & 7)) : byte));
const sumWith: Spoil = (good, other) => G2.Point.fromBytes(good).add(G2.Point.fromBytes(other)).toBytes(true);

/** On the curve and not in the subgroup. */
const OFF_SUBGROUP = (() => {
  for (let x = 1n; ; x += 1n) {
    const bytes = new Uint8Array(96);
    bytes[0] = 0x80;
    bytes[95] = Number(x);
    try {
      nobleBackend.parseSignature(bytes);
      return bytes;
    } catch (error) {
      if (!(error instanceof ParseError)) throw error;
    }
  }
})();

/** Another such point for each seed. */
function offSubgroup(seed: number): Uint8Array {
  const point = Uint8Array.from(OFF_SUBGROUP);
  point[1] = seed & 0xff;
  try {
    nobleBackend.parseSignature(point);
    return point;
  } catch {
    return seed === 0 ? OFF_SUBGROUP : offSubgroup(seed - 1);
  }
}

const spoil: fc.Arbitrary<readonly [string, Spoil]> = fc.oneof(
  fc.constant(['good', (good: Uint8Array) => good] as const),
  fc.constant(['negated', flipped(5)] as const),
  fc.constant(['of another message or key', (_: Uint8Array, other: Uint8Array) => other] as const),
  fc.constant(['with another one added', sumWith] as const),
  fc.constant(['infinity', () => Uint8Array.of(0xc0, ...new Uint8Array(95))] as const),
  fc.nat(767).map((bit) => [`bit ${bit} flipped`, flipped(bit)] as const),
  fc.nat(255).map((seed) => ['off the subgroup', () => offSubgroup(seed)] as const),
  fc.uint8Array({ minLength: 96, maxLength: 96 }).map((bytes) => ['random bytes', () => bytes] as const),
);

const secretOf = (n: number): blst.SecretKey =>
  blst.SecretKey.fromKeygen(new Uint8Array(32).fill(n % 256).fill(n >> 8, 16));

function checkOf(backend: BlsBackend, key: Uint8Array, message: Uint8Array, signature: Uint8Array) {
  try {
    return {
      key: backend.parsePublicKey(key),
      message: backend.hashToCurve(message),
      signature: backend.parseSignature(signature),
    } satisfies SignatureCheck;
  } catch (error) {
    if (error instanceof ParseError) return undefined;
    throw error;
  }
}

function verifies(backend: BlsBackend, check: SignatureCheck | undefined): boolean {
  return check !== undefined && backend.verify(check.key, check.message, check.signature);
}

/** Verifies from the encoding on. */
function blstVerifies(key: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  try {
    return blst.verify(message, blst.PublicKey.fromBytes(key), blst.Signature.fromBytes(signature, true));
  } catch {
    return false;
  }
}

test('verdicts are those of plain noble and blst, whatever is sent', { timeout }, () => {
  const seen = new Map<string, number>();
  let cases = 0;
  fc.assert(
    fc.property(fc.nat(65_535), fc.nat(65_535), spoil, (secretNumber, n, [kind, change]) => {
      const secret = secretOf(secretNumber);
      const message = Uint8Array.of(n >> 8, n);
      const key = secret.toPublicKey().toBytes();
      const good = secret.sign(message).toBytes();
      const signature = change(good, secret.sign(Uint8Array.of(n >> 8, n, 1)).toBytes());
      const expected = blstVerifies(key, message, signature);
      expect(expected).toBe(bytesToHex(signature) === bytesToHex(good));
      const check = checkOf(nobleBackend, key, message, signature);
      expect(verifies(nobleBackend, check)).toBe(expected);
      cases += 1;
      if (cases % NOBLE_EVERY === 0) {
        expect(verifies(plainBackend, checkOf(plainBackend, key, message, signature))).toBe(expected);
        if (check !== undefined) expect(nobleBackend.verifyBatch([check, check])).toBe(expected);
      }
      const name = kind.startsWith('bit') ? 'bit flipped' : kind;
      seen.set(name, (seen.get(name) ?? 0) + 1);
    }),
    some,
  );
  expect(seen.size).toBe(8);
});

test('errors that cancel verify as a sum, and not with random weights', { timeout }, () => {
  fc.assert(
    fc.property(fc.nat(65_535), fc.nat(65_535), scalar, (n, m, error) => {
      const message = Uint8Array.of(n >> 8, n);
      const secrets = [secretOf(m), secretOf(m + 1)];
      const shift = G2.Point.BASE.multiply(error);
      const signatures = secrets.map((secret, i) => {
        const good = G2.Point.fromBytes(secret.sign(message).toBytes());
        return (i === 0 ? good.add(shift) : good.subtract(shift)).toBytes(true);
      });
      const checks = secrets.map((secret, i) => {
        const key = secret.toPublicKey().toBytes();
        return checkOf(nobleBackend, key, message, signatures[i] as Uint8Array) as SignatureCheck;
      });
      expect(checks.map((check) => verifies(nobleBackend, check))).toEqual([false, false]);
      const sum = {
        key: nobleBackend.aggregatePublicKeys(checks.map(({ key }) => key)),
        message: nobleBackend.hashToCurve(message),
        signature: nobleBackend.aggregateSignatures(checks.map(({ signature }) => signature)),
      };
      expect(verifies(nobleBackend, sum)).toBe(true);
      expect(nobleBackend.verifyBatch(checks)).toBe(false);
    }),
    few,
  );
});
