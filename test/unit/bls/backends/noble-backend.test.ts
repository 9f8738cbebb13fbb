import { bls12_381 } from '@noble/curves/bls12-381.js';
import { describe, expect, test } from 'vitest';
import { SIGNATURE_DST } from '../../../../src/bls/backends/bls-backend.ts';
import { nobleBackend } from '../../../../src/bls/backends/noble-backend.ts';
import { bytesToHex } from '../../../../src/lib/encoding/bytes.ts';
import { readCases } from '../../../vectors/vectors.ts';

const { longSignatures } = bls12_381;
const cases = readCases();
const [vector] = cases as [(typeof cases)[number]];
const [validator] = vector.canonicalValidators as [(typeof vector.canonicalValidators)[number]];

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
