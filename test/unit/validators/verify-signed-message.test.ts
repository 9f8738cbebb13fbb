import { bls12_381 } from '@noble/curves/bls12-381.js';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { SIGNATURE_DST } from '../../../src/bls/backends/bls-backend.ts';
import { nobleBackend } from '../../../src/bls/backends/noble-backend.ts';
import type { Validator } from '../../../src/validators/validator.ts';
import { verifySignedMessage } from '../../../src/validators/verify-signed-message.ts';
import { createWarpSet, type WarpSet } from '../../../src/validators/warp-set.ts';
import { nodeIDFromBytes, P_CHAIN_ID } from '../../../src/warp/ids.ts';
import { encodeSignedMessage, parseSignedMessage } from '../../../src/warp/signed-message.ts';
import { createUnsignedMessage } from '../../../src/warp/unsigned-message.ts';
import { readCases } from '../../vectors/vectors.ts';
import { mutated } from '../warp/codec-properties.ts';

const { longSignatures } = bls12_381;
const INFINITY_SIGNATURE = bls12_381.G2.Point.ZERO.toBytes(true);

describe('what the reference accepts', () => {
  const signedCases = readCases().flatMap(({ signed, ...vector }) => {
    if (signed === undefined) return [];
    const validators = vector.canonicalValidators.map(
      ({ publicKey, weight }, index): Validator => ({
        nodeID: nodeIDFromBytes(new Uint8Array(20).fill(index)),
        publicKey,
        weight,
      }),
    );
    const silent = vector.totalWeight - validators.reduce((sum, { weight }) => sum + weight, 0n);
    const warpSet = createWarpSet([
      ...validators,
      { nodeID: nodeIDFromBytes(new Uint8Array(20).fill(0xff)), publicKey: undefined, weight: silent },
    ]);
    return [{ ...vector, signed, warpSet }];
  });

  test.each(signedCases)('$name', ({ signed, warpSet, networkID }) => {
    // The greatest percentage that was signed for, and the next.
    const reached = (100n * signed.signerWeight) / warpSet.totalWeight;
    const verify = (quorumNum: bigint, bytes = signed.signedMessage, id = networkID) =>
      verifySignedMessage(bytes, { networkID: id, warpSet, quorumNum }, nobleBackend);
    expect(verify(67n)).toEqual({ kind: 'valid', signedWeight: signed.signerWeight });
    expect(verify(reached)).toMatchObject({ kind: 'valid' });
    expect(verify(reached + 1n)).toEqual({ kind: 'invalid', reason: 'insufficient weight' });
    expect(verify(67n, signed.signedMessage, networkID + 1)).toEqual({ kind: 'invalid', reason: 'wrong network' });
    expect(verify(67n, signed.signedMessage.subarray(1))).toEqual({ kind: 'invalid', reason: 'malformed' });
  });

  test('with any fault in it, it is refused with a reason, and nothing throws', () => {
    const [{ signed, warpSet, networkID }] = signedCases as [(typeof signedCases)[number]];
    fc.assert(
      fc.property(mutated(fc.constant(signed.signedMessage)), (bytes) => {
        fc.pre(Buffer.compare(bytes, signed.signedMessage) !== 0);
        const result = verifySignedMessage(bytes, { networkID, warpSet, quorumNum: 1n }, nobleBackend);
        expect(result.kind).toBe('invalid');
      }),
      { numRuns: 150 },
    );
  });

  test('a signer fewer or more than signed is a wrong signature, one beyond the set an unknown signer', () => {
    const { signed, warpSet, networkID } = signedCases.find(
      ({ name }) => name === 'c_warp_0',
    ) as (typeof signedCases)[number];
    const { unsignedMessage, signature } = parseSignedMessage(signed.signedMessage);
    const reasonWith = (signers: readonly number[], aggregate = signature.signature) => {
      const bytes = encodeSignedMessage({ unsignedMessage, signature: { signers, signature: aggregate } });
      return verifySignedMessage(bytes, { networkID, warpSet, quorumNum: 20n }, nobleBackend);
    };
    expect(reasonWith([0, 2, 3])).toEqual({ kind: 'invalid', reason: 'wrong signature' });
    expect(reasonWith([0, 1, 2, 3, 4])).toEqual({ kind: 'invalid', reason: 'wrong signature' });
    expect(reasonWith([0, 2, 3, 4, 5])).toEqual({ kind: 'invalid', reason: 'unknown signer' });
    expect(reasonWith([])).toEqual({ kind: 'invalid', reason: 'no signers' });
    expect(reasonWith([0, 2, 3, 4], new Uint8Array(96))).toEqual({ kind: 'invalid', reason: 'malformed signature' });
    expect(reasonWith([0, 2, 3, 4], INFINITY_SIGNATURE)).toEqual({ kind: 'invalid', reason: 'malformed signature' });
  });
});

test('keys that cancel out cannot sign anything', () => {
  // One owner of the keys k and −k: the sum of the keys is infinity, and so is that of their signatures.
  const key = longSignatures.getPublicKey(Uint8Array.of(...new Uint8Array(31), 7));
  const warpSet: WarpSet = createWarpSet(
    [key, key.negate()].map((point, index) => ({
      nodeID: nodeIDFromBytes(new Uint8Array(20).fill(index)),
      publicKey: point.toBytes(true),
      weight: 1n,
    })),
  );
  const unsignedMessage = createUnsignedMessage(1, P_CHAIN_ID, Uint8Array.of(1));
  const anySignature = longSignatures.hash(unsignedMessage.bytes, SIGNATURE_DST).toBytes(true);
  for (const [signature, reason] of [
    [anySignature, 'wrong signature'],
    [INFINITY_SIGNATURE, 'malformed signature'],
  ] as const) {
    const bytes = encodeSignedMessage({ unsignedMessage, signature: { signers: [0, 1], signature } });
    const result = verifySignedMessage(bytes, { networkID: 1, warpSet, quorumNum: 100n }, nobleBackend);
    expect(result).toEqual({ kind: 'invalid', reason });
  }
});
