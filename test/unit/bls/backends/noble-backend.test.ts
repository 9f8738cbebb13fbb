import { bls12_381 } from '@noble/curves/bls12-381.js';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { SIGNATURE_DST } from '../../../../src/bls/backends/bls-backend.ts';
import { nobleBackend } from '../../../../src/bls/backends/noble-backend.ts';
import { bytesToHex } from '../../../../src/lib/encoding/bytes.ts';
import { ParseError } from '../../../../src/lib/encoding/parse-error.ts';
import { readCases } from '../../../vectors/vectors.ts';

const { G1, G2, longSignatures } = bls12_381;
const cases = readCases();
const [vector] = cases as [(typeof cases)[number]];
const [validator] = vector.canonicalValidators as [(typeof vector.canonicalValidators)[number]];
const INFINITY_FLAG = 0x40;
const LARGER_Y_FLAG = 0x20;
const COMPRESSED_FLAG = 0x80;

describe('signatures made by the reference', () => {
  test.each(cases)('$name: each of its validators', ({ canonicalValidators, unsignedMessage }) => {
    const hashed = nobleBackend.hashToCurve(unsignedMessage);
    for (const { publicKey, signature } of canonicalValidators) {
      const key = nobleBackend.parsePublicKey(publicKey);
      expect(nobleBackend.verify(key, hashed, nobleBackend.parseSignature(signature))).toBe(true);
    }
    const [first, second] = canonicalValidators;
    if (first === undefined || second === undefined) throw new Error('a case needs two validators');
    const key = nobleBackend.parsePublicKey(first.publicKey);
    expect(nobleBackend.verify(key, hashed, nobleBackend.parseSignature(second.signature))).toBe(false);
  });

  test.each(cases.filter(({ signed }) => signed !== undefined))('$name: the aggregate, byte for byte', (vector) => {
    const { canonicalValidators, signed, unsignedMessage } = vector;
    const signers = (signed?.signerIndices ?? []).flatMap((index) => canonicalValidators[index] ?? []);
    const aggregate = nobleBackend.aggregateSignatures(
      signers.map(({ signature }) => nobleBackend.parseSignature(signature)),
    );
    expect(bytesToHex(nobleBackend.encodeSignature(aggregate))).toBe(
      bytesToHex(signed?.aggregateSignature ?? new Uint8Array()),
    );
    const key = nobleBackend.aggregatePublicKeys(
      signers.map(({ publicKey }) => nobleBackend.parsePublicKey(publicKey)),
    );
    expect(nobleBackend.verify(key, nobleBackend.hashToCurve(unsignedMessage), aggregate)).toBe(true);
  });

  test('a message of one more byte is another message', () => {
    const hashed = nobleBackend.hashToCurve(Uint8Array.of(...vector.unsignedMessage, 0));
    const key = nobleBackend.parsePublicKey(validator.publicKey);
    expect(nobleBackend.verify(key, hashed, nobleBackend.parseSignature(validator.signature))).toBe(false);
  });

  test('a proof of possession is no signature: the domain separates them', () => {
    const secret = Uint8Array.of(...new Uint8Array(31), 9);
    const publicKey = longSignatures.getPublicKey(secret);
    const message = publicKey.toBytes(true);
    const sign = (dst: string) =>
      nobleBackend.parseSignature(longSignatures.sign(longSignatures.hash(message, dst), secret).toBytes(true));
    const key = nobleBackend.parsePublicKey(message);
    const hashed = nobleBackend.hashToCurve(message);
    expect(nobleBackend.verify(key, hashed, sign(SIGNATURE_DST))).toBe(true);
    expect(nobleBackend.verify(key, hashed, sign('BLS_POP_BLS12381G2_XMD:SHA-256_SSWU_RO_POP_'))).toBe(false);
  });
});

const KINDS = [
  {
    kind: 'public key',
    good: validator.publicKey,
    parse: nobleBackend.parsePublicKey,
    infinity: G1.Point.ZERO.toBytes(true),
    uncompressed: G1.Point.BASE.toBytes(false),
  },
  {
    kind: 'signature',
    good: validator.signature,
    parse: nobleBackend.parseSignature,
    infinity: G2.Point.ZERO.toBytes(true),
    uncompressed: G2.Point.BASE.toBytes(false),
  },
] as const;

describe.each(KINDS)('a malformed $kind', ({ kind, good, parse, infinity, uncompressed }) => {
  const expectRefused = (bytes: Uint8Array, reason: RegExp = /./): void => {
    let error: unknown;
    try {
      parse(bytes);
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toBeInstanceOf(ParseError);
    expect((error as ParseError).what).toBe(kind);
    expect((error as ParseError).reason).toMatch(reason);
  };

  test('of another length', () => {
    expectRefused(new Uint8Array(), /must have \d+ bytes, has 0/);
    expectRefused(good.subarray(1), /must have/);
    expectRefused(Uint8Array.of(...good, 0), /must have/);
    expectRefused(uncompressed, /must have/);
  });

  test('at infinity', () => {
    expectRefused(infinity, /infinity/);
    expectRefused(Uint8Array.of(INFINITY_FLAG, ...infinity.subarray(1)));
  });

  test('with flags that cannot be', () => {
    const head = good[0] ?? 0;
    for (const flags of [
      head & ~COMPRESSED_FLAG,
      head | INFINITY_FLAG,
      INFINITY_FLAG | LARGER_Y_FLAG | COMPRESSED_FLAG,
      0,
    ]) {
      expectRefused(Uint8Array.of(flags, ...good.subarray(1)));
    }
  });

  test('with an x that is no field element', () => {
    expectRefused(new Uint8Array(good.length).fill(0xff));
    expectRefused(Uint8Array.of(0x9f, ...new Uint8Array(good.length - 1).fill(0xff)));
  });

  test('made of any bytes is a ParseError, or a point', () => {
    const anyX = fc.uint8Array({ minLength: good.length, maxLength: good.length }).map((bytes) => {
      // A likely x: the flags of a compressed point, and below the field's prime.
      const copy = Uint8Array.from(bytes);
      copy[0] = COMPRESSED_FLAG | ((copy[0] ?? 0) & 0x2f);
      return copy;
    });
    fc.assert(
      fc.property(anyX, (bytes) => {
        try {
          expect(parse(bytes)).toBeDefined();
        } catch (error) {
          expect(error).toBeInstanceOf(ParseError);
        }
      }),
      { numRuns: 20 },
    );
  });
});

/** A point on the curve of G2 and outside the subgroup: nearly any x that has a y. */
function offSubgroupPoint(): InstanceType<typeof G2.Point> {
  const { Fp } = G2.Point;
  for (let c0 = 1n; ; c0 += 1n) {
    const x = { c0, c1: 0n };
    const right = Fp.add(Fp.mul(Fp.sqr(x), x), G2.Point.CURVE().b);
    try {
      const point = G2.Point.fromAffine({ x, y: Fp.sqrt(right) });
      if (!point.isTorsionFree()) return point;
    } catch {
      // No square root: not on the curve.
    }
  }
}

/** Encodes c1 and c0 of x with the flags in front, because noble encodes only points of the subgroup. */
function compress(point: InstanceType<typeof G2.Point>): Uint8Array {
  const { Fp, Fp2 } = bls12_381.fields;
  const { x, y } = point.toAffine();
  const bytes = Uint8Array.of(...Fp.toBytes(x.c1), ...Fp.toBytes(x.c0));
  const opposite = Fp2.neg(y);
  const isLarger = y.c1 === opposite.c1 ? y.c0 > opposite.c0 : y.c1 > opposite.c1;
  bytes[0] = (bytes[0] ?? 0) | COMPRESSED_FLAG | (isLarger ? LARGER_Y_FLAG : 0);
  return bytes;
}

test('the compression above is that of the curve', () => {
  const point = G2.Point.fromBytes(validator.signature);
  for (const either of [point, point.negate()]) expect(compress(either)).toEqual(either.toBytes(true));
});

test('a point outside the subgroup is no signature, however it comes in', () => {
  const bytes = compress(offSubgroupPoint());
  let point: ReturnType<typeof nobleBackend.parseSignature>;
  try {
    point = nobleBackend.parseSignature(bytes);
  } catch (error) {
    // A backend may check the subgroup this early,
    expect(error).toBeInstanceOf(ParseError);
    return;
  }
  // or leave it to the aggregate.
  const hashed = nobleBackend.hashToCurve(vector.unsignedMessage);
  const key = nobleBackend.parsePublicKey(validator.publicKey);
  expect(nobleBackend.verify(key, hashed, point)).toBe(false);
  const good = nobleBackend.parseSignature(validator.signature);
  expect(nobleBackend.verify(key, hashed, nobleBackend.aggregateSignatures([good, point]))).toBe(false);
});

test('infinity verifies nothing: neither as key nor as signature', () => {
  const hashed = nobleBackend.hashToCurve(vector.unsignedMessage);
  const key = nobleBackend.parsePublicKey(validator.publicKey);
  const signature = nobleBackend.parseSignature(validator.signature);
  const zeroKey = nobleBackend.aggregatePublicKeys([
    key,
    nobleBackend.parsePublicKey(G1.Point.fromBytes(validator.publicKey).negate().toBytes(true)),
  ]);
  const zeroSignature = nobleBackend.aggregateSignatures([
    signature,
    nobleBackend.parseSignature(G2.Point.fromBytes(validator.signature).negate().toBytes(true)),
  ]);
  expect(nobleBackend.verify(zeroKey, hashed, zeroSignature)).toBe(false);
  expect(nobleBackend.verify(zeroKey, hashed, signature)).toBe(false);
  expect(nobleBackend.verify(key, hashed, zeroSignature)).toBe(false);
});
