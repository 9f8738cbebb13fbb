import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { drawLineChart, type LineChart, linearTicks, logTicks, MAX_SERIES } from '../../../bench/line-chart.ts';

const CHART: LineChart = {
  title: 'Time of a request',
  subtitle: 'a machine',
  xLabel: 'validators',
  yLabel: 'milliseconds',
  yScale: 'log',
  series: [
    {
      name: 'first',
      points: [
        [2_000, 1_100],
        [20, 73],
        [200, 151],
      ],
    },
    { name: 'repeated', points: [[20, 0.5]] },
  ],
};

/** The names of all elements, in order. @throws where it is not well-formed XML, as far as such documents use XML */
function elements(svg: string): string[] {
  const open: string[] = [];
  const names: string[] = [];
  let at = 0;
  for (const match of svg.matchAll(
    /<(\/?)([a-z]+)((?:\s+[a-zA-Z0-9-]+="[^"<&]*(?:&(?:amp|lt|gt|quot);[^"<&]*)*")*)\s*(\/?)>/g,
  )) {
    const [whole, closing, name = '', , empty] = match;
    const between = svg.slice(at, match.index).replaceAll(/&(amp|lt|gt|quot);/g, '');
    if (/[<&]/.test(between)) throw new Error(`not well-formed: ${between}`);
    at = match.index + whole.length;
    if (closing) {
      if (open.pop() !== name) throw new Error(`</${name}> closes nothing`);
      continue;
    }
    names.push(name);
    if (!empty) open.push(name);
  }
  if (open.length > 0 || svg.slice(at).trim() !== '') throw new Error(`not closed: ${open.join(', ')}`);
  return names;
}

const labels = (svg: string) => [...svg.matchAll(/<text[^>]*>([^<]*)<\/text>/g)].map(([, label]) => label);
const polylines = (svg: string) =>
  [...svg.matchAll(/<polyline[^>]* points="([^"]*)"/g)].map(([, points = '']) =>
    points.split(' ').map((point) => point.split(',').map(Number)),
  );

describe('a line chart', () => {
  const svg = drawLineChart(CHART);

  test('has its title, axes with units, ticks and a legend', () => {
    expect(labels(svg)).toEqual([
      ...['Time of a request', 'a machine', 'first', 'repeated'],
      ...['0.1', '1', '10', '100', '1,000', '10,000'],
      ...['2,000', '200', '20', 'validators', 'milliseconds'],
    ]);
  });

  test('has a line a series, a mark a point with its value, and a mark for the legend', () => {
    const names = elements(svg);
    expect(names.filter((name) => name === 'polyline')).toHaveLength(2);
    expect(svg.match(/<circle/g)).toHaveLength(3 + 1);
    expect([...svg.matchAll(/<title>([^<]*)</g)].map(([, title]) => title)).toEqual([
      ...['first, 2,000: 1,100', 'first, 20: 73', 'first, 200: 151', 'repeated, 20: 0.5'],
    ]);
  });

  test('has equal factors at equal distances, from left to right, and larger values higher', () => {
    const [first = []] = polylines(svg);
    const [[x1 = 0, y1 = 0] = [], [x2 = 0] = [], [x3 = 0, y3 = 0] = []] = first;
    expect(x2 - x1).toBeCloseTo(x3 - x2, 0);
    expect(x1).toBeLessThan(x2);
    expect(y3).toBeLessThan(y1);
  });

  test('has colours of its own for dark pages', () => {
    const [light = '', dark = ''] = svg.split('@media (prefers-color-scheme: dark)');
    for (const name of ['.background', 'text', '.grid', '.axis', '.subtle', '.s0', '.m5']) {
      const rule = new RegExp(`${name.replace('.', '\\.')} \\{[^}]*(#[0-9a-f]{6})`);
      expect(rule.exec(dark)?.[1]).toMatch(/^#/);
      expect(rule.exec(dark)?.[1]).not.toBe(rule.exec(light)?.[1]);
    }
  });

  test('escapes what it is given', () => {
    const [series] = CHART.series as [LineChart['series'][number]];
    const spiked = drawLineChart({ ...CHART, title: 'a < b & "c"', series: [{ ...series, name: '</text><script>' }] });
    expect(elements(spiked)).not.toContain('script');
    expect(labels(spiked)).toContain('a &lt; b &amp; &quot;c&quot;');
  });

  test.each<[string, Partial<LineChart>]>([
    ['no series', { series: [] }],
    ['more series than colours', { series: Array.from({ length: MAX_SERIES + 1 }, () => CHART.series[0] as never) }],
    ['a series without points', { series: [{ name: 'none', points: [] }] }],
    ['a zero on a logarithmic axis', { series: [{ name: 'zero', points: [[1, 0]] }] }],
    ['no number', { yScale: 'linear', series: [{ name: 'none', points: [[1, Number.NaN]] }] }],
  ])('refuses %s', (_name, change) => {
    expect(() => drawLineChart({ ...CHART, ...change })).toThrow(RangeError);
  });

  test('is well-formed and inside its frame, whatever the values', () => {
    const value = fc.double({ min: 1e-4, max: 1e9, noNaN: true });
    const series = fc.record({
      name: fc.string({ maxLength: 40 }),
      points: fc.array(fc.tuple(value, value), { minLength: 1, maxLength: 6 }),
    });
    fc.assert(
      fc.property(
        fc.array(series, { minLength: 1, maxLength: MAX_SERIES }),
        fc.constantFrom('log' as const, 'linear' as const),
        (all, yScale) => {
          const drawn = drawLineChart({ ...CHART, yScale, series: all });
          elements(drawn);
          const height = Number(/ height="(\d+)"/.exec(drawn)?.[1]);
          for (const [x = -1, y = -1] of polylines(drawn).flat()) {
            expect(x).toBeGreaterThan(0);
            expect(x).toBeLessThan(760);
            expect(y).toBeGreaterThan(0);
            expect(y).toBeLessThan(height);
          }
        },
      ),
    );
  });
});

describe('ticks', () => {
  test.each([
    [3, 40, [2, 5, 10, 20, 50]],
    [0.5, 1_100, [0.1, 1, 10, 100, 1_000, 10_000]],
    [1, 10, [1, 2, 5, 10]],
    [5, 5, [2, 5]],
    [0.002, 0.02, [0.002, 0.005, 0.01, 0.02]],
  ])('of a logarithmic axis from %d to %d', (min, max, expected) => {
    expect(logTicks(min, max)).toEqual(expected);
  });

  test.each([
    [0, [0, 1]],
    [5, [0, 1, 2, 3, 4, 5]],
    [626, [0, 200, 400, 600, 800]],
    [12_350, [0, 5_000, 10_000, 15_000]],
    [0.3, [0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3]],
  ])('of a linear axis to %d', (max, expected) => {
    expect(linearTicks(max)).toEqual(expected);
  });

  test('enclose all values, ascending, and are few', () => {
    const value = fc.double({ min: 1e-6, max: 1e12, noNaN: true });
    fc.assert(
      fc.property(value, value, (a, b) => {
        const [min, max] = [Math.min(a, b), Math.max(a, b)];
        for (const ticks of [logTicks(min, max), linearTicks(max)]) {
          expect(ticks).toEqual([...new Set(ticks)].toSorted((x, y) => x - y));
          expect(ticks[0]).toBeLessThanOrEqual(min);
          expect(ticks.at(-1)).toBeGreaterThanOrEqual(max);
          expect(ticks.length).toBeGreaterThanOrEqual(2);
          expect(ticks.length).toBeLessThanOrEqual(21);
        }
      }),
    );
  });
});
