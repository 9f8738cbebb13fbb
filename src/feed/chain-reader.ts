import { backoffMs } from '../lib/concurrency/backoff.ts';
import type { Clock } from '../lib/concurrency/clock.ts';
import { DeadlineExceeded, startDeadline } from '../lib/concurrency/deadline.ts';
import type { EvmBlock, LoggedMessage } from '../pchain/codec/evm-block.ts';
import { ApiError } from '../pchain/rpc/api-error.ts';
import { StoreError } from '../store/local/sqlite.ts';
import type { Logger } from '../telemetry/logger.ts';
import type { BlockchainID } from '../warp/ids.ts';
import type { BlockSource } from './block-source.ts';
import type { Checkpoint, EmittedMessage } from './feed-message.ts';
import { toEmitted } from './message-filter.ts';
import type { MessageStore } from './message-store.ts';

export interface ChainReaderOptions {
  readonly chainID: BlockchainID;
  readonly source: BlockSource;
  readonly store: Pick<MessageStore, 'checkpoint' | 'addChain' | 'append'>;
  readonly clock: Clock;
  readonly logger: Pick<Logger, 'info' | 'warn' | 'error'>;
  /** First block to read if the chain was never watched; undefined: the head. */
  readonly fromBlock: number | undefined;
  /** Whether a message is wanted. */
  readonly accepts: (message: EmittedMessage) => boolean;
  /** For the reading of one block or range. */
  readonly timeoutMs: number;
}

/** The RPC answers for another chain, or contradicts what was read: going on could skip messages. */
export class ChainContradiction extends Error {
  override readonly name = 'ChainContradiction';
}

/** Blocks behind the head beyond which ranges are read. */
const RANGE_GAP = 64;
/** Public APIs allow 2,048. */
const MAX_RANGE = 1_000;
/** Blocks in a row that may have no transactions until a range is read block by block. */
const MAX_EMPTY = 16;
/** Delays while a block is accepted but not executed. */
const EXECUTION_PAUSES = { baseMs: 25, maxMs: 500 };
const FAILURE_PAUSES = { baseMs: 500, maxMs: 10_000 };
/** The RPC of a stopped chain may be corrected without a restart. */
const STOPPED_PAUSE_MS = 30_000;
/** Time between checks that the RPC still has the chain that was read, which a new block also shows by its parent. */
const VERIFY_MS = 60_000;
/** A lone failure, or a node that is a block behind, is no problem yet. */
const PROBLEM_AFTER_MS = 15_000;
/** Messages of older blocks were executed long before they were read. */
const RECENT_MS = 60_000;

export type ChainReader = ReturnType<typeof createChainReader>;

/**
 * Reads a chain block by block from its checkpoint on, so that no block is skipped: each block must have the one before it as its parent, and
 * is stored with the checkpoint once its receipts are there. Blocks far behind the head are read by ranges.
 */
export function createChainReader(options: ChainReaderOptions) {
  const { chainID, source, store, clock, logger, accepts, timeoutMs } = options;
  let head: number | undefined;
  let verifiedMs = Number.NEGATIVE_INFINITY;
  let range = MAX_RANGE;
  let failures = 0;
  /** Waits for the execution of the same block. */
  let waits = 0;
  let failingSinceMs: number | undefined;
  let problem: { readonly reason: string; readonly isStopped: boolean } | undefined;

  /** @throws {ChainContradiction} */
  async function firstCheckpoint(signal: AbortSignal): Promise<Checkpoint | undefined> {
    const { fromBlock } = options;
    const first = fromBlock ?? (await source.headBlock(signal));
    const number = Math.max(0, first - 1);
    const block = await source.block(number, signal);
    if (block === undefined) return undefined;
    await requireOwnChain(signal);
    store.addChain(chainID, checkpointOf(block));
    logger.info({ chainId: chainID, afterBlock: number }, 'the feed watches a chain');
    return checkpointOf(block);
  }

  /** @throws {ChainContradiction} */
  async function requireOwnChain(signal: AbortSignal): Promise<void> {
    const found = await source.chainID(signal);
    if (found !== chainID) throw new ChainContradiction(`its RPC answers for the chain ${found}`);
  }

  /** @throws {ChainContradiction} */
  async function verify(checkpoint: Checkpoint, signal: AbortSignal): Promise<void> {
    await requireOwnChain(signal);
    const block = await source.block(checkpoint.blockNumber, signal);
    // A node that is behind is no contradiction.
    if (block === undefined) return;
    if (block.hash !== checkpoint.blockHash) throw contradiction(checkpoint, block.hash);
    verifiedMs = clock.monotonicMs();
  }

  /** Reads what is next; returns the milliseconds after which more may be there. */
  async function step(idleMs: number, signal: AbortSignal): Promise<number> {
    const stored = store.checkpoint(chainID);
    const checkpoint = stored ?? (await firstCheckpoint(signal));
    if (checkpoint === undefined) return waitFor(`its node does not have block ${options.fromBlock} yet`);
    if (stored !== undefined && clock.monotonicMs() - verifiedMs >= VERIFY_MS) {
      await verify(checkpoint, signal);
    }
    // After the wake-up was taken, so that a head that is reported now ends the next wait.
    head = await source.headBlock(signal);
    const gap = head - checkpoint.blockNumber;
    if (gap < 0) return waitFor(`its node is at block ${head}, ${-gap} before the last one read`);
    if (gap === 0) return succeed(idleMs);
    if (gap > RANGE_GAP && (await readRange(checkpoint, head, signal))) return succeed(0);
    return await readBlock(checkpoint, signal);
  }

  async function readBlock(checkpoint: Checkpoint, signal: AbortSignal): Promise<number> {
    const number = checkpoint.blockNumber + 1;
    const block = await source.block(number, signal);
    if (block === undefined) return waitFor(`its node does not have block ${number}`);
    if (block.parentHash !== checkpoint.blockHash) throw contradiction(checkpoint, block.parentHash);
    const messages = await source.messagesOf(block, signal);
    if (messages === undefined) return waitFor(`its node has not executed block ${number}`);
    append(number, block, messages, () => block);
    return succeed(0);
  }

  /** Returns false if no range can be read. */
  async function readRange(checkpoint: Checkpoint, to: number, signal: AbortSignal): Promise<boolean> {
    const first = checkpoint.blockNumber + 1;
    const last = await blockWithTransactions(Math.min(first + range - 1, to), signal);
    if (last === undefined) return false;
    const before = await source.block(checkpoint.blockNumber, signal);
    if (before !== undefined && before.hash !== checkpoint.blockHash) throw contradiction(checkpoint, before.hash);
    const messages = await logsOf(first, last, signal);
    if (messages === undefined) return false;
    const blocks = await blocksOf(messages, signal);
    append(first, last, messages, ({ blockNumber }) => blocks.get(blockNumber));
    range = Math.min(MAX_RANGE, 2 * range);
    return true;
  }

  /** Returns the first block from here on that has transactions: their receipts show that all blocks up to it are executed. */
  async function blockWithTransactions(number: number, signal: AbortSignal): Promise<EvmBlock | undefined> {
    for (let tried = number; tried < number + MAX_EMPTY; tried += 1) {
      const block = await source.block(tried, signal);
      if (block === undefined || block.txHashes.length > 0) return block;
    }
    return undefined;
  }

  /** Returns undefined if the blocks are not executed, or the RPC refuses so long a range; the next one is shorter. */
  async function logsOf(first: number, { number, txHashes }: EvmBlock, signal: AbortSignal) {
    try {
      return await source.messagesIn(first, number, txHashes[0] ?? '', signal);
    } catch (error) {
      if (!(error instanceof ApiError) || error.kind === 'unavailable') throw error;
      range = Math.max(1, Math.floor(range / 4));
      return undefined;
    }
  }

  /** Reads the blocks of messages, for their times. @throws {ChainContradiction} if one has another hash than its logs */
  async function blocksOf(messages: readonly LoggedMessage[], signal: AbortSignal) {
    const blocks = new Map<number, EvmBlock>();
    for (const { blockNumber, blockHash } of messages) {
      const block = blocks.get(blockNumber) ?? (await source.block(blockNumber, signal));
      if (block === undefined) throw new ApiError('unavailable', `its node does not have block ${blockNumber}`);
      if (block.hash !== blockHash) {
        throw new ChainContradiction(`its RPC has two hashes for block ${blockNumber}: ${block.hash} and ${blockHash}`);
      }
      blocks.set(blockNumber, block);
    }
    return blocks;
  }

  function append(
    firstBlock: number,
    last: EvmBlock,
    logged: readonly LoggedMessage[],
    blockOf: (message: LoggedMessage) => EvmBlock | undefined,
  ): void {
    const messages = emittedOf(logged, blockOf).filter(accepts);
    store.append(chainID, { firstBlock, checkpoint: checkpointOf(last), messages });
  }

  function emittedOf(logged: readonly LoggedMessage[], blockOf: (message: LoggedMessage) => EvmBlock | undefined) {
    const nowMs = clock.now();
    return logged.map((message) => {
      const block = blockOf(message);
      if (block === undefined) throw new RangeError(`no block for the message at ${message.blockNumber}`);
      const executedMs = nowMs - block.timeMs < RECENT_MS ? nowMs : block.timeMs;
      return toEmitted(message, { chainID, blockTimeMs: block.timeMs, executedMs });
    });
  }

  /** Reads blocks up to the watermark again, the last one included. */
  async function readAgain(first: number, last: number, parent: AbortSignal): Promise<readonly EmittedMessage[]> {
    const found: EmittedMessage[] = [];
    for (let number = first; number <= last; number += 1) {
      using deadline = startDeadline(clock, timeoutMs, `reading block ${number} again`, parent);
      const block = await source.block(number, deadline.signal);
      const messages = block && (await source.messagesOf(block, deadline.signal));
      if (block === undefined || messages === undefined) {
        throw new ApiError('unavailable', `its node does not have block ${number}`);
      }
      found.push(...emittedOf(messages, () => block).filter(accepts));
    }
    return found;
  }

  function succeed(pauseMs: number): number {
    if (problem !== undefined) logger.info({ chainId: chainID }, 'the feed reads the chain again');
    problem = undefined;
    failures = 0;
    waits = 0;
    failingSinceMs = undefined;
    return pauseMs;
  }

  function waitFor(reason: string): number {
    waits += 1;
    noteFailure(reason);
    return backoffMs(waits, EXECUTION_PAUSES);
  }

  function noteFailure(reason: string, error?: unknown): void {
    const nowMs = clock.monotonicMs();
    failingSinceMs ??= nowMs;
    if (nowMs - failingSinceMs < PROBLEM_AFTER_MS) return;
    if (problem === undefined) logger.warn({ chainId: chainID, err: error, reason }, 'the feed cannot read a chain');
    problem = { reason, isStopped: false };
  }

  function fail(error: unknown): number {
    failures += 1;
    if (error instanceof ChainContradiction) {
      const reason = `${error.message}; correct the RPC, or remove the chain from the feed`;
      if (problem?.isStopped !== true) logger.error({ chainId: chainID, reason }, 'the feed has stopped a chain');
      problem = { reason, isStopped: true };
      verifiedMs = Number.NEGATIVE_INFINITY;
      return STOPPED_PAUSE_MS;
    }
    if (error instanceof ApiError || error instanceof StoreError || error instanceof DeadlineExceeded) {
      noteFailure(error.message, error);
    } else {
      const reason = `an unforeseen error: ${String(error)}`;
      if (problem?.reason !== reason)
        logger.error({ chainId: chainID, err: error }, 'a bug in reading a chain; trying again');
      problem = { reason, isStopped: false };
    }
    return backoffMs(failures, FAILURE_PAUSES);
  }

  return {
    /** Reads the next block or range. @returns the milliseconds to wait, unless a head is reported before; at most `idleMs` on a quiet chain */
    async read(idleMs: number, parent: AbortSignal): Promise<number> {
      using deadline = startDeadline(clock, timeoutMs, 'reading a block', parent);
      try {
        return await step(idleMs, deadline.signal);
      } catch (error) {
        parent.throwIfAborted();
        return fail(error);
      }
    },
    readAgain,
    status: () => ({ headBlock: head, problem: problem?.reason, isStopped: problem?.isStopped === true }),
  };
}

function checkpointOf({ number, hash, timeMs }: EvmBlock): Checkpoint {
  return { blockNumber: number, blockHash: hash, blockTimeMs: timeMs };
}

function contradiction({ blockNumber, blockHash }: Checkpoint, found: string): ChainContradiction {
  return new ChainContradiction(
    `its RPC has block ${blockNumber} with hash ${found}, and ${blockHash} was read before`,
  );
}
