/** Shown at least: a chart of the first seconds would be all noise. */
const MIN_SPAN_SECONDS = 600;

/**
 * From the first time to the last one, in seconds; longer where that is too short. uPlot's own span has a day after a time that is alone,
 * as it is in the first half minute of a service.
 */
export function spanOf(times: ArrayLike<number>): [from: number, to: number] {
  const [first = 0, last = 0] = [times[0], times[times.length - 1]];
  return [Math.min(first, last - MIN_SPAN_SECONDS), last];
}
