import { bls12_381 } from '@noble/curves/bls12-381.js';
import { beforeAll, describe, expect, test } from 'vitest';
import { createKeyRing, type KeyRing } from '../../../src/devnet/key-ring.ts';
import { bytesToHex } from '../../../src/lib/encoding/bytes.ts';

const { longSignatures } = bls12_381;
const MESSAGE = Buffer.from('message');
const SIGNATURE_DST = 'BLS_SIG_BLS12381G2_XMD:SHA-256_SSWU_RO_POP_';
const PROOF_OF_POSSESSION_DST = 'BLS_POP_BLS12381G2_XMD:SHA-256_SSWU_RO_POP_';

function isSignatureOf(publicKey: Uint8Array | undefined, message: Uint8Array, signature: Uint8Array): boolean {
  if (publicKey === undefined) return false;
  return longSignatures.verify(signature, longSignatures.hash(message, SIGNATURE_DST), publicKey);
}

// Up to 64 keys have separate secrets; beyond, keys are sums.
describe.each([5, 64, 65, 300])('a ring of %i keys', (count) => {
  /** Where the native library is not installed, this one is noble too. */
  let native: KeyRing;
  let noble: KeyRing;
  beforeAll(async () => {
    native = await createKeyRing({ count, seed: 3 });
    noble = await createKeyRing({ count, seed: 3, backend: 'noble' });
  });
  const some = [0, 1, 2, count - 1];

  test('has distinct keys, the same with both libraries', () => {
    const keys = native.publicKeys.map(bytesToHex);
    expect(new Set(keys).size).toBe(count);
    expect(noble.publicKeys.map(bytesToHex)).toEqual(keys);
  });

  test('signs the same with both libraries', () => {
    for (const index of some) {
      expect(bytesToHex(native.sign(index, MESSAGE))).toBe(bytesToHex(noble.sign(index, MESSAGE)));
    }
  });

  test('signs so that it verifies under the one key and the one message', () => {
    const signature = native.sign(0, MESSAGE);
    expect(isSignatureOf(native.publicKeys[0], MESSAGE, signature)).toBe(true);
    expect(isSignatureOf(native.publicKeys[1], MESSAGE, signature)).toBe(false);
    expect(isSignatureOf(native.publicKeys[0], Buffer.from('messag'), signature)).toBe(false);
    expect(isSignatureOf(native.publicKeys[count - 1], MESSAGE, native.sign(count - 1, MESSAGE))).toBe(true);
  });

  test('proves the possession of a key', () => {
    const key = native.publicKeys[count - 1];
    if (key === undefined) throw new Error('no key');
    const hashed = longSignatures.hash(key, PROOF_OF_POSSESSION_DST);
    expect(longSignatures.verify(native.provePossession(count - 1), hashed, key)).toBe(true);
  });

  test('knows a signature from other bytes', () => {
    const signature = native.sign(0, MESSAGE);
    const infinity = Uint8Array.from({ length: 96 }, (_, index) => (index === 0 ? 0xc0 : 0));
    for (const ring of [native, noble]) {
      // Twice: what was seen before is remembered.
      expect([ring.isSignature(signature), ring.isSignature(signature)]).toEqual([true, true]);
      // A node takes infinity in a Handshake (`SigValidate` without the infinity check).
      expect(ring.isSignature(infinity)).toBe(true);
      expect(ring.isSignature(new Uint8Array(96).fill(0xff))).toBe(false);
      expect(ring.isSignature(signature.subarray(1))).toBe(false);
      expect(ring.isSignature(new Uint8Array())).toBe(false);
    }
  });

  test('has no key beyond its last', () => {
    expect(() => native.sign(count, MESSAGE)).toThrow(RangeError);
  });
});

test('another seed makes other keys', async () => {
  const [one, other] = await Promise.all([1, 2].map((seed) => createKeyRing({ count: 3, seed })));
  expect(one?.publicKeys).not.toEqual(other?.publicKeys);
});
