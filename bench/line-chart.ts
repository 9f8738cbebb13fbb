/** A chart of lines over a logarithmic x axis: benchmarks measure sizes that grow by factors. */
export interface LineChart {
  readonly title: string;
  /** A line below the title, such as the machine. */
  readonly subtitle?: string;
  /** Axis labels, with units. */
  readonly xLabel: string;
  readonly yLabel: string;
  /** `log` shows factors; `linear` starts at 0 and shows amounts. */
  readonly yScale: 'log' | 'linear';
  /** At most as many as there are colours; see {@link MAX_SERIES}. */
  readonly series: readonly Series[];
}

export interface Series {
  readonly name: string;
  /** x and, where y is logarithmic, y are above 0. */
  readonly points: readonly (readonly [x: number, y: number])[];
}

/** For light and for dark pages: each readable on its background, and told apart without seeing red or green as well. */
const COLOURS = [
  { light: '#2a78d6', dark: '#3987e5' },
  { light: '#c2560c', dark: '#e88a48' },
  { light: '#0f8a5f', dark: '#2fbf8c' },
  { light: '#7a4fc0', dark: '#a98be8' },
  { light: '#b3317a', dark: '#e574b0' },
  { light: '#6b6b63', dark: '#a8a8a0' },
] as const;
export const MAX_SERIES = COLOURS.length;

const WIDTH = 760;
const HEIGHT = 430;
const LEGEND_ROW = 22;
const MARGIN = { left: 78, right: 28, top: 74, bottom: 62 };
const PADDING = 14;
/** Width of a character of the legend, roughly: text cannot be measured here. */
const CHARACTER_WIDTH = 7.2;
const MARKER_RADIUS = 4.5;
/** Labels of the x axis that come closer than this are left out. */
const MIN_TICK_DISTANCE = 34;
const MAX_LINEAR_TICKS = 6;

const STYLE = `
text { font: 13px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; fill: #1f2328 }
.title { font-size: 17px; font-weight: 600 }
.subtle { fill: #59636e }
.background { fill: #ffffff }
.grid { stroke: #d8dde3; stroke-width: 1 }
.axis { stroke: #818b98; stroke-width: 1 }
.line { fill: none; stroke-width: 2; stroke-linejoin: round }
${COLOURS.map(({ light }, index) => rules(index, light)).join('\n')}
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 }
.subtle { fill: #9198a1 }
.background { fill: #0d1117 }
.grid { stroke: #2f353d }
.axis { stroke: #656c76 }
${COLOURS.map(({ dark }, index) => rules(index, dark)).join('\n')}
}`;

/**
 * Draws a chart as an SVG document that needs nothing else: no script, no font, no style sheet. It follows the reader's light
 * or dark colour scheme. A point shows its value when it is pointed at.
 *
 * @throws {RangeError} where a value cannot be drawn
 */
export function drawLineChart(chart: LineChart): string {
  const { series, title, subtitle, xLabel, yLabel } = chart;
  check(chart);
  const legend = layOutLegend(series);
  const top = MARGIN.top + legend.rows * LEGEND_ROW;
  const height = HEIGHT + legend.rows * LEGEND_ROW;
  const [left, right, bottom] = [MARGIN.left, WIDTH - MARGIN.right, height - MARGIN.bottom];
  const points = series.flatMap((each) => each.points);
  const xs = [...new Set(points.map(([x]) => x))].toSorted((a, b) => a - b);
  const ys = points.map(([, y]) => y);
  const toX = logScale(Math.min(...xs), Math.max(...xs), left + PADDING, right - PADDING);
  const yTicks = chart.yScale === 'log' ? logTicks(Math.min(...ys), Math.max(...ys)) : linearTicks(Math.max(...ys));
  const yScale = chart.yScale === 'log' ? logScale : linearScale;
  const toY = yScale(yTicks[0] as number, yTicks.at(-1) as number, bottom, top);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-label="${escape(title)}">`,
    `<style>${STYLE}\n</style>`,
    `<rect class="background" width="${WIDTH}" height="${height}" rx="6"/>`,
    text(PADDING + 4, 28, title, { class: 'title' }),
    ...(subtitle === undefined ? [] : [text(PADDING + 4, 48, subtitle, { class: 'subtle' })]),
    ...legend.entries.flatMap(({ x, y, name }, index) => [
      line(x, y - 4, x + 22, y - 4, `line s${index}`),
      marker(index, x + 11, y - 4),
      text(x + 29, y, name),
    ]),
    ...yTicks.flatMap((tick) => [
      line(left, toY(tick), right, toY(tick), 'grid'),
      text(left - 8, toY(tick) + 4, format(tick), { class: 'subtle', 'text-anchor': 'end' }),
    ]),
    line(left, bottom, right, bottom, 'axis'),
    ...apart(xs, toX).flatMap((tick) => [
      line(toX(tick), bottom, toX(tick), bottom + 5, 'axis'),
      text(toX(tick), bottom + 20, format(tick), { class: 'subtle', 'text-anchor': 'middle' }),
    ]),
    text((left + right) / 2, height - 16, xLabel, { 'text-anchor': 'middle' }),
    text(0, 0, yLabel, {
      'text-anchor': 'middle',
      transform: `translate(20 ${round((top + bottom) / 2)}) rotate(-90)`,
    }),
    ...series.map(({ points: own }, index) => {
      const path = own.toSorted(([a], [b]) => a - b).map(([x, y]) => `${round(toX(x))},${round(toY(y))}`);
      return `<polyline class="line s${index}" points="${path.join(' ')}"/>`;
    }),
    ...series.flatMap(({ name, points: own }, index) =>
      own.map(([x, y]) => marker(index, toX(x), toY(y), `${name}, ${format(x)}: ${format(y)}`)),
    ),
    '</svg>',
    '',
  ].join('\n');
}

function check({ series, yScale }: LineChart): void {
  if (series.length === 0 || series.length > MAX_SERIES) {
    throw new RangeError(`a chart has 1 to ${MAX_SERIES} series, not ${series.length}`);
  }
  for (const { name, points } of series) {
    if (points.length === 0) throw new RangeError(`the series "${name}" has no points`);
    for (const [x, y] of points) {
      const isDrawable = Number.isFinite(x) && x > 0 && Number.isFinite(y) && (yScale === 'log' ? y > 0 : y >= 0);
      if (!isDrawable) throw new RangeError(`the series "${name}" has a point at ${x}, ${y}`);
    }
  }
}

/** Ticks at 1, 2 and 5 times powers of ten that enclose the values, or at powers of ten alone where those would be many. */
export function logTicks(min: number, max: number): number[] {
  const isWide = Math.log10(max / min) > 2;
  const steps = isWide ? [1] : [1, 2, 5];
  const ticks: number[] = [];
  for (let exponent = Math.floor(Math.log10(min)) - 1; ; exponent += 1) {
    for (const step of steps) {
      // By its decimal text, as 10 ** -3 times 2 has other digits than 0.002.
      const tick = Number(`${step}e${exponent}`);
      const next = steps[steps.indexOf(step) + 1];
      const following = next === undefined ? Number(`1e${exponent + 1}`) : Number(`${next}e${exponent}`);
      if (ticks.length === 0 && following <= min && following < max) continue;
      ticks.push(tick);
      if (tick >= max && ticks.length > 1) return ticks;
    }
  }
}

/** Round ticks from 0 to at least the value. */
export function linearTicks(max: number): number[] {
  if (max === 0) return [0, 1];
  const exponent = Math.floor(Math.log10(max / MAX_LINEAR_TICKS));
  const steps = [1, 2, 5, 10].map((step) => Number(`${step}e${exponent}`));
  const step = steps.find((each) => max / each <= MAX_LINEAR_TICKS) ?? Number(`1e${exponent + 1}`);
  return Array.from({ length: Math.ceil(max / step) + 1 }, (_, index) => Number((index * step).toPrecision(12)));
}

type Scale = (value: number) => number;

function linearScale(min: number, max: number, from: number, to: number): Scale {
  // One value alone stands in the middle.
  return (value) => (max === min ? (from + to) / 2 : from + ((value - min) / (max - min)) * (to - from));
}

function logScale(min: number, max: number, from: number, to: number): Scale {
  const scale = linearScale(Math.log(min), Math.log(max), from, to);
  return (value) => scale(Math.log(value));
}

/** From the largest down, those that leave room for each other's labels. */
function apart(values: readonly number[], scale: Scale): number[] {
  const kept: number[] = [];
  for (const value of values.toReversed()) {
    const last = kept.at(-1);
    if (last === undefined || Math.abs(scale(last) - scale(value)) >= MIN_TICK_DISTANCE) kept.push(value);
  }
  return kept;
}

/** Entries side by side, in as many rows as they need. */
function layOutLegend(series: readonly Series[]) {
  let x = PADDING + 4;
  let row = 0;
  const entries = series.map(({ name }) => {
    const width = 29 + name.length * CHARACTER_WIDTH + 20;
    if (x > PADDING + 4 && x + width > WIDTH - PADDING) {
      x = PADDING + 4;
      row += 1;
    }
    const entry = { name, x, y: MARGIN.top + row * LEGEND_ROW };
    x += width;
    return entry;
  });
  return { entries, rows: row + 1 };
}

/** Each series has a shape of its own too, so that nobody has to tell them by colour. */
function marker(index: number, x: number, y: number, tooltip?: string): string {
  const r = MARKER_RADIUS;
  const corners = (list: readonly (readonly [number, number])[]): string =>
    `<polygon class="m${index}" points="${list.map(([dx, dy]) => `${round(x + dx * r)},${round(y + dy * r)}`).join(' ')}"`;
  const shapes = [
    `<circle class="m${index}" cx="${round(x)}" cy="${round(y)}" r="${r}"`,
    corners(
      [
        [-1, -1],
        [1, -1],
        [1, 1],
        [-1, 1],
      ].map(([dx = 0, dy = 0]) => [dx * 0.9, dy * 0.9] as const),
    ),
    corners([
      [0, -1.2],
      [1.15, 0.9],
      [-1.15, 0.9],
    ]),
    corners([
      [0, -1.3],
      [1.3, 0],
      [0, 1.3],
      [-1.3, 0],
    ]),
    corners([
      [0, 1.2],
      [1.15, -0.9],
      [-1.15, -0.9],
    ]),
    corners([
      [-1.3, -0.5],
      [1.3, -0.5],
      [1.3, 0.5],
      [-1.3, 0.5],
    ]),
  ];
  const shape = shapes[index] as string;
  return tooltip === undefined
    ? `${shape}/>`
    : `${shape}><title>${escape(tooltip)}</title></${shape.slice(1, shape.indexOf(' '))}>`;
}

function rules(index: number, colour: string): string {
  return `.s${index} { stroke: ${colour} } .m${index} { fill: ${colour} }`;
}

function line(x1: number, y1: number, x2: number, y2: number, className: string): string {
  return `<line class="${className}" x1="${round(x1)}" y1="${round(y1)}" x2="${round(x2)}" y2="${round(y2)}"/>`;
}

function text(x: number, y: number, content: string, attributes: Readonly<Record<string, string>> = {}): string {
  const all = { x: round(x), y: round(y), ...attributes };
  const written = Object.entries(all).map(([name, value]) => `${name}="${escape(String(value))}"`);
  return `<text ${written.join(' ')}>${escape(content)}</text>`;
}

function escape(content: string): string {
  return content.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}

function format(value: number): string {
  return value.toLocaleString('en-US', { maximumSignificantDigits: 6 });
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
