import { bls12_381 } from '@noble/curves/bls12-381.js';
import { beforeAll, describe, expect, test } from 'vitest';
import { SIGNATURE_DST } from '../../../src/bls/backends/bls-backend.ts';
import { createKeyRing, type KeyRing } from '../../../src/devnet/key-ring.ts';
import { bytesToHex } from '../../../src/lib/encoding/bytes.ts';

const { longSignatures } = bls12_381;
const MESSAGE = Buffer.from('message');
const PROOF_OF_POSSESSION_DST = 'BLS_POP_BLS12381G2_XMD:SHA-256_SSWU_RO_POP_';

// Up to 64 keys have separate secrets; beyond, keys are sums.
describe.each([3, 65])('a ring of %i keys', (count) => {
  /** Where the native library is not installed, this one is noble too. */
  let native: KeyRing;
  let noble: KeyRing;
  let lastKey: Uint8Array;
  beforeAll(async () => {
    native = await createKeyRing({ count, seed: 3 });
    noble = await createKeyRing({ count, seed: 3, backend: 'noble' });
    lastKey = native.publicKeys[count - 1] as Uint8Array;
  });

  test('has distinct keys, the same with both libraries', () => {
    const keys = native.publicKeys.map(bytesToHex);
    expect(new Set(keys).size).toBe(count);
    expect(noble.publicKeys.map(bytesToHex)).toEqual(keys);
  });

  test('signs for one key and one message, the same with both libraries', () => {
    const signature = native.sign(count - 1, MESSAGE);
    for (const index of [0, count - 1]) expect(noble.sign(index, MESSAGE)).toEqual(native.sign(index, MESSAGE));
    const isOf = (text: string, key: Uint8Array | undefined): boolean =>
      longSignatures.verify(signature, longSignatures.hash(Buffer.from(text), SIGNATURE_DST), key as Uint8Array);
    expect(isOf('message', lastKey)).toBe(true);
    expect(isOf('message', native.publicKeys[0])).toBe(false);
    expect(isOf('messag', lastKey)).toBe(false);
    expect(() => native.sign(count, MESSAGE)).toThrow(RangeError);
  });

  test('proves the possession of a key', () => {
    const hashed = longSignatures.hash(lastKey, PROOF_OF_POSSESSION_DST);
    expect(longSignatures.verify(native.provePossession(count - 1), hashed, lastKey)).toBe(true);
  });

  test('recognises signatures', () => {
    const signature = native.sign(0, MESSAGE);
    const infinity = Uint8Array.from({ length: 96 }, (_, index) => (index === 0 ? 0xc0 : 0));
    for (const ring of [native, noble]) {
      // Twice, because of the cache. A node accepts infinity in a Handshake (`SigValidate` without the infinity check).
      for (const bytes of [signature, signature, infinity]) expect(ring.isSignature(bytes)).toBe(true);
      for (const bytes of [new Uint8Array(96).fill(0xff), signature.subarray(1), new Uint8Array()]) {
        expect(ring.isSignature(bytes)).toBe(false);
      }
    }
  });
});

test('another seed has other keys', async () => {
  const [one, other] = await Promise.all([1, 2].map((seed) => createKeyRing({ count: 3, seed })));
  expect(one?.publicKeys).not.toEqual(other?.publicKeys);
});
