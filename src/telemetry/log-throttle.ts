import { LRUCache } from 'lru-cache';
import type { Clock } from '../lib/concurrency/clock.ts';
import type { Logger } from './logger.ts';

export interface LogLimit {
  readonly burst: number;
  readonly intervalMs: number;
}

const MAX_KINDS = 1_000;
const WARNING_LIMIT: LogLimit = { burst: 1, intervalMs: 60_000 };

/** Limits the log lines of each kind by GCRA, and counts the omitted ones. */
export class LogThrottle {
  readonly #clock: Clock;
  readonly #limit: LogLimit;
  readonly #kinds = new LRUCache<string, { freeMs: number; omitted: number }>({ max: MAX_KINDS });

  constructor(clock: Clock, limit: LogLimit) {
    this.#clock = clock;
    this.#limit = limit;
  }

  /**
   * @param kind of the line, or who caused it; the counts of the kinds used longest ago are forgotten
   * @returns the number of lines of the kind omitted since the last one; undefined if this one is to be omitted
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

/** @param kind subject of the line, one of a closed set */
export type ThrottledWarnings = (kind: string, fields: object, message: string) => void;

/** Writes at most one line of each kind per minute, with the number of lines `omitted` since the last one. */
export function createThrottledWarnings(logger: Pick<Logger, 'warn'>, clock: Clock): ThrottledWarnings {
  const throttle = new LogThrottle(clock, WARNING_LIMIT);
  return (kind, fields, message) => {
    const omitted = throttle.take(kind);
    if (omitted !== undefined) logger.warn({ ...fields, ...(omitted > 0 && { omitted }) }, message);
  };
}
