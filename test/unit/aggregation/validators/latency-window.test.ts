import fc from 'fast-check';
import { expect, test } from 'vitest';
import { LatencyWindow, WINDOW_ANSWERS } from '../../../../src/aggregation/validators/latency-window.ts';

function windowOf(latencies: readonly number[]): LatencyWindow {
  const window = new LatencyWindow();
  for (const latency of latencies) window.add(latency);
  return window;
}

test('has nothing to say before the first answer', () => {
  expect(new LatencyWindow().summary()).toBeUndefined();
});

test('median and p99 are of the last hundred answers', () => {
  const ascending = Array.from({ length: 250 }, (_, i) => i);
  expect(windowOf(ascending).summary()).toEqual({ count: 100, medianMs: 199, p99Ms: 248 });
  expect(windowOf([5]).summary()).toEqual({ count: 1, medianMs: 5, p99Ms: 5 });
  expect(windowOf([1, 9, 2]).summary()).toEqual({ count: 3, medianMs: 2, p99Ms: 9 });
});

test('forgets nothing of the last hundred while it grows', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 10_000 }), { minLength: 1, maxLength: 350 }), (latencies) => {
      const last = latencies.slice(-WINDOW_ANSWERS).toSorted((a, b) => a - b);
      expect(windowOf(latencies).summary()).toEqual({
        count: last.length,
        medianMs: last[Math.ceil(last.length / 2) - 1],
        p99Ms: last[Math.ceil(0.99 * last.length) - 1],
      });
    }),
  );
});
