import { bls12_381 } from '@noble/curves/bls12-381.js';
import { expect, test } from 'vitest';
import { SIGNATURE_DST } from '../../../../src/bls/backends/bls-backend.ts';
import { nobleBackend } from '../../../../src/bls/backends/noble-backend.ts';
import { bytesToHex } from '../../../../src/lib/encoding/bytes.ts';
import { readCases } from '../../../vectors/vectors.ts';

const { longSignatures } = bls12_381;

test.each(readCases())('$name', ({ canonicalValidators, signed, unsignedMessage }) => {
  const hashed = nobleBackend.hashToCurve(unsignedMessage);
  const points = canonicalValidators.map(({ publicKey, signature }) => ({
    key: nobleBackend.parsePublicKey(publicKey),
    signature: nobleBackend.parseSignature(signature),
  }));
  for (const { key, signature } of points) expect(nobleBackend.verify(key, hashed, signature)).toBe(true);
  if (signed === undefined) return;
  const signers = signed.signerIndices.flatMap((index) => points[index] ?? []);
  const aggregate = nobleBackend.aggregateSignatures(signers.map(({ signature }) => signature));
  expect(bytesToHex(nobleBackend.encodeSignature(aggregate))).toBe(bytesToHex(signed.aggregateSignature));
  const key = nobleBackend.aggregatePublicKeys(signers.map((signer) => signer.key));
  expect(nobleBackend.verify(key, hashed, aggregate)).toBe(true);
});

test('a proof of possession is no signature: the domain separates them', () => {
  const secret = Uint8Array.of(...new Uint8Array(31), 9);
  const message = longSignatures.getPublicKey(secret).toBytes(true);
  const sign = (dst: string) =>
    nobleBackend.parseSignature(longSignatures.sign(longSignatures.hash(message, dst), secret).toBytes(true));
  const key = nobleBackend.parsePublicKey(message);
  const hashed = nobleBackend.hashToCurve(message);
  expect(nobleBackend.verify(key, hashed, sign(SIGNATURE_DST))).toBe(true);
  expect(nobleBackend.verify(key, hashed, sign('BLS_POP_BLS12381G2_XMD:SHA-256_SSWU_RO_POP_'))).toBe(false);
});
