import fc from 'fast-check';
import { expect, test } from 'vitest';
import { AdaptiveLimit } from '../../../../src/lib/concurrency/adaptive-limit.ts';

const OPTIONS = { min: 2, max: 64, initial: 8, targetMs: { loop: 25, queue: 100 } };

/** Observes a signal every 20 ms, and returns when it ends. */
function observe(
  limit: AdaptiveLimit<'loop' | 'queue'>,
  { fromMs = 0, forMs, delayMs, inUse }: { fromMs?: number; forMs: number; delayMs: number; inUse?: number },
): number {
  for (let atMs = fromMs; atMs < fromMs + forMs; atMs += 20) limit.observe('loop', delayMs, atMs, inUse ?? limit.value);
  return fromMs + forMs;
}

test('an adaptive limit decreases while even the least delay of each window is above the target, down to its minimum', () => {
  const limit = new AdaptiveLimit(OPTIONS);
  observe(limit, { forMs: 10_000, delayMs: 40 });
  expect(limit.value).toBe(2);
});

test('an adaptive limit decreases once and waits for the effect', () => {
  const limit = new AdaptiveLimit({ ...OPTIONS, initial: 64 });
  observe(limit, { forMs: 240, delayMs: 40, inUse: 64 });
  expect(limit.value).toBe(38);
  // More than the limit still run.
  observe(limit, { fromMs: 240, forMs: 1_800, delayMs: 40, inUse: 64 });
  expect(limit.value).toBe(38);
  observe(limit, { fromMs: 2_040, forMs: 1_000, delayMs: 40, inUse: 38 });
  expect(limit.value).toBeLessThan(38);
});

test('an adaptive limit ignores a single congested window', () => {
  const limit = new AdaptiveLimit(OPTIONS);
  for (let atMs = 0; atMs < 10_000; atMs += 20) {
    limit.observe('loop', atMs % 1_000 >= 120 && atMs % 1_000 <= 280 ? 90 : 5, atMs, limit.value);
    expect(limit.value).toBeGreaterThanOrEqual(8);
  }
});

test('an adaptive limit grows after congestion, as far as it is used', () => {
  const limit = new AdaptiveLimit(OPTIONS);
  const congestedMs = observe(limit, { forMs: 10_000, delayMs: 40 });
  const halfMs = observe(limit, { fromMs: congestedMs, forMs: 20_000, delayMs: 2, inUse: 4 });
  expect(limit.value).toBe(12);
  observe(limit, { fromMs: halfMs, forMs: 20_000, delayMs: 2 });
  expect(limit.value).toBe(64);
});

test('an adaptive limit does not grow beyond its first value without use', () => {
  const limit = new AdaptiveLimit(OPTIONS);
  observe(limit, { forMs: 60_000, delayMs: 0, inUse: 0 });
  expect(limit.value).toBe(8);
});

test('an adaptive limit does not grow while another signal is congested, until its observations are stale', () => {
  const limit = new AdaptiveLimit(OPTIONS);
  for (let atMs = 0; atMs < 500; atMs += 20) limit.observe('queue', 400, atMs, 8);
  const cut = limit.value;
  expect(cut).toBeLessThan(8);
  observe(limit, { fromMs: 500, forMs: 1_000, delayMs: 1 });
  expect(limit.value).toBe(cut);
  observe(limit, { fromMs: 3_000, forMs: 10_000, delayMs: 1 });
  expect(limit.value).toBeGreaterThan(cut);
});

test('an adaptive limit is an integer within its bounds after any observations', () => {
  const step = fc.record({
    signal: fc.constantFrom<'loop' | 'queue'>('loop', 'queue'),
    delayMs: fc.integer({ min: 0, max: 5_000 }),
    afterMs: fc.integer({ min: 0, max: 3_000 }),
    inUse: fc.integer({ min: 0, max: 200 }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const limit = new AdaptiveLimit(OPTIONS);
      let nowMs = 0;
      for (const { signal, delayMs, afterMs, inUse } of steps) {
        nowMs += afterMs;
        limit.observe(signal, delayMs, nowMs, inUse);
        expect(Number.isInteger(limit.value) && limit.value >= 2 && limit.value <= 64).toBe(true);
      }
    }),
    { numRuns: 200 },
  );
});
