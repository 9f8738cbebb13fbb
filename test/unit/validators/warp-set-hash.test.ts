import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Validator } from '../../../src/validators/validator.ts';
import { createWarpSet } from '../../../src/validators/warp-set.ts';
import { warpSetHash } from '../../../src/validators/warp-set-hash.ts';
import { nodeIDFromBytes } from '../../../src/warp/ids.ts';

const MAX_WEIGHT = 2n ** 64n / 30n;

/** Any 48 bytes, which are not decoded. Few values, so that validators share keys. */
const publicKey = fc.nat(8).map((number) => new Uint8Array(48).fill(0x80 + number));
const nodeID = fc.uint8Array({ minLength: 20, maxLength: 20 }).map(nodeIDFromBytes);
const validator: fc.Arbitrary<Validator> = fc.record({
  nodeID,
  publicKey: fc.option(publicKey, { nil: undefined, freq: 3 }),
  weight: fc.oneof(fc.constant(0n), fc.bigInt({ min: 0n, max: MAX_WEIGHT })),
});
const validators = fc.uniqueArray(validator, { maxLength: 20, selector: (each) => each.nodeID });

test('is equal for equal content in any order', () => {
  fc.assert(
    fc.property(
      validators.chain((list) => fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length }))),
      ([list, shuffled]) => {
        const [set, same] = [createWarpSet(list), createWarpSet(structuredClone(shuffled))];
        expect(same).not.toBe(set);
        expect(warpSetHash(same)).toBe(warpSetHash(set));
        expect(warpSetHash(set)).toBe(warpSetHash(set));
      },
    ),
  );
});

const NEW_NODE = nodeIDFromBytes(new Uint8Array(20));
/** What becomes of one validator. */
const changes: readonly ((validator: Validator) => readonly Validator[])[] = [
  (each) => [{ ...each, publicKey: each.publicKey?.with(47, 1) }],
  (each) => [{ ...each, publicKey: undefined }],
  (each) => [{ ...each, weight: each.weight + 1n }],
  (each) => [{ ...each, nodeID: NEW_NODE }],
  (each) => [each, { ...each, nodeID: NEW_NODE, weight: 0n }],
  () => [],
];

test('differs with any change of the set', () => {
  fc.assert(
    fc.property(validators, fc.nat(), fc.constantFrom(...changes), (list, position, change) => {
      const at = position % Math.max(list.length, 1);
      const set = createWarpSet(list);
      const other = createWarpSet(list.flatMap((each, index) => (index === at ? change(each) : [each])));
      expect(warpSetHash(other) === warpSetHash(set)).toBe(isDeepStrictEqual(other, set));
    }),
    { numRuns: 1_000 },
  );
});

test('distinguishes the nodes of neighbouring validators', () => {
  const [a, b, c] = [1, 2, 3].map((number) => nodeIDFromBytes(new Uint8Array(20).fill(number)));
  const [first, second] = [1, 2].map((number) => new Uint8Array(48).fill(0x80 + number));
  const set = (ofFirst: readonly (typeof a)[], ofSecond: readonly (typeof a)[]) =>
    createWarpSet([
      ...ofFirst.map((each) => ({ nodeID: each as never, publicKey: first, weight: 0n })),
      ...ofSecond.map((each) => ({ nodeID: each as never, publicKey: second, weight: 0n })),
    ]);
  expect(warpSetHash(set([a, b], [c]))).not.toBe(warpSetHash(set([a], [b, c])));
});

test('is stable over versions, because replicas compare it', () => {
  const warpSet = createWarpSet([
    { nodeID: nodeIDFromBytes(new Uint8Array(20).fill(1)), publicKey: new Uint8Array(48).fill(0x81), weight: 7n },
    { nodeID: nodeIDFromBytes(new Uint8Array(20).fill(2)), publicKey: undefined, weight: 5n },
  ]);
  expect(warpSetHash(warpSet)).toBe('8e2536dd2dc6da13fe48ffd2f866e1b69ed9d65e7b97d83e4763ec816af66f3a');
});
