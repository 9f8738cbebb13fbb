import type { Clock } from '../primitives/clock.ts';

/** A thousand failures in a row are all there, twice over. */
const BURST = 2_000;
const LINES_PER_SECOND = 200;

/**
 * How many log lines of one kind are written under a flood, as a token bucket. What is left out is counted, and the next line
 * that is written says how many those were.
 */
export class LineBudget {
  readonly #clock: Clock;
  #lines = BURST;
  #filledMs: number;
  #omitted = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#filledMs = clock.monotonicMs();
  }

  /** Undefined where the line is to be left out; else how many were since the last one. */
  take(): number | undefined {
    const nowMs = this.#clock.monotonicMs();
    this.#lines = Math.min(BURST, this.#lines + ((nowMs - this.#filledMs) / 1_000) * LINES_PER_SECOND);
    this.#filledMs = nowMs;
    if (this.#lines < 1) {
      this.#omitted += 1;
      return undefined;
    }
    this.#lines -= 1;
    const omitted = this.#omitted;
    this.#omitted = 0;
    return omitted;
  }
}
