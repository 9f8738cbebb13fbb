import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createMemoryLimitCounters } from '../../../src/store/limit-counters.ts';
import { movableClock } from '../../integration/upstream/movable-clock.ts';
import { expectGranted, expectRefused, testLimitCounters } from './limit-counters-contract.ts';

const shared = createMemoryLimitCounters(movableClock());
describe('in memory', () => {
  testLimitCounters(() => shared);
});

function start() {
  const clock = movableClock();
  return { clock, counters: createMemoryLimitCounters(clock) };
}

test('a window ends when its time is over, and the next add starts another', async () => {
  const { clock, counters } = start();
  await counters.add('a', 5, 1_000);
  clock.move(999);
  expect(await counters.add('a', 5, 1_000)).toEqual({ used: 10, leftMs: 1 });
  clock.move(1);
  expect(await counters.add('a', 5, 1_000)).toEqual({ used: 5, leftMs: 1_000 });
});

test('whatever is added when, what was used is the sum of the window', async () => {
  const steps = fc.array(
    fc.record({ waitMs: fc.integer({ min: 0, max: 700 }), cost: fc.integer({ min: 1, max: 10 }), key: fc.nat(2) }),
    { maxLength: 50 },
  );
  await fc.assert(
    fc.asyncProperty(steps, async (each) => {
      const { clock, counters } = start();
      const windows = new Map<number, { startMs: number; used: number }>();
      let nowMs = 0;
      for (const { waitMs, cost, key } of each) {
        clock.move(waitMs);
        nowMs += waitMs;
        const known = windows.get(key);
        const window = known !== undefined && nowMs < known.startMs + 1_000 ? known : { startMs: nowMs, used: 0 };
        window.used += cost;
        windows.set(key, window);
        const expected = { used: window.used, leftMs: window.startMs + 1_000 - nowMs };
        expect(await counters.add(String(key), cost, 1_000)).toEqual(expected);
      }
    }),
  );
});

test('a claim runs out, and the next one is not given back by the one before', async () => {
  const { clock, counters } = start();
  const first = expectGranted(await counters.claim('a', 1_000));
  clock.move(999);
  expect(await counters.claim('a', 1_000)).toEqual({ isGranted: false, leftMs: 1 });
  clock.move(1);
  expectGranted(await counters.claim('a', 1_000));
  await first.giveBack();
  expectRefused(await counters.claim('a', 1_000), 1_000);
});

test('remembers a bounded number of clients and of claims, the latest', async () => {
  const { counters } = start();
  for (let index = 0; index < 50_001; index += 1) {
    await counters.add(String(index), 1, 1_000);
    await counters.claim(String(index), 1_000);
  }
  expect((await counters.add('0', 1, 1_000)).used).toBe(1);
  expect((await counters.add('50000', 1, 1_000)).used).toBe(2);
  expectGranted(await counters.claim('0', 1_000));
  expectRefused(await counters.claim('50000', 1_000), 1_000);
});
