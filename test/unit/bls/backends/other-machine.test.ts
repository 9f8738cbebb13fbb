import * as blst from '@chainsafe/blst';
import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { backendShape, loadBackend } from '../../../../src/bls/backends/load-backend.ts';
import { plainBackend } from '../../../../src/bls/backends/plain-backend.ts';
import { isFused } from '../../../../src/bls/field/fused-field.ts';

/** Simulates Node without WebAssembly; a processor without fused multiply-add has the same result. */
vi.stubGlobal('WebAssembly', undefined);

const secretOf = (n: number): blst.SecretKey => blst.SecretKey.fromKeygen(new Uint8Array(32).fill(n));

const nobleBackend = await loadBackend('noble');

test('it computes with noble alone', async () => {
  expect(isFused()).toBe(false);
  expect(nobleBackend).toBe(plainBackend);
  expect(await backendShape('noble')).toMatchObject({ packedPublicKeyBytes: plainBackend.packedPublicKeyBytes });
});

test('sums and verdicts are those of blst', () => {
  const spoil = fc.constantFrom('good', 'of another message', 'of another key', 'negated');
  fc.assert(
    fc.property(fc.nat(255), fc.nat(65_535), spoil, (n, m, kind) => {
      const message = Uint8Array.of(m >> 8, m);
      const secrets = [secretOf(n), secretOf((n + 1) % 256)];
      const signatures = secrets.map((secret) => secret.sign(message).toBytes());
      const spoilt = signatures[1] as Uint8Array;
      if (kind === 'of another message')
        signatures[1] = secretOf((n + 1) % 256)
          .sign(Uint8Array.of(m))
          .toBytes();
      if (kind === 'of another key')
        signatures[1] = secretOf((n + 2) % 256)
          .sign(message)
          .toBytes();
      if (kind === 'negated') spoilt[0] = (spoilt[0] ?? 0) ^ 0x20;
      const parsed = signatures.map((bytes) => nobleBackend.parseSignature(bytes));
      const keys = secrets.map((secret) => nobleBackend.parsePublicKey(secret.toPublicKey().toBytes()));
      const signature = nobleBackend.aggregateSignatures(parsed);
      const nativeSum = blst.aggregateSignatures(signatures.map((bytes) => blst.Signature.fromBytes(bytes)));
      expect(nobleBackend.encodeSignature(signature)).toEqual(nativeSum.toBytes());
      const check = {
        key: nobleBackend.aggregatePublicKeys(keys),
        message: nobleBackend.hashToCurve(message),
        signature,
      };
      const nativeKey = blst.aggregatePublicKeys(secrets.map((secret) => secret.toPublicKey()));
      const expected = blst.verify(message, nativeKey, nativeSum);
      expect(expected).toBe(kind === 'good');
      expect(nobleBackend.verify(check.key, check.message, check.signature)).toBe(expected);
      expect(nobleBackend.verifyBatch([check, check])).toBe(expected);
    }),
    { numRuns: 8 },
  );
});
