import { describe, expect, test } from 'vitest';
import { type JobCosts, simulateWorkers, type WorkersResult } from '../../../bench/simulated-workers.ts';

/** Near to what noble and blst take. */
const NOBLE: JobCosts = {
  ...{ hashMs: 1.1, addMs: 0.05, addEachMs: 0.35, aggregateMs: 0.2, checkMs: 3.2, furtherCheckMs: 1.7 },
};
const NATIVE: JobCosts = {
  ...{ hashMs: undefined, addMs: 0.03, addEachMs: 0.12, aggregateMs: 0.1, checkMs: 1, furtherCheckMs: 0.6 },
};
const THREADS = [1, 2, 4, 16, 64];

const LOOP_MS = 0.5;

/** With more clients, all of whom begin at once, what a short time shows depends on where it begins and ends. */
function simulate(threads: number, costs: JobCosts, loopMs = LOOP_MS, durationMs = 250): Promise<WorkersResult> {
  const clients = Math.min(16 * threads, 96);
  return simulateWorkers({ threads, clients, signers: 4, costs, loopMs, durationMs });
}

describe.each([
  ['noble', NOBLE],
  ['native', NATIVE],
])('the queue of BLS jobs with %s', (_name, costs) => {
  test('leaves no thread without a job while jobs wait, and no client behind, with 1 to 64 threads', async () => {
    for (const threads of THREADS) {
      // On few threads it takes longer until each client has had some dozens: of a dozen, one more or less is nearly a tenth.
      const { idleWhileWaiting, fewest, most } = await simulate(threads, costs, 0.1, Math.max(250, 4_000 / threads));
      expect([threads, idleWhileWaiting]).toEqual([threads, 0]);
      expect(most - fewest).toBeLessThanOrEqual(Math.max(2, 0.25 * most));
    }
  });

  test('does as much more as there are threads, until the event loop has no time left', async () => {
    const most = 1_000 / LOOP_MS;
    const { perSecond: one } = await simulate(1, costs);
    for (const threads of THREADS) {
      const { perSecond, loopBusy, threadsBusy } = await simulate(threads, costs);
      expect(perSecond).toBeGreaterThan(0.8 * Math.min(threads * one, most));
      expect(perSecond).toBeLessThan(1.05 * most);
      expect(Math.max(threadsBusy, loopBusy)).toBeGreaterThan(0.85);
      if (threads === 64) expect(loopBusy).toBeGreaterThan(0.95);
    }
  });

  test('is the same each time', async () => {
    expect(await simulate(4, costs)).toEqual(await simulate(4, costs));
  });
});
