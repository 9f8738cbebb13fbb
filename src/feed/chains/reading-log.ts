import type { Clock } from '../../lib/concurrency/clock.ts';
import type { Checkpoint } from '../feed-message.ts';

/** How blocks were read first, so that the second reading reads them in another way. */
export interface ReadingMethod {
  /** Place of the endpoint in the configuration. */
  readonly endpoint: number;
  readonly by: 'receipts' | 'logs';
}

/** Consecutive blocks that were read in the same way. */
export interface Reading {
  /** The last of the blocks. */
  readonly last: Checkpoint;
  /** Monotonic, as the next: when the first block was read. */
  readonly fromMs: number;
  /** When the last block was read. */
  readonly toMs: number;
  /** Undefined for blocks that were read before the start. */
  readonly method: ReadingMethod | undefined;
}

/** Longest time of one reading: the second reading begins when the whole of it is old enough. */
const MAX_READING_MS = 60_000;

export type ReadingLog = ReturnType<typeof createReadingLog>;

/** Creates the list of readings that the second reading has not confirmed: at most one a minute, and one for each change of the method. */
export function createReadingLog(clock: Clock) {
  let readings: Reading[] = [];

  return {
    note(last: Checkpoint, method: ReadingMethod): void {
      const nowMs = clock.monotonicMs();
      const before = readings.at(-1);
      const isContinued =
        before?.method?.by === method.by &&
        before.method.endpoint === method.endpoint &&
        nowMs - before.fromMs < MAX_READING_MS;
      if (isContinued) readings.pop();
      readings.push({ last, fromMs: isContinued ? before.fromMs : nowMs, toMs: nowMs, method });
    },
    /** Returns the first reading after the confirmed block. @param position the last block that was read */
    next(confirmed: number, position: Checkpoint): Reading | undefined {
      const { blockNumber } = position;
      // The first reading may have gone back.
      readings = readings.filter(({ last }) => last.blockNumber > confirmed && last.blockNumber <= blockNumber);
      const nowMs = clock.monotonicMs();
      if ((readings.at(-1)?.last.blockNumber ?? confirmed) < blockNumber) {
        readings.push({ last: position, fromMs: nowMs, toMs: nowMs, method: undefined });
      }
      return readings[0];
    },
    /** Time since the first reading that is not confirmed; 0 if there is none. */
    ageMs: (): number => (readings[0] === undefined ? 0 : clock.monotonicMs() - readings[0].fromMs),
  };
}
