import { expect, test } from 'vitest';
import { createPenalties } from '../../../../src/aggregation/admission/penalties.ts';
import { AggregatorError } from '../../../../src/aggregation/aggregator-error.ts';
import { createAggregatorMetrics } from '../../../../src/aggregation/aggregator-metrics.ts';
import { createDestinations } from '../../../../src/aggregation/signers/destination-facts.ts';
import { createDestinationViews } from '../../../../src/aggregation/signers/destination-views.ts';
import { ApiError } from '../../../../src/pchain/rpc/api-error.ts';
import type { Epoch } from '../../../../src/pchain/rpc/chain-api.ts';
import { createUnreadMetrics } from '../../../../src/telemetry/metrics.ts';
import type { WarpSet } from '../../../../src/validators/warp-set.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { CHAIN, DEFAULT_WARP, NO_EPOCH, SUBNET, UNKNOWN_CHAIN } from '../aggregator-fixture.ts';
import { setOf } from '../collection/tally-fixture.ts';

const SIGNAL = new AbortController().signal;

function createHarness() {
  const clock = new FakeClock();
  const metrics = createAggregatorMetrics(createUnreadMetrics());
  const state = {
    lookups: 0,
    sets: new Map<bigint, WarpSet>(),
    at: async (height: bigint): Promise<WarpSet> => state.sets.get(height) ?? setOf([1n]),
    epoch: async (): Promise<Epoch> => ({ number: 4n, pChainHeight: 80n, startTime: 9n }),
  };
  const subnetOf = (chainID: string) => (chainID === UNKNOWN_CHAIN ? undefined : SUBNET);
  const directory = {
    async validatedBy(chainID: string) {
      state.lookups += 1;
      return subnetOf(chainID);
    },
    knownSubnetOf: subnetOf,
  };
  const views = createDestinationViews({
    destinations: createDestinations({ directory, warpConfigs: DEFAULT_WARP }),
    epochs: { get: () => state.epoch() },
    validatorSets: {
      at: async (_, height) => state.at(height),
      atProposed: async () => ({ height: 100n, set: state.sets.get(100n) ?? setOf([1n]) }),
    },
    penalties: createPenalties(clock, metrics),
    metrics,
    clock,
    resolveTimeoutMs: 5_000,
  });
  const differs = async () => (await views.view(CHAIN, SIGNAL)).signers.map((signers) => signers.differs);
  return { views, state, differs };
}

test('the proposed set is compared with that of the epoch, for sources whose signers are known', async () => {
  const { state, differs } = createHarness();
  expect(await differs()).toEqual([false, false, undefined]);
  state.sets.set(100n, setOf([1n, 2n]));
  expect(await differs()).toEqual([true, true, undefined]);
});

test('a chain without epochs, or whose epoch cannot be read, has none to compare with', async () => {
  const { views, state, differs } = createHarness();
  state.epoch = async () => NO_EPOCH;
  expect(await differs()).toEqual([undefined, undefined, undefined]);
  expect(await views.view(CHAIN, SIGNAL)).toMatchObject({ epoch: undefined, isEpochReadable: true });
  state.epoch = () => Promise.reject(new ApiError('invalid_response', 'HTTP status 404'));
  expect(await views.view(CHAIN, SIGNAL)).toMatchObject({ epoch: undefined, isEpochReadable: false });
});

test('an API that serves only the current height leaves the sets uncompared', async () => {
  const { state, differs } = createHarness();
  state.at = () => Promise.reject(new ApiError('height_not_served', 'only the current height'));
  expect(await differs()).toEqual([undefined, undefined, undefined]);
});

test('blockchains that do not exist are looked up for some of one client, and then refused', async () => {
  const { views, state } = createHarness();
  const codes: string[] = [];
  for (let time = 0; time < 100; time += 1) {
    const failed = await views.view(UNKNOWN_CHAIN, SIGNAL, 'guesser').catch((error: unknown) => error);
    codes.push(failed instanceof AggregatorError ? failed.code : 'none');
  }
  expect(codes.slice(0, 64)).toEqual(Array(64).fill('unknown_blockchain'));
  expect(codes.slice(64)).toEqual(Array(36).fill('overloaded'));
  expect(state.lookups).toBe(64);
  expect(await views.view(CHAIN, SIGNAL, 'other')).toMatchObject({ quorumNum: 67n });
});
