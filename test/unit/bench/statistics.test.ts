import { describe, expect, test } from 'vitest';
import { differenceOf, median, quantile, round, slopeOf } from '../../../bench/statistics.ts';

test('quantiles are values that were measured', () => {
  expect([quantile([3, 1, 2], 0), median([3, 1, 2]), quantile([3, 1, 2], 1)]).toEqual([1, 2, 3]);
  expect(median([])).toBeNaN();
  expect(round(1.23456)).toBe(1.23);
  expect(round(1.26, 1)).toBe(1.3);
});

describe('the slope', () => {
  const samples = (count: number, y: (x: number) => number) =>
    Array.from({ length: count }, (_, index) => [index, y(index)] as const);

  test('of a line is its own, without a doubt', () => {
    const { slope, margin } = slopeOf(samples(100, (x) => 5 + 3 * x));
    expect(slope).toBeCloseTo(3);
    expect(margin).toBeCloseTo(0);
  });

  test('of memory that goes up and down between collections is not told from zero', () => {
    const { slope, margin } = slopeOf(samples(300, (x) => 250 + ((7 * x) % 40)));
    expect(Math.abs(slope)).toBeLessThan(margin);
  });

  test('of the same with a leak is', () => {
    const { slope, margin } = slopeOf(samples(300, (x) => 250 + ((7 * x) % 40) + 0.1 * x));
    expect(slope - margin).toBeGreaterThan(0);
    expect(slope).toBeCloseTo(0.1, 1);
  });

  test('takes as many samples as it has blocks', () => {
    expect(() => slopeOf(samples(9, (x) => x))).toThrow('10 samples');
  });
});

describe('the difference', () => {
  const readings = (of: number) => Array.from({ length: 10 }, (_, index) => of + (index % 2 === 0 ? 1 : -1));

  test('of readings that vary more than they differ is not told from zero', () => {
    const { difference, margin } = differenceOf(readings(100), readings(100.5));
    expect(difference).toBeCloseTo(0.5);
    expect(margin).toBeGreaterThan(difference);
  });

  test('of others is, as far as Welch says', () => {
    const { difference, margin } = differenceOf(readings(100), readings(110));
    expect(difference).toBeCloseTo(10);
    // Each group has a variance of 10 / 9.
    expect(margin).toBeCloseTo(2.262 * Math.sqrt(2 / 9));
  });

  test('takes ten readings of each', () => {
    expect(() => differenceOf([1, 2, 3], readings(1))).toThrow('10 readings');
  });
});
