import fc from 'fast-check';
import { expect, test } from 'vitest';
import { drawCounts, drawSeries, niceTop, spanOf } from '../../../../../src/console/page/ui/chart-path.ts';
import {
  ago,
  bytes,
  compactWeight,
  dayTime,
  duration,
  grouped,
  milliseconds,
  missingOf,
  percentOf,
  shareOf,
  sharesOf,
  shortened,
  tokenAmount,
  unixTime,
} from '../../../../../src/console/page/ui/figures.ts';
import { textOfHex } from '../../../../../src/console/page/ui/hex.ts';
import { squarify } from '../../../../../src/console/page/ui/treemap.ts';

const plain = (text: string) => text.replaceAll('\u00a0', ' ');

test('a chart begins with its first time, and shows ten minutes at least', () => {
  expect(spanOf([])).toEqual([0, 600_000]);
  expect(spanOf([4_900_000, 5_000_000])).toEqual([4_900_000, 5_500_000]);
  expect(spanOf([1_400_000, 3_000_000, 5_000_000])).toEqual([1_400_000, 5_000_000]);
});

test('a chart has a line where values are neighbours, and a point where one is alone', () => {
  const points = [[0, 9] as const, undefined, [2, 5] as const, [3, 4] as const, undefined, [5, 1] as const];
  const drawn = { line: 'M2 5L3 4', area: 'M2 5L3 4V10H2Z', dots: 'M0 9h0M5 1h0' };
  expect(drawSeries(points, 10)).toEqual(drawn);
});

test('a chart of counts has a step for each, of the time since the one before, and nothing where none was', () => {
  const points = [[2, 5] as const, [3, 4] as const, [4, 10] as const, [5, 10] as const, [6, 1] as const];
  expect(drawCounts(points, 1, 10)).toEqual({
    line: 'M1 10V5H2V4H3V10M5 10V1H6',
    area: 'M1 10V5H2V4H3V10ZM5 10V1H6V10Z',
    dots: '',
  });
  expect(drawCounts(points.slice(2, 4), 1, 10)).toEqual({ line: '', area: '', dots: '' });
});

test('a chart has a round number at its top', () => {
  expect([0, 1, 1.5, 3, 7, 230, 501].map(niceTop)).toEqual([1, 1, 2, 5, 10, 500, 1_000]);
});

// Percentages have one decimal, and are never rounded up. What is missing is the difference of what is shown.
test.each([
  [percentOf(6_699n, 10_000n), '66.9 %'],
  [percentOf(67n, 100n), '67.0 %'],
  [percentOf(1n, 10_000n), '< 0.1 %'],
  [percentOf(0n, 5n), '0 %'],
  [percentOf(1n, 0n), '0 %'],
  [percentOf(999_999n, 1_000_000n), '99.9 %'],
  [percentOf(5n, 5n), '100 %'],
  // One of thousands of validators.
  [shareOf(1n, 1_900n), '0.052 %'],
  [shareOf(1n, 10_000n), '0.010 %'],
  [shareOf(1n, 100_000n), '0.0010 %'],
  [shareOf(1n, 999_999n), '0.00010 %'],
  [shareOf(1n, 10n ** 9n), '< 0.0001 %'],
  [shareOf(1n, 1_000n), '0.1 %'],
  [shareOf(5n, 5n), '100 %'],
  [shareOf(0n, 5n), '0 %'],
  [shareOf(1n, 0n), '0 %'],
  [missingOf(6_149n, 6_700n, 10_000n), '5.6 %'],
  [missingOf(7_000n, 6_700n, 10_000n), '0 %'],
  [compactWeight(23_750_004_960_008_537n, true), '23.75 M'],
  [compactWeight(23_750_004_960_008_537n, false), '23.75 P'],
  [compactWeight(999_999_999_999n, true), '999.99'],
  [compactWeight(1_999n, true), '0.00'],
  [compactWeight(1_999n, false), '1.99 k'],
  [compactWeight(999n, false), '999'],
  [compactWeight(0n, true), '0'],
  [grouped(1_234_567n), '1 234 567'],
  [grouped('1000'), '1 000'],
  [milliseconds(4.26), '4.3 ms'],
  [milliseconds(640.2), '640 ms'],
  [milliseconds(1_250), '1.25 s'],
  [milliseconds(12_340), '12.3 s'],
  [duration(500), '0 s'],
  [duration(61_000), '1 min 1 s'],
  [duration(90_000_000), '1 d 1 h'],
  [ago(20), 'now'],
  [ago(65_000), '1 min ago'],
  [bytes(2_048), '2 KiB'],
  [bytes(3 * 1_048_576), '3 MiB'],
  // The expiry of a registration is any u64, and the view of it must not break.
  [unixTime('1767323045'), '2026-01-02 03:04:05 UTC'],
  [unixTime('8640000000000'), '+275760-09-13 00:00:00 UTC'],
  [unixTime('18446744073709551615'), '18 446 744 073 709 551 615 s after 1970'],
  [tokenAmount(1_500_000_000_000_000_000n), '1 500 000 000 000 000 000 (1.5 with 18 decimals)'],
  [tokenAmount(12n), '12'],
  [shortened('NodeID-7Xhw2mDxuDS44j42TCB6U5579esbSt3Lg'), 'NodeID-7Xhw2mDx…bSt3Lg'],
  [shortened('0x12'), '0x12'],
  [textOfHex('68656c6c6f') ?? '', 'hello'],
])('%s', (text, expected) => {
  expect(plain(text)).toBe(expected);
});

test('a time of today has no date, and others have one', () => {
  const noon = new Date(2026, 10, 28, 12, 3, 4).getTime();
  expect([dayTime(noon, noon + 3_600_000), dayTime(noon, noon + 86_400_000)]).toEqual(['12:03:04', 'Nov 28, 12:03']);
});

test('bytes that are no text have none', () => {
  expect([textOfHex('00ff'), textOfHex('')]).toEqual([undefined, undefined]);
});

test('percentages of a whole add up, and the first is that of the figure alone', () => {
  const tenths = (text: string) => Math.round(10 * Number(plain(text).replace(/^< |[ %]/g, '')));
  expect(sharesOf([1n, 1n, 1n], 3n).map(plain)).toEqual(['33.3 %', '33.4 %', '33.3 %']);
  expect(sharesOf([], 0n)).toEqual([]);
  const weights = fc.array(fc.bigInt({ min: 0n, max: 10n ** 18n }), { minLength: 1, maxLength: 8 });
  fc.assert(
    fc.property(weights, (parts) => {
      const whole = parts.reduce((sum, part) => sum + part, 0n);
      fc.pre(parts.every((part) => part === 0n || 1_000n * part >= whole));
      const shares = sharesOf(parts, whole);
      expect(shares.reduce((sum, share) => sum + tenths(share), 0)).toBe(whole === 0n ? 0 : 1_000);
      expect(shares[0]).toBe(percentOf(parts[0] ?? 0n, whole));
    }),
  );
});

test('areas of the map are as the weights, within bounds, and without overlap', () => {
  const weights = fc.array(fc.double({ min: 0.01, max: 1_000, noNaN: true }), { minLength: 1, maxLength: 60 });
  fc.assert(
    fc.property(weights, (given) => {
      const descending = given.toSorted((a, b) => b - a);
      const [width, height] = [600, 250];
      const rects = squarify(descending, width, height);
      const total = descending.reduce((sum, weight) => sum + weight, 0);
      let covered = 0;
      for (const [index, weight] of descending.entries()) {
        const { x, y, width: w, height: h } = rects[index]!;
        expect(w * h).toBeCloseTo((weight / total) * width * height, 3);
        expect(Math.min(x, y)).toBeGreaterThanOrEqual(-1e-6);
        expect(x + w).toBeLessThanOrEqual(width + 1e-6);
        expect(y + h).toBeLessThanOrEqual(height + 1e-6);
        covered += w * h;
      }
      expect(covered).toBeCloseTo(width * height, 2);
    }),
  );
  expect(squarify([], 10, 10)).toEqual([]);
  expect(squarify([0], 10, 10)).toEqual([{ x: 0, y: 0, width: 0, height: 0 }]);
});
