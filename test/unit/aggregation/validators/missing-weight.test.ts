import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  describeMissingWeight,
  type MissingWeight,
  sumMissingWeight,
} from '../../../../src/aggregation/validators/missing-weight.ts';
import { OBSTACLE_CAUSES, type Obstacle } from '../../../../src/p2p/peer-view.ts';
import { createWarpSet } from '../../../../src/validators/warp-set.ts';
import type { NodeID } from '../../../../src/warp/ids.ts';
import { nodeOf } from '../aggregator-fixture.ts';

/** Node n with the n-th weight and a key of its own, unless `keys` has another. */
function setOf(weights: readonly bigint[], keys: readonly (number | undefined)[] = weights.keys().toArray()) {
  return createWarpSet(
    weights.map((weight, index) => {
      const key = keys[index];
      return {
        nodeID: nodeOf(index),
        weight,
        publicKey: key === undefined ? undefined : new Uint8Array(48).fill(key + 1),
      };
    }),
  );
}

const PRIVATE: Obstacle = { cause: 'private_address', reason: 'its address is private' };
const REFUSED: Obstacle = { cause: 'tcp_refused', reason: 'connection refused' };
const clock = (clockOffsetMs: number): Obstacle => ({ cause: 'clock', reason: 'its clock', clockOffsetMs });
const obstaclesOf = (...obstacles: (Obstacle | undefined)[]) => {
  const byNode = new Map<NodeID, Obstacle | undefined>(obstacles.map((obstacle, index) => [nodeOf(index), obstacle]));
  return (nodeID: NodeID) => byNode.get(nodeID);
};

describe('the missing weight', () => {
  it('is added up by cause, heaviest first, without connected validators', () => {
    const set = setOf([5n, 7n, 4n, 100n]);
    expect(sumMissingWeight(set, obstaclesOf(PRIVATE, REFUSED, PRIVATE, undefined))).toMatchObject([
      { cause: 'private_address', weight: 9n, reason: 'its address is private' },
      { cause: 'tcp_refused', weight: 7n },
    ]);
  });

  it('has validators without a key, and no validator of which one node is connected', () => {
    const set = setOf([1n, 2n, 4n], [0, 0, undefined]);
    expect(sumMissingWeight(set, obstaclesOf(PRIVATE, undefined, undefined))).toMatchObject([
      { cause: 'no_key', weight: 4n },
    ]);
  });

  it('has the median difference of the clocks', () => {
    const set = setOf([1n, 1n, 1n]);
    expect(sumMissingWeight(set, obstaclesOf(clock(-900_000), clock(121_000), clock(120_400)))).toMatchObject([
      { cause: 'clock', clockOffsetMs: 120_400 },
    ]);
  });

  it('is the weight of all validators that are not connected', () => {
    const obstacle = fc.option(
      fc.constantFrom(...OBSTACLE_CAUSES).map((cause) => ({ cause, reason: cause })),
      { nil: undefined },
    );
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.bigInt(1n, 2n ** 40n), obstacle), { maxLength: 50 }), (all) => {
        const sums = sumMissingWeight(setOf(all.map(([weight]) => weight)), obstaclesOf(...all.map(([, one]) => one)));
        const missing = all.filter(([, one]) => one !== undefined).reduce((sum, [weight]) => sum + weight, 0n);
        expect(sums.reduce((sum, { weight }) => sum + weight, 0n)).toBe(missing);
        expect(sums).toEqual(sums.toSorted((a, b) => Number(b.weight - a.weight)));
      }),
    );
  });
});

it.each<[Partial<MissingWeight>, string]>([
  [{ cause: 'private_address' }, '91 % has private addresses: set networks.fuji.allowPrivateAddresses to true'],
  [{ cause: 'clock', clockOffsetMs: 121_400 }, '91 % is refused for the time: the clock is 121 s behind'],
  [{ cause: 'clock', clockOffsetMs: -121_400 }, '91 % is refused for the time: the clock is 121 s ahead'],
  [{ cause: 'no_address' }, '91 % has no known address: these nodes are down'],
  [{ reason: 'no answer to TLS' }, '91 % failed in TLS (no answer to TLS): these nodes hang, or a proxy'],
  [{ cause: 'tcp_refused' }, '91 % refused TCP: these nodes are down'],
  [{ cause: 'unreachable', reason: 'no answer' }, '91 % cannot be reached (no answer)'],
  [{ cause: 'version', reason: 'it runs 1.15.0' }, '91 % refused our version (it runs 1.15.0)'],
])('%j is described as "%s"', (change, expected) => {
  const missing = { cause: 'tls', weight: 91n, reason: undefined, clockOffsetMs: undefined, ...change } as const;
  expect(describeMissingWeight(missing, 100n, 'networks.fuji')).toContain(expected);
});

it('every cause has a description with its share', () => {
  for (const cause of [...OBSTACLE_CAUSES, 'no_key'] as const) {
    const missing = { cause, weight: 1n, reason: 'its reason', clockOffsetMs: 0 };
    expect(describeMissingWeight(missing, 3n, 'networks.fuji')).toMatch(/^33\.33 % \w/);
  }
});
