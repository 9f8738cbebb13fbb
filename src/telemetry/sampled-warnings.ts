import type { Clock } from '../primitives/clock.ts';
import type { Logger } from './logger.ts';

/** A line a minute for each thing that keeps happening is enough to see it, and does not bury everything else. */
const INTERVAL_MS = 60_000;

/** @param about what the line is about; of a closed set, as it is remembered */
export type SampledWarnings = (about: string, fields: object, message: string) => void;

/** Writes of lines about the same thing the first in a minute, with the number of those `omitted` since the last one. */
export function createSampledWarnings(logger: Logger, clock: Clock): SampledWarnings {
  const last = new Map<string, { readonly writtenMs: number; omitted: number }>();
  return (about, fields, message) => {
    const nowMs = clock.monotonicMs();
    const before = last.get(about);
    if (before !== undefined && nowMs - before.writtenMs < INTERVAL_MS) {
      before.omitted += 1;
      return;
    }
    last.set(about, { writtenMs: nowMs, omitted: 0 });
    logger.warn({ ...fields, ...(before !== undefined && before.omitted > 0 && { omitted: before.omitted }) }, message);
  };
}
