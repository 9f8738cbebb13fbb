import { backoffMs } from '../../lib/concurrency/backoff.ts';
import type { LoggedMessage } from '../../pchain/codec/evm-block.ts';
import { LogThrottle } from '../../telemetry/log-throttle.ts';
import { withDestination } from '../message-filter.ts';
import type { MessageStore } from '../message-store.ts';
import { CONCURRENT_BLOCKS, findRangeEnd, type ReadBlocks, readByHash, readByLogs } from './block-reading.ts';
import { type BlockCalls, createBlockCalls } from './block-source.ts';
import { checkpointOf, contradiction, requireChain } from './chain-checks.ts';
import type { ChainReaderOptions } from './chain-reader-options.ts';
import { emittedFrom } from './emitted-messages.ts';
import { createRangeStep } from './range-step.ts';

export interface SecondReadingOptions extends Omit<ChainReaderOptions, 'store'> {
  readonly store: Pick<MessageStore, 'checkpoint' | 'confirmed' | 'confirm' | 'at'>;
  /** Called with the number of messages that the first reading has missed. */
  readonly onMissed: (count: number) => void;
}

/** Nodes that were behind, or had no logs yet, have them by then. */
const CONFIRM_AFTER_MS = 180_000;
const LOOK_INTERVAL_MS = 60_000;
/** Between ranges, so that the first reading is not delayed. */
const RANGE_PAUSE_MS = 100;
const FAILURE_PAUSES = { baseMs: 1_000, maxMs: 60_000 };
/** Other than that of the first reading, so that the ranges of both differ. */
const FIRST_RANGE = 96;
const LOG_LIMIT = { burst: 1, intervalMs: 600_000 };
/** Failures in a row that are logged. */
const MANY_FAILURES = 10;

export type SecondReading = ReturnType<typeof createSecondReading>;

/**
 * Reads blocks again some minutes after they were read, by a few calls for 1,000 blocks: by ranges of logs, where the newest blocks were read by
 * receipts, and from the second endpoint, if there is one. Messages that the first reading missed are stored. The confirmed position follows.
 */
export function createSecondReading(options: SecondReadingOptions) {
  const { chainID, sources, store, clock, logger, accepts, onMissed } = options;
  const endpoints = sources.map((source) => createBlockCalls(source, clock));
  const ranges = createRangeStep(FIRST_RANGE);
  const throttle = new LogThrottle(clock, LOG_LIMIT);
  /** Positions of the first reading, and when it had reached them, oldest first. */
  let marks: { readonly blockNumber: number; readonly atMs: number }[] = [];
  let failures = 0;

  /** Reads the next range; returns the milliseconds after which more may be there. */
  async function step(signal: AbortSignal): Promise<number> {
    const position = store.checkpoint(chainID);
    const confirmed = store.confirmed(chainID)?.blockNumber;
    if (position === undefined || confirmed === undefined) return LOOK_INTERVAL_MS;
    const nowMs = clock.monotonicMs();
    mark(position.blockNumber, confirmed, nowMs);
    const last = marks.findLast(({ atMs }) => nowMs - atMs >= CONFIRM_AFTER_MS)?.blockNumber ?? confirmed;
    if (last <= confirmed) return LOOK_INTERVAL_MS;
    const calls = endpoints[(failures + 1) % endpoints.length] as BlockCalls;
    if (failures > 0) await requireChain(calls, chainID, signal);
    for await (const read of readNext(calls, confirmed + 1, last, signal)) {
      const { blockNumber, blockHash } = position;
      if (read.last.number === blockNumber && read.last.hash !== blockHash)
        throw contradiction(position, read.last.hash);
      confirm(read);
    }
    failures = 0;
    return RANGE_PAUSE_MS;
  }

  function mark(blockNumber: number, confirmed: number, atMs: number): void {
    // The first reading may have gone back.
    marks = marks.filter((each) => each.blockNumber > confirmed && each.blockNumber <= blockNumber);
    if (blockNumber > (marks.at(-1)?.blockNumber ?? confirmed)) marks.push({ blockNumber, atMs });
  }

  async function* readNext(calls: BlockCalls, first: number, last: number, signal: AbortSignal) {
    const end =
      ranges.size === 0 ? undefined : await findRangeEnd(calls, Math.min(last, first + ranges.size - 1), signal);
    if (end === undefined || end.number > last) {
      yield* readByHash(calls, first, Math.min(last, first + CONCURRENT_BLOCKS - 1), signal);
      if (ranges.size === 0) ranges.succeed(0);
      return;
    }
    const startedMs = clock.monotonicMs();
    try {
      yield* readByLogs(calls, first, end, isMissing, signal);
    } catch (error) {
      ranges.fail();
      throw error;
    }
    ranges.succeed(clock.monotonicMs() - startedMs);
  }

  function isMissing(logged: LoggedMessage): boolean {
    return accepts(withDestination(logged)) && store.at([{ chainID, ...logged }]).length === 0;
  }

  function confirm({ firstBlock, last, messages }: ReadBlocks): void {
    const checkpoint = checkpointOf(last);
    const added = store.confirm(chainID, { firstBlock, checkpoint, messages: emittedFrom(messages, options) });
    if (added === 0) return;
    onMissed(added);
    const omitted = throttle.take('missed');
    if (omitted === undefined) return;
    const fields = { chainId: chainID, fromBlock: firstBlock, toBlock: last.number, messages: added };
    logger.warn(fields, 'a second reading has found messages that the first one missed');
  }

  return {
    /** Confirms the next blocks. @returns the milliseconds to wait */
    async read(signal: AbortSignal): Promise<number> {
      try {
        return await step(signal);
      } catch (error) {
        signal.throwIfAborted();
        failures += 1;
        if (failures >= MANY_FAILURES && throttle.take('failed') !== undefined) {
          logger.warn({ chainId: chainID, err: error }, 'the feed cannot confirm the blocks that it has read');
        }
        return backoffMs(failures, FAILURE_PAUSES);
      }
    },
    /** Time for which the oldest block that is not confirmed has been waiting; 0 if there is none. */
    unconfirmedMs: (): number => (marks[0] === undefined ? 0 : clock.monotonicMs() - marks[0].atMs),
  };
}
