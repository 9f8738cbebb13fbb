import { describe, expect, test } from 'vitest';
import { createSubnetPolicy } from '../../../src/aggregation/subnet-policy.ts';
import { idFromBytes, PRIMARY_NETWORK_ID, type SubnetID } from '../../../src/warp/ids.ts';
import { settle } from '../../support/fake-clock.ts';
import { createHarness, messageOf, OTHER_SUBNET, SUBNET } from './aggregator-fixture.ts';

const policyOf = (trackedSubnetIDs: SubnetID[], allowedSubnetIDs?: SubnetID[]) =>
  createSubnetPolicy({ trackedSubnetIDs, allowedSubnetIDs });
const subnetOf = (number: number) => idFromBytes<SubnetID>(new Uint8Array(32).fill(number), 'subnet');

describe('which subnets may be asked for', () => {
  const isAllowed = (policy: ReturnType<typeof policyOf>, subnetID: SubnetID) => {
    try {
      policy.requireAllowed(subnetID);
      return true;
    } catch (error) {
      expect(error).toMatchObject({ code: 'subnet_not_allowed', field: 'signingSubnetID' });
      return false;
    }
  };

  test.each([
    ['all where none is listed', policyOf([subnetOf(1)]), [true, true, true, true]],
    [
      'those listed, those tracked and the primary network',
      policyOf([subnetOf(1)], [subnetOf(2)]),
      [true, true, true, false],
    ],
    ['those tracked and the primary network', policyOf([subnetOf(1)], []), [true, true, false, false]],
  ])('%s', (_, policy, expected) => {
    const asked = [PRIMARY_NETWORK_ID, subnetOf(1), subnetOf(2), subnetOf(3)];
    expect(asked.map((subnetID) => isAllowed(policy, subnetID))).toEqual(expected);
  });

  test('one that is named and may not be is refused before anything is asked', async () => {
    const { api, source, failure, registry } = createHarness({}, { subnets: policyOf([], []) });
    expect(await failure({ signingSubnetID: OTHER_SUBNET })).toMatchObject({ code: 'subnet_not_allowed' });
    expect(api.calls).toEqual([]);
    expect(source.inFlight).toBe(0);
    expect(await registry.metrics()).toContain('outcome="subnet_not_allowed"} 1');
  });

  test('that of the source chain, as soon as it is known: its validators are not even looked up', async () => {
    const { api, failure, start, finish } = createHarness({}, { subnets: policyOf([], [OTHER_SUBNET]) });
    expect(await failure()).toMatchObject({ code: 'subnet_not_allowed' });
    expect(api.calls).toEqual(['validatedBy']);
    expect(await failure()).toMatchObject({ code: 'subnet_not_allowed' });
    expect(api.calls).toEqual(['validatedBy']);
    await expect(finish(start({ signingSubnetID: OTHER_SUBNET }))).resolves.toMatchObject({
      signingSubnetID: OTHER_SUBNET,
    });
  });

  test('not from memory either, once it may not be', async () => {
    const policy = policyOf([SUBNET], []);
    const { start, finish, failure } = createHarness({}, { subnets: policy });
    await finish(start());
    await finish(start());
    policy.track([]);
    expect(await failure()).toMatchObject({ code: 'subnet_not_allowed' });
  });
});

describe('a flood of requests for untracked subnets', () => {
  /** Untrusted clients hold all permits they can get: requests that no validator answers. */
  async function flooded(policy = policyOf([OTHER_SUBNET])) {
    const harness = createHarness({ maxAggregationsInFlight: 16 }, { subnets: policy });
    const { start, finish, silence, startFor } = harness;
    await finish(start({ message: messageOf(0) }));
    silence(1, 2, 3, 4);
    const strange = Array.from({ length: 60 }, (_, number) =>
      startFor(`client ${number}`, { message: messageOf(number + 1) }),
    );
    await settle();
    const taken = async (): Promise<number> =>
      Number(/aggregations_admitted (\d+)/.exec(await harness.registry.metrics())?.[1]);
    return { ...harness, strange, taken };
  }

  test('leaves a quarter of the permits to the tracked subnet', async () => {
    const { startFor, taken } = await flooded();
    const before = await taken();
    expect(before).toBeLessThanOrEqual(12);
    expect(before).toBeGreaterThanOrEqual(8);
    for (const number of [1, 2, 3]) {
      void startFor(`own ${number}`, { message: messageOf(number), signingSubnetID: OTHER_SUBNET });
    }
    await settle();
    expect(await taken()).toBe(before + 3);
    // The others wait.
    void startFor('late', { message: messageOf(99) });
    await settle();
    expect(await taken()).toBe(before + 3);
  });

  test('where nothing is tracked, nothing is kept', async () => {
    const { taken } = await flooded(policyOf([]));
    expect(await taken()).toBeGreaterThan(12);
  });
});
