import { expect, test } from 'vitest';
import { backoffMs } from '../../../../src/lib/concurrency/backoff.ts';

const LIMITS = { baseMs: 100, maxMs: 1_000 };

test('delays double with each failure up to the maximum', () => {
  const pauses = [1, 2, 3, 4, 5, 5_000].map((failures) => backoffMs(failures, LIMITS));
  expect(pauses).toEqual([100, 200, 400, 800, 1_000, 1_000]);
});

test('jitter is half of a delay', () => {
  const pauses = [0, 0.5, 1].map((random) => backoffMs(2, LIMITS, () => random));
  expect(pauses).toEqual([100, 150, 200]);
});
