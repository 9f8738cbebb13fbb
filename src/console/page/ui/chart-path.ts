/** A chart shows at least this time: one of the first seconds would be all noise. */
const MIN_SPAN_MS = 600_000;

/** Span of a chart: from the first time to the last, in Unix milliseconds; longer, with room at its end, if that is too short. */
export function spanOf(times: readonly number[]): [from: number, to: number] {
  const [first = 0, last = 0] = [times[0], times.at(-1)];
  return [first, Math.max(last, first + MIN_SPAN_MS)];
}

/** Returns the smallest of 1, 2, 5, 10, 20, … that is at least the value. */
export function niceTop(value: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, value)));
  return ([1, 2, 5].find((factor) => factor * power >= value) ?? 10) * power;
}

export type ChartPoint = readonly [x: number, y: number];

export interface DrawnSeries {
  /** Path of the lines through neighbouring values. */
  readonly line: string;
  /** Path of the area below these lines. */
  readonly area: string;
  /** Path of values without a neighbour, which have no line: strokes without a length, drawn as dots by their round ends. */
  readonly dots: string;
}

/**
 * Draws values at moments.
 *
 * @param points undefined if there is no value
 * @param bottom y of the axis
 */
export function drawSeries(points: readonly (ChartPoint | undefined)[], bottom: number): DrawnSeries {
  const drawn = { line: '', area: '', dots: '' };
  for (const run of runsOf(points)) {
    const [[x, y] = [0, 0], ...rest] = run;
    if (rest.length === 0) {
      drawn.dots += `M${x} ${y}h0`;
      continue;
    }
    const line = `M${x} ${y}${rest.map(([toX, toY]) => `L${toX} ${toY}`).join('')}`;
    drawn.line += line;
    drawn.area += `${line}V${bottom}H${x}Z`;
  }
  return drawn;
}

/**
 * Draws counts, each of the whole time since the point before. Nothing is drawn for 0: a line on the axis would look like a count.
 *
 * @param from x at which the time of the first count begins
 * @param bottom y of the axis
 */
export function drawCounts(points: readonly ChartPoint[], from: number, bottom: number): DrawnSeries {
  const drawn = { line: '', area: '', dots: '' };
  let run = '';
  let before = from;
  const endRun = (down: string): void => {
    if (run === '') return;
    drawn.line += run + down;
    drawn.area += `${run}V${bottom}Z`;
    run = '';
  };
  for (const [x, y] of points) {
    if (y < bottom) run += `${run === '' ? `M${before} ${bottom}` : ''}V${y}H${x}`;
    else endRun(`V${bottom}`);
    before = x;
  }
  endRun('');
  return drawn;
}

function runsOf(points: readonly (ChartPoint | undefined)[]): ChartPoint[][] {
  const runs: ChartPoint[][] = [[]];
  for (const point of points) {
    if (point === undefined) runs.push([]);
    else runs.at(-1)?.push(point);
  }
  return runs.filter((run) => run.length > 0);
}
