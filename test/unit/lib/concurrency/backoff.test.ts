import { expect, test } from 'vitest';
import { backoffMs } from '../../../../src/lib/concurrency/backoff.ts';
import { mayStatusPass } from '../../../../src/lib/net/http-statuses.ts';

const LIMITS = { baseMs: 100, maxMs: 1_000 };

test('delays double with each failure up to the maximum', () => {
  const pauses = [1, 2, 3, 4, 5, 5_000].map((failures) => backoffMs(failures, LIMITS));
  expect(pauses).toEqual([100, 200, 400, 800, 1_000, 1_000]);
});

test('jitter is half of a delay', () => {
  const pauses = [0, 0.5, 1].map((random) => backoffMs(2, LIMITS, () => random));
  expect(pauses).toEqual([100, 150, 200]);
});

test('retries are useful after server errors, timeouts and rate limits', () => {
  const statuses = [200, 301, 400, 401, 403, 404, 408, 409, 429, 499, 500, 502, 503, 504, 599];
  expect(statuses.filter(mayStatusPass)).toEqual([408, 429, 500, 502, 503, 504, 599]);
});
