import * as blst from '@chainsafe/blst';
import { bls12_381 } from '@noble/curves/bls12-381.js';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { BlsBackend, SignatureCheck } from '../../../../src/bls/backends/bls-backend.ts';
import { BACKEND_NAMES, loadBackend } from '../../../../src/bls/backends/load-backend.ts';
import { plainBackend } from '../../../../src/bls/backends/plain-backend.ts';
import { bytesToHex } from '../../../../src/lib/encoding/bytes.ts';
import { ParseError } from '../../../../src/lib/encoding/parse-error.ts';

const { G2 } = bls12_381;
const backends = await Promise.all(BACKEND_NAMES.map(loadBackend));
const MESSAGE = new TextEncoder().encode('a message');
const OTHER = new TextEncoder().encode('another message');

const secrets = [1, 2, 3, 4].map((byte) => blst.SecretKey.fromKeygen(new Uint8Array(32).fill(byte)));
const [secret] = secrets as [blst.SecretKey];
const publicKey = secret.toPublicKey().toBytes();
const signature = secret.sign(MESSAGE).toBytes();

/** A point of the curve whose order is not that of the group; another one for most seeds. */
function offSubgroup(seed: number): Uint8Array {
  const bytes = new Uint8Array(96);
  bytes.set([0x80, seed]);
  for (let x = 1; ; x += 1) {
    bytes[95] = x;
    try {
      blst.Signature.fromBytes(bytes);
      return bytes;
    } catch {
      // No point has this x.
    }
  }
}
const OFF_SUBGROUP = offSubgroup(0);

function negated(bytes: Uint8Array): Uint8Array {
  const copy = Uint8Array.from(bytes);
  copy[0] = (copy[0] ?? 0) ^ 0x20;
  return copy;
}

function checkOf(backend: BlsBackend, key: Uint8Array, message: Uint8Array, bytes: Uint8Array): SignatureCheck {
  return {
    key: backend.parsePublicKey(key),
    message: backend.hashToCurve(message),
    signature: backend.parseSignature(bytes),
  };
}

function verifies(backend: BlsBackend, { key, message, signature }: SignatureCheck): boolean {
  return backend.verify(key, message, signature);
}

describe.each([...backends, plainBackend])('the backend $name', (backend) => {
  const good = checkOf(backend, publicKey, MESSAGE, signature);
  const infinityKey = backend.aggregatePublicKeys([good.key, backend.parsePublicKey(negated(publicKey))]);
  const infinity = backend.aggregateSignatures([good.signature, backend.parseSignature(negated(signature))]);

  test('verifies a signature for its key and message alone', () => {
    expect(verifies(backend, good)).toBe(true);
    expect(verifies(backend, { ...good, message: backend.hashToCurve(OTHER) })).toBe(false);
    expect(verifies(backend, { ...good, key: backend.parsePublicKey(negated(publicKey)) })).toBe(false);
    expect(verifies(backend, { ...good, signature: backend.parseSignature(negated(signature)) })).toBe(false);
  });

  test.each([
    ['too short', (bytes: Uint8Array) => bytes.subarray(1), /must have \d+ bytes, has \d+/],
    ['too long', (bytes: Uint8Array) => Uint8Array.of(...bytes, 0), /must have \d+ bytes, has \d+/],
    [
      'uncompressed',
      (bytes: Uint8Array) => Uint8Array.of((bytes[0] ?? 0) & 0x7f, ...bytes.subarray(1)),
      /on the curve/,
    ],
    ['no x below p', (bytes: Uint8Array) => bytes.map((_, i) => (i === 0 ? 0x9f : 0xff)), /on the curve/],
    ['infinity', (bytes: Uint8Array) => bytes.map((_, i) => (i === 0 ? 0xc0 : 0)), /the point at infinity/],
    ['infinity with a sign', (bytes: Uint8Array) => bytes.map((_, i) => (i === 0 ? 0xe0 : 0)), /on the curve/],
    ['infinity and more', (bytes: Uint8Array) => bytes.map((_, i) => (i === 0 ? 0xc0 : 1)), /on the curve/],
  ])('refuses what is %s', (_, spoil, reason) => {
    for (const parse of [
      () => backend.parsePublicKey(spoil(publicKey)),
      () => backend.parseSignature(spoil(signature)),
    ]) {
      expect(parse).toThrow(ParseError);
      expect(parse).toThrow(reason);
    }
  });

  test.runIf(backend !== plainBackend)('takes a single point of whatever subgroup, and verifies none outside', () => {
    const outside = { ...good, signature: backend.parseSignature(OFF_SUBGROUP) };
    expect(verifies(backend, outside)).toBe(false);
    expect(backend.verifyBatch([good, outside])).toBe(false);
    const shifted = { ...good, signature: backend.aggregateSignatures([good.signature, outside.signature]) };
    expect(verifies(backend, shifted)).toBe(false);
    expect(backend.verifyBatch([good, shifted])).toBe(false);
  });

  test('verifies nothing with infinity on a side', () => {
    for (const check of [
      { ...good, key: infinityKey },
      { ...good, signature: infinity },
      { ...good, key: infinityKey, signature: infinity },
    ]) {
      expect(verifies(backend, check)).toBe(false);
      expect(backend.verifyBatch([good, check])).toBe(false);
    }
    expect(bytesToHex(backend.encodeSignature(infinity))).toBe(bytesToHex(G2.Point.ZERO.toBytes(true)));
  });

  test('verifies a batch where each of it verifies, and colluders do not help each other', () => {
    const checks = secrets.map((each, index) => {
      const message = Uint8Array.of(index >> 1);
      return checkOf(backend, each.toPublicKey().toBytes(), message, each.sign(message).toBytes());
    });
    expect(backend.verifyBatch(checks)).toBe(true);
    expect(backend.verifyBatch(checks.slice(0, 1))).toBe(true);
    expect(backend.verifyBatch([])).toBe(true);
    for (const position of [0, 3]) {
      const wrong = checks.with(position, {
        ...(checks[position] as SignatureCheck),
        message: backend.hashToCurve(OTHER),
      });
      expect(backend.verifyBatch(wrong)).toBe(false);
    }
    // The errors of these two cancel in a plain sum.
    const [first, second] = checks as [SignatureCheck, SignatureCheck];
    const shift = backend.parseSignature(signature);
    const back = backend.parseSignature(negated(signature));
    const colluding = checks
      .with(0, { ...first, signature: backend.aggregateSignatures([first.signature, shift]) })
      .with(1, { ...second, signature: backend.aggregateSignatures([second.signature, back]) });
    expect(backend.verifyBatch(colluding)).toBe(false);
  });

  test.runIf(backend.sumEncodedSignatures)(
    'sums up encodings as it does points, and none where one is no point',
    () => {
      const encoded = secrets.map((secret) => secret.sign(MESSAGE).toBytes());
      const sumOf = (signatures: readonly Uint8Array[]) => {
        const sum = backend.sumEncodedSignatures?.(signatures);
        return sum && bytesToHex(backend.encodeSignature(sum));
      };
      const points = encoded.map((bytes) => backend.parseSignature(bytes));
      for (const count of [1, 2, encoded.length]) {
        const expected = backend.encodeSignature(backend.aggregateSignatures(points.slice(0, count)));
        expect(sumOf(encoded.slice(0, count))).toBe(bytesToHex(expected));
      }
      const keys = secrets.map((secret) => backend.parsePublicKey(secret.toPublicKey().toBytes()));
      const packedKeys = keys.map((key) => backend.packPublicKey(key));
      for (const count of [1, 2, keys.length]) {
        const sum = backend.sumPackedPublicKeys?.(packedKeys.slice(0, count));
        const expected = backend.packPublicKey(backend.aggregatePublicKeys(keys.slice(0, count)));
        expect(sum && bytesToHex(backend.packPublicKey(sum))).toBe(bytesToHex(expected));
      }
      const [first] = encoded as [Uint8Array];
      const infinityBytes = Uint8Array.of(0xc0, ...new Uint8Array(95));
      for (const bad of [infinityBytes, new Uint8Array(96).fill(0xff), new Uint8Array(96)]) {
        expect(() => backend.parseSignature(bad)).toThrow(ParseError);
        for (const signatures of [[bad], [first, bad], [bad, first]]) expect(sumOf(signatures)).toBeUndefined();
      }
      // As they came, in front of zeros, they are packed, too.
      const packed = new Uint8Array(backend.packedSignatureBytes);
      packed.set(first);
      expect(bytesToHex(backend.encodeSignature(backend.unpackSignature(packed)))).toBe(bytesToHex(first));
    },
  );

  test('packs and unpacks, sums and infinity too', () => {
    const other = backend.parseSignature(secrets[1]?.sign(MESSAGE).toBytes() as Uint8Array);
    for (const each of [good.signature, infinity, backend.aggregateSignatures([good.signature, other, other])]) {
      const packed = backend.packSignature(each);
      expect(packed.length).toBe(backend.packedSignatureBytes);
      // At an offset that fits no word, as a slice of a message may be.
      const moved = Uint8Array.of(0, ...packed).subarray(1);
      const unpacked = backend.unpackSignature(moved);
      expect(bytesToHex(backend.encodeSignature(unpacked))).toBe(bytesToHex(backend.encodeSignature(each)));
    }
    for (const key of [good.key, backend.aggregatePublicKeys([good.key, good.key, good.key])]) {
      const packed = backend.packPublicKey(key);
      expect(packed.length).toBe(backend.packedPublicKeyBytes);
      const again = backend.packPublicKey(backend.unpackPublicKey(Uint8Array.of(0, ...packed).subarray(1)));
      expect(bytesToHex(again)).toBe(bytesToHex(packed));
    }
    const message = backend.unpackMessage(Uint8Array.from(backend.packMessage(good.message)));
    expect(verifies(backend, { ...good, message })).toBe(true);
  });
});

/** What peers may send: a signature of this message, of another one, of another signer, or any point. */
const contributions = fc.array(
  fc.record({
    signer: fc.nat(secrets.length - 1),
    kind: fc.constantFrom('good', 'good', 'good', 'of another message', 'negated', 'off subgroup'),
  }),
  { minLength: 1, maxLength: 6 },
);

test('all backends agree on sums, their bytes and whether they verify', () => {
  fc.assert(
    fc.property(contributions, (parts) => {
      const hasAnyPoint = parts.some(({ kind }) => kind === 'off subgroup');
      // Plain noble takes points of the subgroup alone.
      const results = [...backends, ...(hasAnyPoint ? [] : [plainBackend])].map((backend) => {
        const keys = parts.map(({ signer }) => secrets[signer]?.toPublicKey().toBytes() as Uint8Array);
        const signatures = parts.map(({ signer, kind }) => {
          const own = secrets[signer]?.sign(kind === 'of another message' ? OTHER : MESSAGE).toBytes() as Uint8Array;
          return kind === 'negated' ? negated(own) : kind === 'off subgroup' ? OFF_SUBGROUP : own;
        });
        const sum = backend.aggregateSignatures(signatures.map((each) => backend.parseSignature(each)));
        const check = {
          key: backend.aggregatePublicKeys(keys.map((each) => backend.parsePublicKey(each))),
          message: backend.hashToCurve(MESSAGE),
          signature: sum,
        };
        return {
          bytes: bytesToHex(backend.encodeSignature(sum)),
          isValid: verifies(backend, check),
          isValidInBatch: backend.verifyBatch([check, check]),
        };
      });
      const [first, ...others] = results;
      for (const other of others) expect(other).toEqual(first);
      expect(first?.isValidInBatch).toBe(first?.isValid);
      if (parts.every(({ kind }) => kind === 'good')) expect(first?.isValid).toBe(true);
    }),
    { numRuns: 20 },
  );
});

/** Changes of a good signature, with another one of the same signer. */
type Spoil = (good: Uint8Array, other: Uint8Array) => Uint8Array;
const flipped =
  (bit: number): Spoil =>
  (good) =>
    good.map((byte, index) => (index === bit >> 3 ? byte ^ (1 << (bit & 7)) : byte));
const spoil: fc.Arbitrary<Spoil> = fc.oneof(
  fc.constantFrom<Spoil>(
    (good) => good,
    negated,
    (_, other) => other,
    (good, other) => blst.aggregateSerializedSignatures([good, other]).toBytes(),
    () => Uint8Array.of(0xc0, ...new Uint8Array(95)),
  ),
  fc.nat(767).map(flipped),
  fc.nat(255).map((seed) => () => offSubgroup(seed)),
  fc.uint8Array({ minLength: 96, maxLength: 96 }).map((bytes) => () => bytes),
);

function verdictOf(backend: BlsBackend, ...encoded: [key: Uint8Array, message: Uint8Array, bytes: Uint8Array]) {
  try {
    const check = checkOf(backend, ...encoded);
    return [verifies(backend, check), backend.verifyBatch([check, check])];
  } catch (error) {
    if (error instanceof ParseError) return [false, false];
    throw error;
  }
}

test('the signature of a key and message alone verifies, whatever is sent', () => {
  let cases = 0;
  fc.assert(
    fc.property(fc.nat(255), fc.nat(65_535), spoil, (n, m, change) => {
      const signer = blst.SecretKey.fromKeygen(new Uint8Array(32).fill(n));
      const message = Uint8Array.of(m >> 8, m);
      const good = signer.sign(message).toBytes();
      const bytes = change(good, signer.sign(Uint8Array.of(m >> 8, m, 1)).toBytes());
      const isGood = bytesToHex(bytes) === bytesToHex(good);
      cases += 1;
      // Plain noble takes ten times as long.
      for (const backend of cases % 10 === 0 ? [...backends, plainBackend] : backends) {
        expect(verdictOf(backend, signer.toPublicKey().toBytes(), message, bytes)).toEqual([isGood, isGood]);
      }
    }),
    { numRuns: 150 },
  );
});
