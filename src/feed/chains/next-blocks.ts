import { DeadlineExceeded } from '../../lib/concurrency/deadline.ts';
import { ApiError } from '../../pchain/rpc/api-error.ts';
import { CONCURRENT_BLOCKS, findRangeEnd, type ReadBlocks, readByHash, readByLogs } from '../blocks/block-reading.ts';
import { checkpointOf, contradiction, requirePosition } from '../blocks/chain-checks.ts';
import { createRangeStep } from '../blocks/range-step.ts';
import type { Checkpoint } from '../feed-message.ts';
import { withDestination } from '../message-filter.ts';
import type { ChainProblem } from './chain-problem.ts';
import type { ChainReaderOptions } from './chain-reader-options.ts';
import { emittedFrom } from './emitted-messages.ts';
import type { ChosenEndpoint } from './endpoint-choice.ts';
import type { ReadingMethod } from './reading-log.ts';

/** The newest blocks are read by their hashes, and older ones by ranges, in which a node that is behind has no logs without an error. */
export const NEWEST_BLOCKS = 64;
/** Blocks of the first range of logs. */
const FIRST_RANGE = 64;

export interface NextBlocksOptions extends ChainReaderOptions {
  readonly problem: ChainProblem;
  /** Called when blocks were stored. */
  readonly onAppend: () => void;
}

/**
 * Returns a function that reads the blocks after a position and stores their messages with the new one: each block must have the one before it
 * as its parent.
 */
export function createNextBlocks(options: NextBlocksOptions) {
  const { chainID, store, clock, accepts, problem, log, onAppend } = options;
  const ranges = createRangeStep(FIRST_RANGE);

  async function readNewest({ calls, index }: ChosenEndpoint, position: Checkpoint, to: number, signal: AbortSignal) {
    const first = position.blockNumber + 1;
    let parent = position;
    for await (const read of readByHash(calls, first, Math.min(to, first + CONCURRENT_BLOCKS - 1), signal)) {
      if (read.last.parentHash !== parent.blockHash) throw contradiction(parent, read.last.parentHash);
      append(read, { endpoint: index, by: 'receipts' });
      parent = checkpointOf(read.last);
    }
    if (ranges.size === 0) ranges.succeed(0);
  }

  /** Returns false if no range can be read here. */
  async function readRange({ calls, index }: ChosenEndpoint, position: Checkpoint, head: number, signal: AbortSignal) {
    const to = head - NEWEST_BLOCKS;
    const first = position.blockNumber + 1;
    await requirePosition(calls, position, signal);
    const last = await findRangeEnd(calls, Math.min(to, first + ranges.size - 1), head, signal);
    if (last === undefined) return false;
    const startedMs = clock.monotonicMs();
    try {
      for await (const read of readByLogs(calls, first, last, (logged) => accepts(withDestination(logged)), signal)) {
        append(read, { endpoint: index, by: 'logs' });
      }
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof ApiError) && !(error instanceof DeadlineExceeded)) throw error;
      ranges.fail();
      // The endpoint has just answered: a shorter range is tried at once.
      problem.note(error.message, error);
      return true;
    }
    ranges.succeed(clock.monotonicMs() - startedMs);
    return true;
  }

  function append({ firstBlock, last, messages }: ReadBlocks, method: ReadingMethod): void {
    const checkpoint = checkpointOf(last);
    store.append(chainID, { firstBlock, checkpoint, messages: emittedFrom(messages, options) });
    log.note(checkpoint, method);
    onAppend();
  }

  return async (endpoint: ChosenEndpoint, position: Checkpoint, head: number, signal: AbortSignal): Promise<void> => {
    const isLong = head - position.blockNumber > NEWEST_BLOCKS && ranges.size > 0;
    if (isLong && (await readRange(endpoint, position, head, signal))) return;
    await readNewest(endpoint, position, head, signal);
  };
}
