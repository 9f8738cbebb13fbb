import { bls12_381 } from '@noble/curves/bls12-381.js';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { bytesToHex, parseHex } from '../../../src/lib/encoding/bytes.ts';
import { ParseError } from '../../../src/lib/encoding/parse-error.ts';
import type { Validator } from '../../../src/validators/validator.ts';
import { createWarpSet } from '../../../src/validators/warp-set.ts';
import { INACTIVE_NODE_ID, type NodeID, nodeIDFromBytes, parseNodeID } from '../../../src/warp/ids.ts';
import { type AggregationCase, readCases, rpcResult } from '../../vectors/vectors.ts';

const MAX_U64 = 2n ** 64n - 1n;
const G1 = bls12_381.G1.Point;

describe('vectors', () => {
  /** `platform.getValidatorsAt` of the set that had to sign. */
  function validatorsOf({ rpc, effectiveSigningSubnet }: AggregationCase): Validator[] {
    const result = rpcResult<Record<string, { publicKey: string | null; weight: string }>>(
      rpc,
      'platform.getValidatorsAt',
      { subnetID: effectiveSigningSubnet },
    );
    return Object.entries(result).map(([nodeID, { publicKey, weight }]) => ({
      nodeID: parseNodeID(nodeID),
      publicKey: publicKey === null ? undefined : parseHex(publicKey, 'publicKey'),
      weight: BigInt(weight),
    }));
  }

  test.each(readCases())('$name', (vector) => {
    const warpSet = createWarpSet(validatorsOf(vector));
    // Of the node itself.
    const { validatorSets } = rpcResult<{ validatorSets: Record<string, { validators: { publicKey: string }[] }> }>(
      ...([vector.rpc, 'platform.getAllValidatorsAt'] as const),
    );
    expect(warpSet.validators.map(({ publicKeyHex }) => `0x${publicKeyHex}`)).toEqual(
      validatorSets[vector.effectiveSigningSubnet]?.validators.map(({ publicKey }) => publicKey),
    );
    expect(warpSet).toEqual({
      totalWeight: vector.totalWeight,
      keyless:
        vector.totalWeight === 1200n
          ? { count: 1, weight: 100n, validators: [{ nodeID: INACTIVE_NODE_ID, weight: 100n, reason: 'inactive' }] }
          : { count: 0, weight: 0n, validators: [] },
      validators: vector.canonicalValidators.map(({ index, nodeIDs, publicKey, weight }) => ({
        index,
        nodeIDs,
        publicKey,
        publicKeyHex: bytesToHex(publicKey),
        weight,
      })),
    });
  });

  test('a subnet without validators has an empty set', () => {
    expect(createWarpSet([])).toEqual({
      totalWeight: 0n,
      keyless: { count: 0, weight: 0n, validators: [] },
      validators: [],
    });
  });
});

/** Points P and −P share their x, so that only the sign of y tells them apart. */
const points = Array.from({ length: 40 }, (_, index) => G1.BASE.multiply(BigInt(index * index * 7919 + 1))).flatMap(
  (point) => [point, point.negate()],
);
const keys = points.map((point) => ({
  compressed: point.toBytes(true),
  uncompressedHex: bytesToHex(point.toBytes(false)),
}));

function nodeIDOf(number: number): NodeID {
  return nodeIDFromBytes(new Uint8Array(20).fill(number + 1));
}

test('the order is that of the uncompressed keys', () => {
  fc.assert(
    fc.property(fc.shuffledSubarray(keys), (subset) => {
      const validators = subset.map(({ compressed }, index) => ({
        nodeID: nodeIDOf(index),
        publicKey: compressed,
        weight: 1n,
      }));
      const expected = subset
        .toSorted((a, b) => (a.uncompressedHex < b.uncompressedHex ? -1 : 1))
        .map(({ compressed }) => bytesToHex(compressed));
      expect(createWarpSet(validators).validators.map(({ publicKeyHex }) => publicKeyHex)).toEqual(expected);
    }),
  );
});

const validatorLists: fc.Arbitrary<Validator[]> = fc
  .array(
    fc.record({
      // Few keys, so that many share one.
      publicKey: fc.option(
        fc.nat(5).map((index) => keys[index]?.compressed),
        { nil: undefined },
      ),
      weight: fc.bigInt({ min: 0n, max: MAX_U64 / 30n }),
    }),
    { maxLength: 20 },
  )
  .map((list) => list.map(({ publicKey, weight }, index) => ({ nodeID: nodeIDOf(index), publicKey, weight })));

test('nodes that share a key are one validator with the sum of their weights', () => {
  fc.assert(
    fc.property(validatorLists, (validators) => {
      const { validators: merged, totalWeight, keyless } = createWarpSet(validators);
      expect(createWarpSet(validators.toReversed()).validators).toEqual(merged);
      const holders = Object.groupBy(validators, ({ publicKey }) => (publicKey ? bytesToHex(publicKey) : 'none'));
      expect(merged).toHaveLength(Object.keys(holders).filter((key) => key !== 'none').length);
      for (const [position, { index, publicKey, publicKeyHex, weight, nodeIDs }] of merged.entries()) {
        expect(index).toBe(position);
        expect(bytesToHex(publicKey)).toBe(publicKeyHex);
        const own = holders[publicKeyHex] ?? [];
        expect(weight).toBe(own.reduce((sum, holder) => sum + holder.weight, 0n));
        expect(nodeIDs).toEqual(own.map(({ nodeID }) => nodeID).sort());
      }
      const silent = holders.none ?? [];
      expect(keyless).toEqual({
        count: silent.length,
        weight: silent.reduce((sum, { weight }) => sum + weight, 0n),
        validators: silent
          .toSorted((a, b) => (a.nodeID < b.nodeID ? -1 : 1))
          .map(({ nodeID, weight }) => ({
            nodeID,
            weight,
            reason: nodeID === INACTIVE_NODE_ID ? 'inactive' : 'no_key',
          })),
      });
      expect(totalWeight).toBe(validators.reduce((sum, { weight }) => sum + weight, 0n));
    }),
  );
});

test('weights sum to a u64 at most', () => {
  const heavy = { nodeID: nodeIDOf(0), publicKey: keys[0]?.compressed, weight: MAX_U64 - 1n };
  const last = { nodeID: nodeIDOf(1), publicKey: undefined, weight: 1n };
  expect(createWarpSet([heavy, last]).totalWeight).toBe(MAX_U64);
  expect(() => createWarpSet([heavy, { ...last, weight: 2n }])).toThrowError(ParseError);
});
