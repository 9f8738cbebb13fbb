/** @param part 0.5 for the median; NaN where there are no values */
export function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? Number.NaN;
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

export function round(value: number, digits = 2): number {
  return Math.round(value * 10 ** digits) / 10 ** digits;
}

export interface Slope {
  /** Of y for each unit of x. */
  readonly slope: number;
  /** Half of the 95 % confidence interval. */
  readonly margin: number;
}

/** Two-sided 95 % quantile of Student's t for 8 degrees of freedom: those of a line through ten points. */
const T_95 = 2.306;
const BLOCKS = 10;

/**
 * How y grows with x. Neighbouring samples of a process are much alike, as with memory between two collections, so they would
 * make the interval look narrower than it is: the line goes through the means of ten blocks of samples.
 *
 * @param points in the order of x, at least as many as there are blocks
 */
export function slopeOf(points: readonly (readonly [x: number, y: number])[]): Slope {
  if (points.length < BLOCKS) throw new RangeError(`a slope takes ${BLOCKS} samples, and these are ${points.length}`);
  const blocks = Array.from({ length: BLOCKS }, (_, block) => {
    const from = Math.floor((block * points.length) / BLOCKS);
    const to = Math.floor(((block + 1) * points.length) / BLOCKS);
    const part = points.slice(from, to);
    return { x: mean(part.map(([x]) => x)), y: mean(part.map(([, y]) => y)) };
  });
  const middle = { x: mean(blocks.map(({ x }) => x)), y: mean(blocks.map(({ y }) => y)) };
  const spread = sum(blocks.map(({ x }) => (x - middle.x) ** 2));
  const slope = sum(blocks.map(({ x, y }) => (x - middle.x) * (y - middle.y))) / spread;
  const residuals = sum(blocks.map(({ x, y }) => (y - middle.y - slope * (x - middle.x)) ** 2));
  return { slope, margin: T_95 * Math.sqrt(residuals / (BLOCKS - 2) / spread) };
}

export interface Difference {
  readonly difference: number;
  /** Half of the 95 % confidence interval. */
  readonly margin: number;
}

/** The same for 9 degrees of freedom, which two groups of ten readings have at least. */
const T_95_OF_TEN = 2.262;
export const READINGS = 10;

/**
 * How much the mean of the readings after is above that of those before, by Welch's test.
 *
 * @param before as those after, at least {@link READINGS}
 */
export function differenceOf(before: readonly number[], after: readonly number[]): Difference {
  const least = Math.min(before.length, after.length);
  if (least < READINGS) throw new RangeError(`a difference takes ${READINGS} readings, and these are ${least}`);
  const error = Math.sqrt(variance(before) / before.length + variance(after) / after.length);
  return { difference: mean(after) - mean(before), margin: T_95_OF_TEN * error };
}

function variance(values: readonly number[]): number {
  const middle = mean(values);
  return sum(values.map((value) => (value - middle) ** 2)) / (values.length - 1);
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function mean(values: readonly number[]): number {
  return sum(values) / values.length;
}
