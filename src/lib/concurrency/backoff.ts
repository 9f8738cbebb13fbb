import type { Random } from './clock.ts';

export interface BackoffLimits {
  /** Pause after the first failure. */
  readonly baseMs: number;
  readonly maxMs: number;
}

/**
 * The pause after so many failures in a row, at least one: doubled with each, up to the longest.
 *
 * @param random if given, half of the pause is random, so that those who failed together do not all return together
 */
export function backoffMs(failures: number, { baseMs, maxMs }: BackoffLimits, random?: Random): number {
  const pauseMs = Math.min(baseMs * 2 ** (failures - 1), maxMs);
  return random === undefined ? pauseMs : pauseMs / 2 + (random() * pauseMs) / 2;
}
