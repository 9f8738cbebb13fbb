import { describe, expect, it, test } from 'vitest';
import { ApiError } from '../../../../src/pchain/rpc/api-error.ts';
import {
  createValidatorSets,
  HeightNotReached,
  type ValidatorSetsLimits,
} from '../../../../src/pchain/state/validator-sets.ts';
import type { Validator } from '../../../../src/validators/validator.ts';
import { idFromBytes, nodeIDFromBytes, type SubnetID } from '../../../../src/warp/ids.ts';
import { FakeClock } from '../../../support/fake-clock.ts';

const SIGNAL = new AbortController().signal;
const L1 = idFromBytes<SubnetID>(new Uint8Array(32).fill(1), 'subnetID');
const NOT_FOUND = new ApiError('rejected', 'not found', { rejection: { code: -32_000, message: 'not found' } });

const validator = (node: number, key: number | undefined, weight: bigint): Validator => ({
  nodeID: nodeIDFromBytes(new Uint8Array(20).fill(node)),
  publicKey: key === undefined ? undefined : new Uint8Array(48).fill(key),
  weight,
});

/** Sets from a node whose chain is at height 20, and which proposes height 18. The weights of its three validators are the height. */
function start(limits: Partial<ValidatorSetsLimits> = {}) {
  const clock = new FakeClock();
  const read: bigint[] = [];
  const node = {
    chainHeight: 20n,
    heightCalls: 0,
    built: 0,
    failure: undefined as Error | undefined,
    validators: async (height: bigint): Promise<readonly Validator[]> =>
      [undefined, 2, 3].map((key, index) => validator(index + 1, key, height)),
  };
  const sets = createValidatorSets({
    clock,
    limits,
    api: {
      async getProposedHeight() {
        node.heightCalls += 1;
        if (node.failure !== undefined) throw node.failure;
        return 18n;
      },
      async getValidatorsAt(_, height) {
        read.push(BigInt(height));
        if (node.failure !== undefined) throw node.failure;
        if (BigInt(height) > node.chainHeight) {
          throw new ApiError('height_not_reached', `height ${height} is above ${node.chainHeight}`);
        }
        return node.validators(BigInt(height));
      },
    },
    build(validators) {
      node.built += 1;
      return { validators };
    },
  });
  return {
    clock,
    node,
    read,
    sets,
    at: (height: bigint, signal = SIGNAL) => sets.at(L1, height, signal),
    pinned: (height: bigint) => sets.atPinned(L1, height, SIGNAL),
  };
}

test('the proposed height is read once a second, and once for concurrent calls', async () => {
  const { clock, node, sets } = start();
  const ask = () => Promise.all([sets.proposedHeight(SIGNAL), sets.proposedHeight(SIGNAL)]);
  expect(await ask()).toEqual([18n, 18n]);
  await clock.advance(999);
  await ask();
  expect(node.heightCalls).toBe(1);
  await clock.advance(1);
  await ask();
  expect(node.heightCalls).toBe(2);
  await expect(sets.proposedHeight(AbortSignal.abort(new Error('gone')))).rejects.toThrow('gone');
});

test('a set is read and built once, also for concurrent calls and where one of them is aborted', async () => {
  const { node, read, at } = start();
  const abort = new AbortController();
  const leaving = at(18n, abort.signal);
  const both = Promise.all([at(18n), at(18n)]);
  abort.abort(new Error('left'));
  await expect(leaving).rejects.toThrow('left');
  const [set, again] = await both;
  expect([again, await at(18n)]).toEqual([set, set]);
  expect([read, node.built]).toEqual([[18n], 1]);
});

test('a set is built once for heights with equal validators, and again after a change', async () => {
  const { node, at } = start();
  const [a1, b] = [validator(1, 1, 1n), validator(2, undefined, 2n)];
  const a2 = validator(1, 2, 1n);
  const unkeyed = validator(1, undefined, 1n);
  const heavier = validator(2, undefined, 3n);
  const results = [[a1, b], [a1, { ...b }], [a1, heavier], [a2, heavier], [unkeyed, heavier], [unkeyed], [a1], [b], []];
  node.validators = async (height) => results[Number(height)] ?? [];
  const sets = [];
  for (const height of results.keys()) sets.push(await at(BigInt(height)));
  expect(sets[1]).toBe(sets[0]);
  expect([new Set(sets).size, node.built]).toEqual([results.length - 1, results.length - 1]);
  expect(sets.map(({ validators }) => validators)).toEqual(results);
});

// Three validators and one for the set itself: two sets fit into 8.
test.each<['at' | 'pinned', Partial<ValidatorSetsLimits>]>([
  ['at', { maxSets: 2 }],
  ['at', { maxValidators: 8 }],
  ['pinned', { maxPinnedSets: 2 }],
  ['pinned', { maxPinnedValidators: 8 }],
])('within its bounds, %s with %j keeps the last two sets', async (method, limits) => {
  const { read, [method]: get } = start(limits);
  for (const height of [1n, 2n, 3n, 2n, 3n, 1n]) await get(height);
  expect(read).toEqual([1n, 2n, 3n, 1n]);
});

test('a set that is too large to keep is returned', async () => {
  expect((await start({ maxValidators: 3 }).at(1n)).validators).toHaveLength(3);
});

test('heights named by clients do not evict sets at proposed heights', async () => {
  const { read, sets, at, pinned } = start({ maxSets: 4, maxPinnedSets: 2 });
  const current = await at(18n);
  for (let height = 1n; height <= 17n; height += 1n) await pinned(height);
  expect(read.splice(0)).toHaveLength(18);
  expect([await at(18n), await pinned(18n)]).toEqual([current, current]);
  expect(sets.newest()).toEqual([[L1, current]]);
  expect(read).toEqual([]);
});

test('heights named by clients share a set with proposed heights', async () => {
  const { node, read, at, pinned } = start();
  node.validators = async () => [validator(1, 1, 1n)];
  const set = await pinned(5n);
  expect([await at(6n), await pinned(7n)]).toEqual([set, set]);
  expect([read.length, node.built]).toEqual([3, 1]);
});

test('a height above the chain has a separate error, and no failure is cached', async () => {
  const { node, at, sets } = start();
  const refused = at(21n);
  await expect(refused).rejects.toBeInstanceOf(HeightNotReached);
  await expect(refused).rejects.toThrow('height 21 is above 20');
  node.chainHeight = 21n;
  expect((await at(21n)).validators).toHaveLength(3);
  for (const failure of [NOT_FOUND, new ApiError('unavailable', 'down')]) {
    node.failure = failure;
    await expect(at(4n)).rejects.toBe(failure);
    await expect(sets.proposedHeight(SIGNAL)).rejects.toBe(failure);
  }
  node.failure = undefined;
  expect((await at(4n)).validators).toHaveLength(3);
  expect(await sets.proposedHeight(SIGNAL)).toBe(18n);
});

describe('the set at the proposed height', () => {
  const leftBehind = new ApiError('height_not_served', 'only the current height');

  it('is read anew with its height where the API has left that height behind', async () => {
    const { node, read, sets } = start();
    node.validators = async (height) => {
      if (node.heightCalls === 1) throw leftBehind;
      return [validator(1, 1, height)];
    };
    const { height, set } = await sets.atProposed(L1, SIGNAL);
    expect([height, set.validators, node.heightCalls, read]).toEqual([18n, [validator(1, 1, 18n)], 2, [18n, 18n]]);
  });

  it('is unavailable where the API leaves each height behind', async () => {
    const { node, sets } = start();
    node.failure = undefined;
    node.validators = async () => Promise.reject(leftBehind);
    await expect(sets.atProposed(L1, SIGNAL)).rejects.toMatchObject({ code: 'unavailable', cause: leftBehind });
    expect(node.heightCalls).toBe(3);
    // A height that was named stays an error of the request.
    await expect(sets.at(L1, 18n, SIGNAL)).rejects.toBe(leftBehind);
  });
});
