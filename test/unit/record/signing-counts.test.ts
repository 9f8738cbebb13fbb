import { describe, expect, test } from 'vitest';
import { ParseError } from '../../../src/lib/encoding/parse-error.ts';
import {
  addCounts,
  addTime,
  askedOf,
  COUNTS,
  type CountName,
  connectedShareOf,
  countOf,
  decodeCounts,
  emptyCounts,
  encodeCounts,
  increment,
  type SigningCounts,
  signedShareOf,
  timeWithin,
} from '../../../src/record/signing-counts.ts';

function countsOf(numbers: Partial<Record<CountName, number>>, timesMs: readonly number[] = []): SigningCounts {
  const counts = emptyCounts();
  for (const name of COUNTS) for (let n = 0; n < (numbers[name] ?? 0); n += 1) increment(counts, name);
  for (const tookMs of timesMs) addTime(counts, tookMs);
  return counts;
}

describe('shares', () => {
  test('are of all collections in which the validator was asked, could not be, or was passed over', () => {
    const counts = countsOf({ signed: 5, refused: 1, timedOut: 1, unreachable: 2, invalid: 1, notAsked: 7 });
    expect(askedOf(counts)).toBe(10);
    expect(signedShareOf(counts)).toBe(5 / 17);
  });

  test('are missing without a question, and 0 of a validator that was only passed over', () => {
    expect(signedShareOf(countsOf({ samples: 60, connected: 60 }))).toBeUndefined();
    expect(signedShareOf(countsOf({ notAsked: 3 }))).toBe(0);
  });

  test('of the time are those of the samples', () => {
    expect(connectedShareOf(countsOf({ samples: 4, connected: 3 }))).toBe(0.75);
    expect(connectedShareOf(emptyCounts())).toBeUndefined();
  });
});

describe('times of answers', () => {
  test('give percentiles that are off by one step at most, from a millisecond to the longest request', () => {
    for (const tookMs of [1, 3, 12, 47, 180, 500, 1_234, 3_000]) {
      const counts = countsOf(
        {},
        Array.from({ length: 100 }, () => tookMs),
      );
      for (const share of [0.5, 0.95]) {
        const found = timeWithin(counts, share) ?? 0;
        expect(found / tookMs, `${share} of ${tookMs} ms is ${found} ms`).toBeGreaterThan(1 / 1.4);
        expect(found / tookMs, `${share} of ${tookMs} ms is ${found} ms`).toBeLessThan(tookMs < 2 ? 2 : 1.4);
      }
    }
  });

  test('keep a few slow answers out of the median', () => {
    const counts = countsOf({}, [...Array.from({ length: 90 }, () => 20), ...Array.from({ length: 10 }, () => 2_000)]);
    expect(timeWithin(counts, 0.5)).toBeLessThan(25);
    expect(timeWithin(counts, 0.95)).toBeGreaterThan(1_500);
  });

  test('are missing if there were none', () => {
    expect(timeWithin(countsOf({ timedOut: 3 }), 0.5)).toBeUndefined();
  });
});

describe('the stored form', () => {
  test('has all numbers again', () => {
    const counts = Uint32Array.from(
      { length: 32 },
      (_, place) => [0, 1, 127, 128, 16_384, 2 ** 32 - 1][place % 6] ?? 0,
    );
    expect(decodeCounts(encodeCounts(counts))).toEqual(counts);
    expect(decodeCounts(encodeCounts(emptyCounts()))).toEqual(emptyCounts());
  });

  test('of a usual hour is short', () => {
    const counts = countsOf(
      { signed: 1_000, samples: 60, connected: 60 },
      Array.from({ length: 1_000 }, (_, n) => 20 + (n % 40)),
    );
    expect(encodeCounts(counts).length).toBeLessThan(24);
  });

  test('that is cut off is refused', () => {
    const bytes = encodeCounts(countsOf({ signed: 300 }));
    expect(() => decodeCounts(bytes.subarray(0, -1))).toThrow(ParseError);
  });
});

test('sums add each number', () => {
  const sum = countsOf({ signed: 2, samples: 1 }, [5]);
  addCounts(sum, countsOf({ signed: 3, refused: 1 }, [5, 500]));
  expect(COUNTS.map((name) => countOf(sum, name))).toEqual([5, 1, 0, 0, 0, 0, 1, 0]);
  expect(timeWithin(sum, 1)).toBeGreaterThan(400);
});
