import { Registry } from 'prom-client';
import { describe, expect, test } from 'vitest';
import { createPenalties } from '../../../../src/aggregation/admission/penalties.ts';
import { AggregatorError } from '../../../../src/aggregation/aggregator-error.ts';
import { createAggregatorMetrics } from '../../../../src/aggregation/aggregator-metrics.ts';
import { createSubnetPolicy } from '../../../../src/aggregation/subnet-policy.ts';
import { createSubnetViews } from '../../../../src/aggregation/subnets/subnet-views.ts';
import { ConnectionChanges } from '../../../../src/p2p/connection/connection-changes.ts';
import type { Obstacle } from '../../../../src/p2p/peer-view.ts';
import { ApiError } from '../../../../src/pchain/rpc/api-error.ts';
import { createMetrics } from '../../../../src/telemetry/metrics.ts';
import { createWarpSet } from '../../../../src/validators/warp-set.ts';
import type { NodeID, SubnetID } from '../../../../src/warp/ids.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';
import {
  EMPTY_SUBNET,
  nodeOf,
  OTHER_SUBNET as OTHER,
  outcomesOf,
  SUBNET,
  UNKNOWN_SUBNET,
  validatorSet,
} from '../aggregator-fixture.ts';

const never = new AbortController().signal;
const DIALLED: Obstacle = { cause: 'connecting', reason: 'still connecting' };
const NOWHERE: Obstacle = { cause: 'no_address', reason: 'no address known' };

/** Two validators of 10 each, and what stands in the way of each of them. */
function createHarness(...given: (Obstacle | undefined)[]) {
  const clock = new FakeClock();
  const registry = new Registry();
  const invalidSigners = new Set<string>();
  const changes = new ConnectionChanges();
  const obstacles = new Map<NodeID, Obstacle | undefined>(given.map((obstacle, i) => [nodeOf(i + 1), obstacle]));
  const warpSet = createWarpSet(validatorSet(10n, 10n));
  const newest = [SUBNET, OTHER].map((subnetID) => [subnetID, warpSet] as const);
  const looks = { count: 0 };
  const asked = { signers: 0 };
  const tracked: SubnetID[] = [];
  const lookupMetrics = createAggregatorMetrics(createMetrics(registry));
  const views = createSubnetViews({
    subnets: createSubnetPolicy({ trackedSubnetIDs: [], allowedSubnetIDs: [SUBNET, UNKNOWN_SUBNET] }),
    clock,
    readyQuorumNum: 67n,
    resolver: {
      signersOf: async (signingSubnetID) => {
        asked.signers += 1;
        if (signingSubnetID === UNKNOWN_SUBNET) throw new AggregatorError('unknown_subnet', 'unknown');
        return { signingSubnetID, pChainHeight: 5n, warpSet, avoided: new Set() };
      },
    },
    metrics: createMetrics(registry),
    lookupMetrics,
    penalties: createPenalties(clock, lookupMetrics),
    validatorSets: { newest: () => newest },
    connections: {
      track: (subnetID) => {
        tracked.push(subnetID);
        return 0;
      },
      readiness: () => [{ subnetID: SUBNET, isUp: true, reason: undefined, connected: undefined }],
    },
    peers: {
      describe(nodeID) {
        looks.count += 1;
        const obstacle = obstacles.has(nodeID) ? obstacles.get(nodeID) : NOWHERE;
        return { obstacle, address: undefined, client: undefined };
      },
      waitUntil: (predicate, signal) => changes.waitUntil(predicate, signal),
    },
    funds: {
      fundsOf: async () => {
        throw new ApiError('unavailable', 'the API is down');
      },
    },
    histories: { of: () => ({ pastOf: () => undefined }) },
    invalidSigners: { has: (publicKeyHex) => invalidSigners.has(publicKeyHex) },
  });
  const view = (client?: string, subnetID = SUBNET) => views.view({ subnetID }, never, client);
  return { clock, registry, warpSet, invalidSigners, changes, obstacles, view, views, asked, tracked, newest, looks };
}

test('a subnet that is not allowed has no view, and no validator is connected or looked up', async () => {
  const { clock, view, asked, tracked } = createHarness(undefined, undefined);
  const refused = { code: 'subnet_not_allowed', field: 'subnetID' };
  await expect(view(undefined, OTHER)).rejects.toMatchObject(refused);
  expect([asked.signers, tracked]).toEqual([0, []]);
  const viewed = view();
  await clock.advance(2_000);
  expect((await viewed).subnetID).toBe(SUBNET);
  expect(tracked).toEqual([SUBNET]);
});

test('the list adds up weights once a second, however often it is asked for, and has new sets at once', async () => {
  const { clock, views, obstacles, newest, looks } = createHarness(undefined, NOWHERE);
  const connectedOf = () => views.list().map(({ subnetID, connected }) => [subnetID, connected?.weight]);
  const [own, other] = [
    [SUBNET, undefined],
    [OTHER, 10n],
  ] as const;
  expect(connectedOf()).toEqual([own, other]);
  const before = looks.count;
  for (let time = 0; time < 100; time += 1) views.list();
  expect(looks.count).toBe(before);
  obstacles.set(nodeOf(2), undefined);
  newest.push([EMPTY_SUBNET, createWarpSet(validatorSet(10n, 10n))]);
  expect(connectedOf()).toEqual([own, other, [EMPTY_SUBNET, 20n]]);
  await clock.advance(1_000);
  expect(connectedOf()).toEqual([own, [OTHER, 20n], [EMPTY_SUBNET, 20n]]);
});

describe('a view of a subnet that was not asked for lately', () => {
  test('that does not exist is looked up for some requests of one client, and then refused', async () => {
    const { clock, asked, view } = createHarness(undefined, undefined);
    for (let time = 0; time < 64; time += 1) {
      await expect(view('flood', UNKNOWN_SUBNET)).rejects.toMatchObject({ code: 'unknown_subnet' });
    }
    await expect(view('flood', UNKNOWN_SUBNET)).rejects.toMatchObject({ code: 'overloaded' });
    expect(asked.signers).toBe(64);
    await expect(view('other', UNKNOWN_SUBNET)).rejects.toMatchObject({ code: 'unknown_subnet' });
    const known = view('flood');
    await clock.advance(2_000);
    expect((await known).subnetID).toBe(SUBNET);
  });

  test('waits until each validator is connected or has failed', async () => {
    const { changes, obstacles, view } = createHarness(DIALLED, NOWHERE);
    const asked = view();
    await settle();
    obstacles.set(nodeOf(1), undefined);
    changes.announce();
    expect(await outcomesOf([asked])).toEqual(['open']);
    obstacles.set(nodeOf(2), { cause: 'unreachable', reason: 'connection refused' });
    changes.announce();
    expect(await asked).toMatchObject({ connectedWeight: 10n, highestQuorumNum: 50n });
  });

  test('waits two seconds at most', async () => {
    const { clock, view } = createHarness(undefined, NOWHERE);
    const asked = view();
    await settle();
    await clock.advance(1_999);
    expect(await outcomesOf([asked])).toEqual(['open']);
    await clock.advance(1);
    expect((await asked).validators).toMatchObject([{ status: 'signable' }, { reason: 'no address known' }]);
  });
});

test('a view of a recently requested subnet does not wait, and leaves out balances that cannot be read', async () => {
  const { clock, view } = createHarness(undefined, NOWHERE);
  await clock.advance(2_000);
  expect((await view()).validators).toMatchObject([
    { nodes: [{ funds: undefined }] },
    { status: 'unreachable', reason: 'no address known' },
  ]);
});

test('of each tracked subnet, and no other, it is measured once a second how much of its weight can sign', async () => {
  const { clock, registry, warpSet, invalidSigners, obstacles, looks } = createHarness(undefined, NOWHERE);
  const ratios = async () =>
    (await registry.metrics()).match(/^signature_aggregator_signable_weight_ratio.*$/gm)?.map((line) => line.trim());
  const ofSubnet = (value: number) => [`signature_aggregator_signable_weight_ratio{subnet_id="${SUBNET}"} ${value}`];
  expect(await ratios()).toEqual(ofSubnet(0.5));
  obstacles.set(nodeOf(2), undefined);
  const before = looks.count;
  // Clients may read the metrics at any rate.
  expect(await ratios()).toEqual(ofSubnet(0.5));
  expect(looks.count).toBe(before);
  await clock.advance(1_000);
  expect(await ratios()).toEqual(ofSubnet(1));
  invalidSigners.add(warpSet.validators[0]!.publicKeyHex);
  await clock.advance(1_000);
  expect(await ratios()).toEqual(ofSubnet(0.5));
});
