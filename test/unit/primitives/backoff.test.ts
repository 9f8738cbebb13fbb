import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { backoffMs } from '../../../src/primitives/backoff.ts';

describe('backoffMs', () => {
  it('doubles from the first pause to the longest', () => {
    const limits = { baseMs: 100, maxMs: 1_000 };
    expect([1, 2, 3, 4, 5, 50].map((failures) => backoffMs(failures, limits))).toEqual([
      100, 200, 400, 800, 1_000, 1_000,
    ]);
  });

  it('is at least half of that with jitter, and at most all of it', () => {
    const failures = fc.integer({ min: 1, max: 2_000 });
    const jitter = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    fc.assert(
      fc.property(failures, jitter, (count, random) => {
        const limits = { baseMs: 250, maxMs: 30_000 };
        const fullMs = backoffMs(count, limits);
        const pauseMs = backoffMs(count, limits, () => random);
        expect(pauseMs).toBeGreaterThanOrEqual(fullMs / 2);
        expect(pauseMs).toBeLessThanOrEqual(fullMs);
      }),
    );
  });
});
