import { expect, test } from 'vitest';
import { LatencyWindow } from '../../../../src/aggregation/validators/latency-window.ts';

function windowOf(latencies: readonly number[]): LatencyWindow {
  const window = new LatencyWindow();
  for (const latency of latencies) window.add(latency);
  return window;
}

test('median and p99 are of the last hundred answers', () => {
  const ascending = Array.from({ length: 250 }, (_, i) => i);
  expect(windowOf(ascending).summary()).toEqual({ count: 100, medianMs: 199, p99Ms: 248 });
  expect(windowOf([5]).summary()).toEqual({ count: 1, medianMs: 5, p99Ms: 5 });
  expect(windowOf([1, 9, 2]).summary()).toEqual({ count: 3, medianMs: 2, p99Ms: 9 });
});
