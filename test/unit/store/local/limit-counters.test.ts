import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createMemoryLimitCounters, type LimitCounters } from '../../../../src/store/local/limit-counters.ts';
import { createSharedLimitCounters } from '../../../../src/store/redis/shared-limit-counters.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { createStoreInMemory } from '../redis/store-in-memory.ts';
import { expectGranted, expectRefused, testLimitCounters } from './limit-counters-contract.ts';

const shared = createMemoryLimitCounters(new FakeClock());
describe('in memory', () => {
  testLimitCounters(() => shared);
});

function start() {
  const clock = new FakeClock();
  return { clock, counters: createMemoryLimitCounters(clock) };
}

test('a backlog drains by a nanosecond in each', async () => {
  const { clock, counters } = start();
  expect(await counters.take('a', 5e9, 6e9)).toEqual({ isTaken: true, ns: 5e9 });
  await clock.advance(999);
  expect(await counters.take('a', 2e9, 6e9)).toEqual({ isTaken: false, ns: 4_001e6 });
  await clock.advance(1);
  expect(await counters.take('a', 2e9, 6e9)).toEqual({ isTaken: true, ns: 6e9 });
  await clock.advance(7_000);
  expect(await counters.take('a', 1e9, 6e9)).toEqual({ isTaken: true, ns: 1e9 });
});

test('a claim expires, and its release does not affect the next one', async () => {
  const { clock, counters } = start();
  const first = expectGranted(await counters.claim('a', 1_000));
  await clock.advance(999);
  expect(await counters.claim('a', 1_000)).toEqual({ isGranted: false, leftMs: 1 });
  await clock.advance(1);
  expectGranted(await counters.claim('a', 1_000));
  await first.giveBack();
  expectRefused(await counters.claim('a', 1_000), 1_000);
});

test('keeps a bounded number of backlogs and claims, the latest', async () => {
  const { counters } = start();
  for (let index = 0; index < 50_001; index += 1) {
    await counters.take(String(index), 1, 10);
    await counters.claim(String(index), 1_000);
  }
  expect((await counters.take('0', 1, 10)).ns).toBe(1);
  expect((await counters.take('50000', 1, 10)).ns).toBe(2);
  expectGranted(await counters.claim('0', 1_000));
  expectRefused(await counters.claim('50000', 1_000), 1_000);
});

describe('counters that replicas share', () => {
  function startShared() {
    const clock = new FakeClock();
    const { store, state, entries } = createStoreInMemory(clock);
    const replicas = [0, 1].map(() => createSharedLimitCounters(store, createMemoryLimitCounters(clock)));
    return { clock, state, entries, replicas: replicas as [LimitCounters, LimitCounters] };
  }

  const WINDOW_NS = 60e9;
  const costs = fc.array(
    fc.record({
      waitMs: fc.nat(20_000),
      costNs: fc.integer({ min: -20e9, max: 40e9 }),
      isForced: fc.boolean(),
      key: fc.nat(2),
      replica: fc.nat(1),
    }),
    { maxLength: 40 },
  );

  test.each([
    ['of up to a window on any replica', { maxNs: WINDOW_NS, replicas: 2 }],
    ['of any length on the replica that granted it', { maxNs: 1_000e9, replicas: 1 }],
  ])('count like one process: a backlog %s', async (_, { maxNs, replicas: count }) => {
    await fc.assert(
      fc.asyncProperty(costs, async (each) => {
        const { clock, replicas } = startShared();
        const one = createMemoryLimitCounters(clock);
        for (const { waitMs, costNs, isForced, key, replica } of each) {
          await clock.advance(waitMs);
          const cost = [String(key), costNs, isForced ? maxNs : WINDOW_NS] as const;
          expect(await replicas[replica % count]?.take(...cost)).toEqual(await one.take(...cost));
        }
      }),
      { numRuns: 25 },
    );
  });

  test('reduce a backlog that is longer than a window by no more than the cost', async () => {
    const { replicas } = startShared();
    await replicas[0].take('a', 100e9, 1_000e9);
    expect(await replicas[0].take('a', -50e9, WINDOW_NS)).toEqual({ isTaken: true, ns: 50e9 });
  });

  test('believe no more than a window of what another writer set, and at most the time of a new claim', async () => {
    const { clock, entries, replicas } = startShared();
    const [a, b] = replicas;
    const endsMs = 31 * 365 * 24 * 3_600_000;
    for (const key of ['rate', 'claim', 'endless']) {
      const until = key === 'endless' ? Number.POSITIVE_INFINITY : endsMs;
      entries.set(key, { value: '0', endsMs: until, writtenMs: 0, writer: undefined });
    }
    expect(await a.take('rate', 1, WINDOW_NS)).toEqual({ isTaken: false, ns: WINDOW_NS });
    expectRefused(await b.claim('claim', 5_000), 5_000);
    expectRefused(await b.claim('endless', 5_000), 5_000);
    await clock.advance(30_000);
    expect(await b.take('rate', 20e9, WINDOW_NS)).toEqual({ isTaken: true, ns: 50e9 });
    expectGranted(await a.claim('claim', 5_000));
    expectGranted(await a.claim('endless', 5_000));
  });

  test('continue locally when the store is away, without the costs that it rejected', async () => {
    const { state, replicas } = startShared();
    const [a, b] = replicas;
    for (const replica of [a, b, b]) await replica.take('a', 20e9, 60e9);
    expect(await a.take('a', 20e9, 60e9)).toEqual({ isTaken: false, ns: 60e9 });
    state.isAway = true;
    expect(await a.take('a', 30e9, 60e9)).toEqual({ isTaken: true, ns: 50e9 });
    expect(await b.take('a', 30e9, 60e9)).toEqual({ isTaken: false, ns: 40e9 });
  });

  test('grant a claim to one replica until it is given back, which does not affect a later claim', async () => {
    const [a, b] = startShared().replicas;
    const first = expectGranted(await a.claim('token', 60_000));
    expectRefused(await b.claim('token', 60_000), 60_000);
    await first.giveBack();
    const later = expectGranted(await b.claim('token', 60_000));
    await first.giveBack();
    expectRefused(await a.claim('token', 60_000), 60_000);
    await later.giveBack();
    expectGranted(await a.claim('token', 60_000));
  });

  test('keep keys in the store no longer than the backlog', async () => {
    const { entries, replicas } = startShared();
    await replicas[0].take('a', 5e9 + 1, 60e9);
    await replicas[0].take('b', -1, 60e9);
    const lifetimesMs = [...entries].map(([key, { endsMs }]) => [key, endsMs]);
    expect(lifetimesMs).toEqual(Object.entries({ a: 5_001, b: 1 }));
  });
});
