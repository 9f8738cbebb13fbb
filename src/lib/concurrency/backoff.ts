import type { Random } from './clock.ts';

export interface BackoffLimits {
  readonly baseMs: number;
  readonly maxMs: number;
}

/**
 * Returns the delay after a number of consecutive failures (at least one): doubled with each, up to the maximum.
 *
 * @param random adds jitter to half of the delay, so that callers that failed together do not all retry together
 */
export function backoffMs(failures: number, { baseMs, maxMs }: BackoffLimits, random?: Random): number {
  const delayMs = Math.min(baseMs * 2 ** (failures - 1), maxMs);
  return random === undefined ? delayMs : delayMs / 2 + (random() * delayMs) / 2;
}
