import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { AdaptiveLimit } from '../../../../src/lib/concurrency/adaptive-limit.ts';

const OPTIONS = { min: 2, max: 64, initial: 8, targetMs: { loop: 25, queue: 100 } };

/** Observes a signal every 20 ms. */
function observeFor(
  limit: AdaptiveLimit<'loop' | 'queue'>,
  durationMs: number,
  delayMs: (atMs: number) => number,
  startMs = 0,
  inUse = () => limit.value,
) {
  for (let atMs = startMs; atMs < startMs + durationMs; atMs += 20) limit.observe('loop', delayMs(atMs), atMs, inUse());
  return startMs + durationMs;
}

describe('an adaptive limit', () => {
  test('decreases while even the least delay of each window is above the target, down to its minimum', () => {
    const limit = new AdaptiveLimit(OPTIONS);
    observeFor(limit, 10_000, () => 40);
    expect(limit.value).toBe(2);
  });

  test('decreases once for what was started before, and waits for the effect', () => {
    const limit = new AdaptiveLimit({ ...OPTIONS, initial: 64 });
    observeFor(
      limit,
      240,
      () => 40,
      0,
      () => 64,
    );
    expect(limit.value).toBe(38);
    // More than the limit still run.
    observeFor(
      limit,
      1_800,
      () => 40,
      240,
      () => 64,
    );
    expect(limit.value).toBe(38);
    observeFor(
      limit,
      1_000,
      () => 40,
      2_040,
      () => 38,
    );
    expect(limit.value).toBeLessThan(38);
  });

  test('takes one congested window for a pause', () => {
    const limit = new AdaptiveLimit(OPTIONS);
    for (let atMs = 0; atMs < 10_000; atMs += 20) {
      limit.observe('loop', atMs % 1_000 >= 120 && atMs % 1_000 <= 280 ? 90 : 5, atMs, limit.value);
      expect(limit.value).toBeGreaterThanOrEqual(8);
    }
  });

  test('takes no burst for congestion', () => {
    const limit = new AdaptiveLimit(OPTIONS);
    observeFor(limit, 10_000, (atMs) => (atMs % 100 < 80 ? 90 : 5));
    expect(limit.value).toBeGreaterThan(8);
  });

  test('grows again when congestion is over, as far as it is used', () => {
    const limit = new AdaptiveLimit(OPTIONS);
    const congestedMs = observeFor(limit, 10_000, () => 40);
    const halfMs = observeFor(
      limit,
      20_000,
      () => 2,
      congestedMs,
      () => 4,
    );
    expect(limit.value).toBe(12);
    observeFor(limit, 20_000, () => 2, halfMs);
    expect(limit.value).toBe(64);
  });

  test('does not grow beyond its first value while it is not used', () => {
    const limit = new AdaptiveLimit(OPTIONS);
    observeFor(
      limit,
      60_000,
      () => 0,
      0,
      () => 0,
    );
    expect(limit.value).toBe(8);
  });

  test('does not grow while another signal is congested, and forgets it when it is no longer observed', () => {
    const limit = new AdaptiveLimit(OPTIONS);
    for (let atMs = 0; atMs < 500; atMs += 20) limit.observe('queue', 400, atMs, 8);
    const cut = limit.value;
    expect(cut).toBeLessThan(8);
    observeFor(limit, 1_000, () => 1, 500);
    expect(limit.value).toBe(cut);
    observeFor(limit, 10_000, () => 1, 3_000);
    expect(limit.value).toBeGreaterThan(cut);
  });

  test('stays a whole number within its bounds, whatever is observed', () => {
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
});
