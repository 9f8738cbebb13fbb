import type { Clock } from '../lib/concurrency/clock.ts';
import type { Logger } from './logger.ts';

export interface LogLimit {
  /** Lines of one kind at once. */
  readonly burst: number;
  /** Between lines beyond that. */
  readonly intervalMs: number;
}

/** A line a minute for each thing that keeps happening is enough to see it. */
const WARNING_LIMIT: LogLimit = { burst: 1, intervalMs: 60_000 };

/** Limits how many log lines of each kind are written, by GCRA, and counts those left out. */
export class LogThrottle {
  readonly #clock: Clock;
  readonly #limit: LogLimit;
  readonly #kinds = new Map<string, { freeMs: number; omitted: number }>();

  constructor(clock: Clock, limit: LogLimit) {
    this.#clock = clock;
    this.#limit = limit;
  }

  /**
   * @param kind of a closed set, as each is kept
   * @returns how many lines of the kind were left out since the last one; undefined where this one is to be left out
   */
  take(kind: string): number | undefined {
    const nowMs = this.#clock.monotonicMs();
    const { burst, intervalMs } = this.#limit;
    const state = this.#kinds.get(kind) ?? { freeMs: nowMs, omitted: 0 };
    this.#kinds.set(kind, state);
    state.freeMs = Math.max(state.freeMs, nowMs);
    if (state.freeMs - nowMs > (burst - 1) * intervalMs) {
      state.omitted += 1;
      return undefined;
    }
    state.freeMs += intervalMs;
    const { omitted } = state;
    state.omitted = 0;
    return omitted;
  }
}

/** @param kind what the line is about, of a closed set */
export type ThrottledWarnings = (kind: string, fields: object, message: string) => void;

/** Writes at most one line a minute of each kind, with the number of lines `omitted` since the last one. */
export function createThrottledWarnings(logger: Logger, clock: Clock): ThrottledWarnings {
  const throttle = new LogThrottle(clock, WARNING_LIMIT);
  return (kind, fields, message) => {
    const omitted = throttle.take(kind);
    if (omitted !== undefined) logger.warn({ ...fields, ...(omitted > 0 && { omitted }) }, message);
  };
}
