import * as blst from '@chainsafe/blst';
import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import type { SignatureCheck } from '../../../src/bls/bls-backend.ts';
import { FP_BYTES } from '../../../src/bls/field-choice.ts';
import type * as fusedField from '../../../src/bls/fused-field.ts';
import { INTEGER_FIELD_BYTES } from '../../../src/bls/integer-field.ts';
import { nobleBackend } from '../../../src/bls/noble-backend.ts';

/** The noble backend where the machine does not multiply and add with one rounding. */
vi.mock('../../../src/bls/fused-field.ts', async (importOriginal) => ({
  ...(await importOriginal<typeof fusedField>()),
  isFused: () => false,
}));

const secretOf = (n: number): blst.SecretKey => blst.SecretKey.fromKeygen(new Uint8Array(32).fill(n));

test('it computes on integers', () => {
  expect(FP_BYTES).toBe(INTEGER_FIELD_BYTES);
  expect(nobleBackend.packedPublicKeyBytes).toBe(3 * INTEGER_FIELD_BYTES);
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
      const parsed = nobleBackend.parseTwoSignatures?.(signatures as [Uint8Array, Uint8Array]) ?? [];
      const keys = secrets.map((secret) => nobleBackend.parsePublicKey(secret.toPublicKey().toBytes()));
      const signature = nobleBackend.aggregateSignatures(parsed as SignatureCheck['signature'][]);
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
    { numRuns: 40 },
  );
});
