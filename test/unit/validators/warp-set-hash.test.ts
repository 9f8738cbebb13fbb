import fc from 'fast-check';
import { expect, test } from 'vitest';
import { bytesToHex } from '../../../src/lib/encoding/bytes.ts';
import type { Validator } from '../../../src/validators/validator.ts';
import { createWarpSet, type WarpSet, type WarpValidator } from '../../../src/validators/warp-set.ts';
import { warpSetHash } from '../../../src/validators/warp-set-hash.ts';
import { nodeIDFromBytes } from '../../../src/warp/ids.ts';

const MAX_WEIGHT = 2n ** 64n / 30n;

/** Any 48 bytes, which are not decoded. Few values, so that validators share keys. */
const publicKey = fc.nat(8).map((number) => new Uint8Array(48).fill(0x80 + number));
const nodeID = fc.uint8Array({ minLength: 20, maxLength: 20 }).map(nodeIDFromBytes);
const validator: fc.Arbitrary<Validator> = fc.record({
  nodeID,
  publicKey: fc.option(publicKey, { nil: undefined, freq: 3 }),
  weight: fc.bigInt({ min: 0n, max: MAX_WEIGHT }),
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

/** Each changes one property; undefined if there is none to change. */
const changes: Record<string, (set: WarpSet, at: number) => WarpSet | undefined> = {
  'a byte of a key': (set, at) =>
    changed(set, at, (each) => {
      const publicKey = each.publicKey.with(at % 48, (each.publicKey[at % 48] ?? 0) ^ 1);
      return { publicKey, publicKeyHex: bytesToHex(publicKey) };
    }),
  'a weight': (set, at) => changed(set, at, ({ weight }) => ({ weight: weight + 1n })),
  'a node ID': (set, at) =>
    changed(set, at, ({ nodeIDs }) => ({ nodeIDs: [...nodeIDs.slice(1), nodeIDFromBytes(new Uint8Array(20))] })),
  'one more node ID': (set, at) =>
    changed(set, at, ({ nodeIDs }) => ({ nodeIDs: [...nodeIDs, nodeIDFromBytes(new Uint8Array(20))] })),
  'one validator fewer': (set) =>
    set.validators.length === 0 ? undefined : { ...set, validators: set.validators.slice(0, -1) },
  'the order': ({ validators: all, ...rest }) =>
    all.length < 2 ? undefined : { ...rest, validators: all.toReversed() },
  'the total weight': (set) => ({ ...set, totalWeight: set.totalWeight + 1n }),
  'the number of those without a key': (set) => ({ ...set, keyless: { ...set.keyless, count: set.keyless.count + 1 } }),
  'the weight of those without a key': (set) => ({
    ...set,
    keyless: { ...set.keyless, weight: set.keyless.weight + 1n },
  }),
};

test('differs with any change', () => {
  fc.assert(
    fc.property(validators, fc.nat(1_000), fc.constantFrom(...Object.values(changes)), (list, at, change) => {
      const set = createWarpSet(list);
      const other = change(set, at);
      fc.pre(other !== undefined);
      expect(warpSetHash(other)).not.toBe(warpSetHash(set));
    }),
    { numRuns: 500 },
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
  expect(warpSetHash(warpSet)).toBe('7645835e46f10a96061023e9c8b2a118b42f10fef909d40e80b4db59d24c80ae');
});

function changed(
  set: WarpSet,
  at: number,
  change: (validator: WarpValidator) => Partial<WarpValidator>,
): WarpSet | undefined {
  const position = at % Math.max(set.validators.length, 1);
  const before = set.validators[position];
  if (before === undefined) return undefined;
  return { ...set, validators: set.validators.with(position, { ...before, ...change(before) }) };
}
