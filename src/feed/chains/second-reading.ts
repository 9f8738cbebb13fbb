import { backoffMs } from '../../lib/concurrency/backoff.ts';
import type { EvmBlock, LoggedMessage } from '../../pchain/codec/evm-block.ts';
import { LogThrottle } from '../../telemetry/log-throttle.ts';
import {
  CONCURRENT_BLOCKS,
  findLastWithTransactions,
  findRangeEnd,
  NotYet,
  type ReadBlocks,
  readByHash,
  readByLogs,
} from '../blocks/block-reading.ts';
import { type BlockCalls, createBlockCalls } from '../blocks/block-source.ts';
import { checkpointOf, contradiction, requireChain } from '../blocks/chain-checks.ts';
import { createRangeStep } from '../blocks/range-step.ts';
import type { Checkpoint } from '../feed-message.ts';
import { withDestination } from '../message-filter.ts';
import type { MessageStore } from '../message-store.ts';
import type { ChainReaderOptions } from './chain-reader-options.ts';
import { emittedFrom } from './emitted-messages.ts';
import type { Reading } from './reading-log.ts';

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
/** Between blocks that are read by receipts and logs, which takes some twenty calls. */
const BOTH_PAUSE_MS = 1_000;
/** The last blocks of a long gap that are read by receipts, too, if there is one endpoint. */
const MAX_BOTH_BLOCKS = 10_000;
const FAILURE_PAUSES = { baseMs: 1_000, maxMs: 60_000 };
/** Other than that of the first reading, so that the ranges of both differ. */
const FIRST_RANGE = 96;
const LOG_LIMIT = { burst: 1, intervalMs: 600_000 };
/** Failures in a row that are logged. */
const MANY_FAILURES = 10;

/**
 * Reads blocks again some minutes after they were read: from another endpoint if there is one, by ranges of logs, which takes a few calls for 1,000
 * blocks; else by another method. Blocks that were read by receipts are read by ranges of logs, and the others by receipts and logs. Messages that
 * the first reading missed are stored. The confirmed position follows.
 */
export function createSecondReading(options: SecondReadingOptions) {
  const { chainID, sources, store, clock, log, logger, accepts, onMissed } = options;
  const endpoints = sources.map((source) => createBlockCalls(source, clock));
  const ranges = createRangeStep(FIRST_RANGE);
  const throttle = new LogThrottle(clock, LOG_LIMIT);
  let failures = 0;

  /** Reads the next range; returns the milliseconds after which more may be there. */
  async function step(signal: AbortSignal): Promise<number> {
    const position = store.checkpoint(chainID);
    const confirmed = store.confirmed(chainID)?.blockNumber;
    if (position === undefined || confirmed === undefined) return LOOK_INTERVAL_MS;
    const reading = log.next(confirmed, position);
    if (reading === undefined || clock.monotonicMs() - reading.toMs < CONFIRM_AFTER_MS) return LOOK_INTERVAL_MS;
    const { calls, needsBoth } = choose(reading, position.blockNumber - confirmed);
    if (failures > 0) await requireChain(calls, chainID, signal);
    await requireBlock(calls, reading.last, signal);
    for await (const read of readNext(calls, confirmed + 1, reading.last.blockNumber, needsBoth, signal)) confirm(read);
    failures = 0;
    return needsBoth ? BOTH_PAUSE_MS : RANGE_PAUSE_MS;
  }

  /** @throws {ChainContradiction} if the endpoint has another chain, {NotYet} if it is behind */
  async function requireBlock(calls: BlockCalls, read: Checkpoint, signal: AbortSignal): Promise<void> {
    const block = await calls.block(read.blockNumber, signal);
    if (block === undefined) throw new NotYet(`its node does not have block ${read.blockNumber} yet`, read.blockNumber);
    if (block.hash !== read.blockHash) throw contradiction(read, block.hash);
  }

  /** Chooses the next endpoint after the one that was read first; after failures it may be the same one. */
  function choose({ method }: Reading, unconfirmedBlocks: number) {
    const index = ((method?.endpoint ?? 0) + 1 + failures) % endpoints.length;
    const isOther = method !== undefined && index !== method.endpoint;
    const needsBoth = !isOther && method?.by !== 'receipts' && unconfirmedBlocks <= MAX_BOTH_BLOCKS;
    return { calls: endpoints[index] as BlockCalls, needsBoth };
  }

  async function* readNext(calls: BlockCalls, first: number, last: number, needsBoth: boolean, signal: AbortSignal) {
    const few = Math.min(last, first + CONCURRENT_BLOCKS - 1);
    if (ranges.size === 0) {
      yield* readByHash(calls, first, few, signal);
      ranges.succeed(0);
      return;
    }
    const size = needsBoth ? Math.min(CONCURRENT_BLOCKS, ranges.size) : ranges.size;
    const end =
      (await findRangeEnd(calls, Math.min(last, first + size - 1), last, signal)) ??
      (await findLastWithTransactions(calls, first, few, signal));
    if (end.txHashes.length === 0) {
      // Without transactions, there is nothing that a node could leave out.
      yield { firstBlock: first, last: end, messages: [] };
      return;
    }
    const startedMs = clock.monotonicMs();
    try {
      const byLogs = readByLogs(calls, first, end, isMissing, signal);
      if (needsBoth) yield await withReceipts(calls, first, end, byLogs, signal);
      else yield* byLogs;
    } catch (error) {
      ranges.fail();
      throw error;
    }
    ranges.succeed(clock.monotonicMs() - startedMs);
  }

  /** Adds the messages in the receipts of a range to those in its logs. The store takes each message once. */
  async function withReceipts(
    calls: BlockCalls,
    first: number,
    last: EvmBlock,
    byLogs: AsyncIterable<ReadBlocks>,
    signal: AbortSignal,
  ): Promise<ReadBlocks> {
    const reads = [
      ...(await Array.fromAsync(byLogs)),
      ...(await Array.fromAsync(readByHash(calls, first, last.number, signal))),
    ];
    return { firstBlock: first, last, messages: reads.flatMap(({ messages }) => messages) };
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
  };
}
