import * as blst from '@chainsafe/blst';
import { bls12_381 } from '@noble/curves/bls12-381.js';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Signature } from '../../../../src/bls/backends/bls-backend.ts';
import { nobleBackend } from '../../../../src/bls/backends/noble-backend.ts';
import { g2Curve } from '../../../../src/bls/curve/curve.ts';
import { decodeG1 } from '../../../../src/bls/curve/fast-g1.ts';
import { clearCofactor, decodeG2, encodeG2, isInSubgroup, isInSubgroupBy } from '../../../../src/bls/curve/fast-g2.ts';
import { hashToG2 } from '../../../../src/bls/curve/hash-to-g2.ts';
import { allocate, FP2_BYTES, getBigint } from '../../../../src/bls/field/field.ts';
import { FIELD_ORDER } from '../../../../src/bls/field/field-module.ts';
import { FP_BYTES } from '../../../../src/bls/field/fused-field.ts';
import { LINES_BYTES, prepareLines } from '../../../../src/bls/pairing/fast-pairing.ts';
import { bytesToHex } from '../../../../src/lib/encoding/bytes.ts';
import { ParseError } from '../../../../src/lib/encoding/parse-error.ts';
import vectors from '../../../vectors/standards/hash-to-g2.json' with { type: 'json' };

const { G1, G2 } = bls12_381;
type G2Point = typeof G2.Point.BASE;
const [a, b, out] = [allocate(g2Curve.pointBytes), allocate(g2Curve.pointBytes), allocate(g2Curve.pointBytes)];
const ORDER = 0x73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001n;
/** Prime factors of the cofactor of G2, which is 13² · 23² · 2713 · 11953 · 262069 · LARGEST_PRIME. */
const LARGEST_PRIME =
  0x5d543a95414e7f1091d50792876a202cd91de4547085abaa68a205b2e5a7ddfa628f1cb4d9e82ef21537e293a6691ae1616ec6e786f0c70cf1c38e31c7238e5n /
  (13n ** 2n * 23n ** 2n * 2_713n * 11_953n * 262_069n);
const scalar = fc.bigInt({ min: 1n, max: ORDER - 1n });

function toNoble(address: number): G2Point {
  if (g2Curve.isInfinity(address)) return G2.Point.ZERO;
  g2Curve.normalize(address);
  const [x, y] = [address, address + FP2_BYTES].map((at) => ({ c0: getBigint(at), c1: getBigint(at + FP_BYTES) }));
  return G2.Point.fromAffine({ x, y } as ReturnType<G2Point['toAffine']>);
}

function setMultiple(address: number, factor: bigint): void {
  expect(decodeG2(address, G2.Point.BASE.multiply(factor).toBytes(true))).toBe('point');
}

/** Points of the curve, of whatever subgroup: the first x from a random one on that has a y. */
const anyPoint = fc.uint8Array({ minLength: 96, maxLength: 96 }).map((bytes) => {
  bytes[0] = 0x80 | ((bytes[0] ?? 0) & 0x0f) | ((bytes[1] ?? 0) & 0x20);
  bytes[48] = (bytes[48] ?? 0) & 0x0f;
  for (; decodeG2(a, bytes) !== 'point'; bytes[95] = ((bytes[95] ?? 0) + 1) % 256);
  return bytes;
});

function bytesOf(value: bigint): Uint8Array {
  return Uint8Array.from(Buffer.from(value.toString(16).padStart(96, '0'), 'hex'));
}

/** What looks like an encoding, and mostly is none. */
const crafted = fc.oneof(
  fc.uint8Array({ minLength: 96, maxLength: 96 }),
  fc.tuple(scalar, fc.nat(767)).map(([factor, bit]) => {
    const bytes = G2.Point.BASE.multiply(factor).toBytes(true);
    bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    return bytes;
  }),
  // Coefficients at and above p.
  fc
    .tuple(fc.bigInt({ min: -2n, max: 2n }), fc.bigInt({ min: -2n, max: 2n }), fc.boolean())
    .map(([d1, d0, isLarger]) => {
      const bytes = Uint8Array.of(...bytesOf(FIELD_ORDER + d1), ...bytesOf(d0 < 0n ? -d0 : FIELD_ORDER + d0));
      bytes[0] = (bytes[0] ?? 0) | (isLarger ? 0xa0 : 0x80);
      return bytes;
    }),
  // Infinity, with all flags, and with a bit too many.
  fc
    .tuple(fc.constantFrom(0x40, 0x60, 0xc0, 0xe0, 0xc1), fc.constantFrom(undefined, 1, 47, 48, 95))
    .map(([flags, at]) => {
      const bytes = new Uint8Array(96);
      bytes[0] = flags;
      if (at !== undefined) bytes[at] = 1;
      return bytes;
    }),
);

const inSubgroup = scalar.map((factor) => G2.Point.BASE.multiply(factor).toBytes(true));
const any = fc.oneof(crafted, anyPoint, inSubgroup);

function attempt<T>(decode: () => T): T | undefined {
  try {
    return decode();
  } catch {
    return undefined;
  }
}

/** The encoding of a signature, or why there is none. */
function outcome(parse: () => Signature): string {
  try {
    return bytesToHex(nobleBackend.encodeSignature(parse()));
  } catch (error) {
    if (error instanceof ParseError) return error.message;
    throw error;
  }
}

test('decoding G2 gives, takes and refuses what noble and blst do', () => {
  fc.assert(
    fc.property(any, (bytes) => {
      const ours = decodeG2(a, bytes);
      const noble = attempt(() => G2.Point.fromBytes(bytes));
      const native = attempt(() => blst.Signature.fromBytes(bytes));
      expect(ours !== 'malformed').toBe(native !== undefined);
      // noble takes points of the subgroup alone.
      expect(noble !== undefined).toBe(ours === 'infinity' || (ours === 'point' && isInSubgroup(a)));
      expect(ours === 'infinity').toBe(noble?.is0() === true);
      if (ours !== 'point') return;
      if (noble !== undefined) expect(toNoble(a).equals(noble)).toBe(true);
      expect(bytesToHex(encodeG2(a))).toBe(native?.toHex().replace('0x', ''));
    }),
    { numRuns: 100 },
  );
});

test('decoding G2 decodes two at a time as it decodes each, with the same errors', () => {
  fc.assert(
    fc.property(any, any, (first, second) => {
      const parsed = nobleBackend.parseTwoSignatures?.([first, second]) ?? [];
      for (const [n, bytes] of [first, second].entries()) {
        const alone = outcome(() => nobleBackend.parseSignature(bytes));
        const own = outcome(() => {
          if (parsed[n] instanceof ParseError) throw parsed[n];
          return parsed[n] as Signature;
        });
        expect(own).toEqual(alone);
      }
    }),
    { numRuns: 100 },
  );
});

test('decoding G1 gives, takes and refuses what noble and blst do', () => {
  const compressed = fc.oneof(
    scalar.map((factor) => G1.Point.BASE.multiply(factor).toBytes(true)),
    fc.uint8Array({ minLength: 48, maxLength: 48 }).map((bytes) => {
      bytes[0] = ((bytes[0] ?? 0) & 0x2f) | 0x80;
      return bytes;
    }),
    fc.uint8Array({ minLength: 47, maxLength: 49 }),
    fc.bigInt({ min: -2n, max: 2n }).map((difference) => {
      const bytes = bytesOf(FIELD_ORDER + difference);
      bytes[0] = (bytes[0] ?? 0) | 0x80;
      return bytes;
    }),
    fc.constantFrom(0x40, 0x60, 0xc0, 0xe0, 0xc1).map((flags) => Uint8Array.of(flags, ...new Uint8Array(47))),
  );
  fc.assert(
    fc.property(compressed, (bytes) => {
      const ours = decodeG1(a, bytes);
      const noble = attempt(() => G1.Point.fromBytes(bytes));
      const native = attempt(() => blst.PublicKey.fromBytes(bytes));
      expect(ours !== 'malformed').toBe(native !== undefined);
      expect(ours === 'infinity').toBe(noble?.is0() === true);
      if (ours !== 'point') return;
      const [x, y] = [getBigint(a), getBigint(a + FP_BYTES)];
      expect(native?.toHex(false)).toBe(`0x${bytesToHex(Uint8Array.of(...bytesOf(x), ...bytesOf(y)))}`);
      // noble takes points of the subgroup alone.
      if (noble !== undefined) expect({ x, y }).toEqual(noble.toAffine());
    }),
    { numRuns: 200 },
  );
});

describe('the group', () => {
  test('adds, doubles, negates and multiplies as noble does', () => {
    fc.assert(
      fc.property(scalar, scalar, fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), (x, y, factor) => {
        setMultiple(a, x);
        setMultiple(b, y);
        const [p, q] = [toNoble(a), toNoble(b)];
        // With Z = 1 and without.
        g2Curve.double(a, a);
        g2Curve.add(out, a, b);
        expect(toNoble(out).equals(p.double().add(q))).toBe(true);
        g2Curve.double(b, b);
        g2Curve.add(out, a, b);
        expect(toNoble(out).equals(p.add(q).double())).toBe(true);
        g2Curve.negate(out, a);
        expect(toNoble(out).equals(p.double().negate())).toBe(true);
        g2Curve.multiply(out, b, factor);
        expect(toNoble(out).equals(q.double().multiplyUnsafe(factor))).toBe(true);
      }),
      { numRuns: 20 },
    );
  });

  test('knows equal, opposite and infinite points, whatever their coordinates', () => {
    setMultiple(a, 5n);
    for (const isScaled of [false, true]) {
      setMultiple(b, 5n);
      if (isScaled) {
        g2Curve.double(b, b);
        setMultiple(out, ORDER - 5n);
        g2Curve.add(b, b, out);
      }
      expect(g2Curve.areEqual(a, b)).toBe(true);
      g2Curve.add(out, a, b);
      expect(toNoble(out).equals(G2.Point.BASE.multiply(10n))).toBe(true);
      g2Curve.add(out, b, a);
      expect(toNoble(out).equals(G2.Point.BASE.multiply(10n))).toBe(true);
      g2Curve.negate(b, b);
      g2Curve.add(out, a, b);
      expect(g2Curve.isInfinity(out)).toBe(true);
      g2Curve.double(out, out);
      expect(g2Curve.isInfinity(out)).toBe(true);
      g2Curve.add(out, out, a);
      expect(g2Curve.areEqual(out, a)).toBe(true);
      g2Curve.setInfinity(out);
      g2Curve.add(out, b, out);
      expect(g2Curve.areEqual(out, b)).toBe(true);
    }
    g2Curve.multiply(out, a, 0n);
    expect(g2Curve.isInfinity(out)).toBe(true);
  });

  test('of whatever subgroup: its check and the cofactor are those of noble', () => {
    fc.assert(
      fc.property(fc.oneof(anyPoint, inSubgroup), (bytes) => {
        expect(decodeG2(a, bytes)).toBe('point');
        const noble = toNoble(a);
        expect(isInSubgroup(a)).toBe(noble.isTorsionFree());
        clearCofactor(out, a);
        expect(toNoble(out).equals(noble.clearCofactor())).toBe(true);
        expect(isInSubgroup(out)).toBe(true);
      }),
      { numRuns: 15 },
    );
  });

  test('the multiple that the lines of the pairing come by tells the subgroup too, of points of every order', () => {
    const lines = allocate(LINES_BYTES);
    const isSeenBy = (point: number): boolean => isInSubgroupBy(point, prepareLines(lines, point));
    // The order of the curve, by the primes that its cofactor is of.
    const primes = [13n, 23n, 2_713n, 11_953n, 262_069n];
    fc.assert(
      fc.property(anyPoint, scalar, fc.subarray(primes), fc.boolean(), (bytes, factor, left, isShifted) => {
        expect(decodeG2(a, bytes)).toBe('point');
        expect(isSeenBy(a)).toBe(false);
        setMultiple(b, factor);
        expect(isSeenBy(b)).toBe(true);
        // Of an order that is the product of those left, or of their squares: the loop comes by the point, its opposite and infinity.
        const taken = primes.filter((prime) => !left.includes(prime)).reduce((all, prime) => all * prime ** 2n, 1n);
        g2Curve.multiply(out, a, ORDER * LARGEST_PRIME * taken);
        // Always with all primes taken; else rarely, as one point in 169 has no part of order 13.
        const isNothingLeft = g2Curve.isInfinity(out);
        if (isShifted) g2Curve.add(out, out, b);
        fc.pre(!g2Curve.isInfinity(out));
        g2Curve.normalize(out);
        expect(isSeenBy(out)).toBe(isInSubgroup(out));
        expect(isInSubgroup(out)).toBe(isShifted && isNothingLeft);
      }),
      { numRuns: 40 },
    );
  });
});

test.each(vectors.vectors)('RFC 9380 J.10.1, message of $msg.length bytes', ({ msg, P }) => {
  hashToG2(out, new TextEncoder().encode(msg), vectors.dst);
  const { x, y } = toNoble(out).toAffine();
  const coefficients = (text: string): bigint[] => text.split(',').map(BigInt);
  expect([x.c0, x.c1]).toEqual(coefficients(P.x));
  expect([y.c0, y.c1]).toEqual(coefficients(P.y));
});
