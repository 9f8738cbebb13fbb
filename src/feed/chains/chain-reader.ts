import { backoffMs } from '../../lib/concurrency/backoff.ts';
import { DeadlineExceeded } from '../../lib/concurrency/deadline.ts';
import { ApiError } from '../../pchain/rpc/api-error.ts';
import { StoreError } from '../../store/local/sqlite.ts';
import type { Checkpoint, EmittedMessage } from '../feed-message.ts';
import { withDestination } from '../message-filter.ts';
import { BlocksGone, explainAbsence } from './absent-blocks.ts';
import {
  ChainContradiction,
  CONCURRENT_BLOCKS,
  findRangeEnd,
  NotYet,
  type ReadBlocks,
  readByHash,
  readByLogs,
} from './block-reading.ts';
import { type BlockCalls, createBlockCalls } from './block-source.ts';
import { checkpointOf, contradiction, requireChain, requirePosition } from './chain-checks.ts';
import { createChainProblem } from './chain-problem.ts';
import type { ChainReaderOptions } from './chain-reader-options.ts';
import { emittedFrom } from './emitted-messages.ts';
import { createRangeStep } from './range-step.ts';
import { openStart } from './reading-start.ts';

/** The newest blocks are read by their hashes, and older ones by ranges, in which a node that is behind has no logs without an error. */
const NEWEST_BLOCKS = 64;
/** Blocks of the first range of logs. */
const FIRST_RANGE = 64;
/** Delays while a block is accepted but not executed. */
const EXECUTION_PAUSES = { baseMs: 25, maxMs: 250 };
const FAILURE_PAUSES = { baseMs: 500, maxMs: 10_000 };
/** The RPC of a stopped chain may be corrected without a restart. */
const STOPPED_PAUSE_MS = 30_000;
/** Time between checks that the RPC still has the chain that was read, which a new block also shows by its parent. */
const VERIFY_MS = 60_000;
/** Time after which a position is given up that no endpoint can continue. */
const GIVE_UP_MS = 300_000;
/** Time after which the next endpoint is asked for a block that this one does not have yet. */
const PATIENCE_MS = 3_000;

/** The node is behind the position. */
class Stranded extends NotYet {}

export type ChainReader = ReturnType<typeof createChainReader>;

/**
 * Reads a chain from its checkpoint on, so that no block is skipped: each block must have the one before it as its parent, and is stored with
 * the checkpoint once its messages are there. Each step reads from one endpoint; after a failure the next step asks the next one.
 */
export function createChainReader(options: ChainReaderOptions) {
  const { chainID, store, clock, accepts } = options;
  const endpoints = options.sources.map((source) => createBlockCalls(source, clock));
  const ranges = createRangeStep(FIRST_RANGE);
  const problem = createChainProblem(options);
  const start = openStart(options);
  let current = 0;
  let head: number | undefined;
  let verifiedMs = Number.NEGATIVE_INFINITY;
  /** Failures in a row, of all endpoints. */
  let failures = 0;
  /** Waits for the same block. */
  let waits = 0;
  let waitingSinceMs: number | undefined;
  /** Since when the position cannot be continued. */
  let strandedSinceMs: number | undefined;

  const callsOf = (index: number): BlockCalls => endpoints[index % endpoints.length] as BlockCalls;

  /** Reads what is next; returns the milliseconds after which more may be there. */
  async function step(idleMs: number, signal: AbortSignal): Promise<number> {
    const isDue = clock.monotonicMs() - verifiedMs >= VERIFY_MS;
    // The first endpoint may work again.
    if (isDue && failures === 0) current = 0;
    const calls = callsOf(current);
    // After the wake-up was taken, so that a head that is reported now ends the next wait.
    head = await calls.headBlock(signal);
    const { position, isNew } = await start(calls, head, signal);
    if (isDue && !isNew) await verify(calls, position, signal);
    const gap = head - position.blockNumber;
    if (gap < 0) throw new Stranded(`its node is at block ${head}, ${-gap} before the last one read`);
    if (gap === 0) return succeed(idleMs);
    const isRead =
      gap > NEWEST_BLOCKS && ranges.size > 0 && (await readRange(calls, position, head - NEWEST_BLOCKS, signal));
    if (!isRead) await readNewest(calls, position, head, signal);
    return succeed(0);
  }

  /** @throws {ChainContradiction} */
  async function verify(calls: BlockCalls, position: Checkpoint, signal: AbortSignal): Promise<void> {
    await requireChain(calls, chainID, signal);
    await requirePosition(calls, position, signal);
    verifiedMs = clock.monotonicMs();
  }

  async function readNewest(calls: BlockCalls, position: Checkpoint, to: number, signal: AbortSignal): Promise<void> {
    const first = position.blockNumber + 1;
    let parent = position;
    for await (const read of readByHash(calls, first, Math.min(to, first + CONCURRENT_BLOCKS - 1), signal)) {
      if (read.last.parentHash !== parent.blockHash) throw contradiction(parent, read.last.parentHash);
      append(read);
      parent = checkpointOf(read.last);
    }
    if (ranges.size === 0) ranges.succeed(0);
  }

  /** Returns false if no range can be read here. */
  async function readRange(calls: BlockCalls, position: Checkpoint, to: number, signal: AbortSignal): Promise<boolean> {
    const first = position.blockNumber + 1;
    await requirePosition(calls, position, signal);
    const last = await findRangeEnd(calls, Math.min(to, first + ranges.size - 1), signal);
    if (last === undefined) return false;
    const startedMs = clock.monotonicMs();
    try {
      for await (const read of readByLogs(calls, first, last, (logged) => accepts(withDestination(logged)), signal)) {
        append(read);
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

  function append({ firstBlock, last, messages }: ReadBlocks): void {
    store.append(chainID, { firstBlock, checkpoint: checkpointOf(last), messages: emittedFrom(messages, options) });
    waits = 0;
    waitingSinceMs = undefined;
  }

  /** Reads blocks up to the watermark again, the last one included. */
  async function readAgain(first: number, last: number, signal: AbortSignal): Promise<readonly EmittedMessage[]> {
    const found: EmittedMessage[] = [];
    try {
      for await (const { messages } of readByHash(callsOf(current), first, last, signal)) {
        found.push(...emittedFrom(messages, options));
      }
    } catch (error) {
      if (!(error instanceof NotYet) && !(error instanceof DeadlineExceeded)) throw error;
      throw new ApiError('unavailable', error.message, { cause: error });
    }
    return found;
  }

  function succeed(pauseMs: number): number {
    problem.clear();
    strandedSinceMs = undefined;
    failures = 0;
    waits = 0;
    waitingSinceMs = undefined;
    return pauseMs;
  }

  /** A block that the node does not have yet, or never. */
  async function explained(error: unknown, signal: AbortSignal): Promise<unknown> {
    const isOld = error instanceof NotYet && error.missingBlock <= (head ?? 0) - NEWEST_BLOCKS;
    if (!isOld) return error;
    try {
      return await explainAbsence(callsOf(current), error.missingBlock, head ?? 0, signal);
    } catch (cause) {
      signal.throwIfAborted();
      return cause;
    }
  }

  /**
   * Gives up a position that cannot be continued for some minutes, because the endpoints are behind it or have other blocks: an RPC has lied, or
   * was begun anew. The feed goes back to the confirmed position, if they have that.
   */
  async function giveUp(error: unknown, signal: AbortSignal): Promise<void> {
    const position = store.checkpoint(chainID);
    const isStranded = error instanceof Stranded || error instanceof ChainContradiction;
    if (!isStranded || position === undefined) return;
    strandedSinceMs ??= clock.monotonicMs();
    if (clock.monotonicMs() - strandedSinceMs < GIVE_UP_MS) return;
    const calls = callsOf(current);
    const { blockNumber, blockHash } = store.confirmed(chainID) ?? position;
    await requireChain(calls, chainID, signal);
    // A start that was not confirmed may be as wrong: the chain is begun anew.
    const number = blockHash === undefined ? Math.max(0, (options.fromBlock ?? head ?? 0) - 1) : blockNumber;
    const block = await calls.block(number, signal);
    if (number >= position.blockNumber || block === undefined || block.hash !== (blockHash ?? block.hash)) return;
    store.moveChain(chainID, checkpointOf(block));
    strandedSinceMs = undefined;
    verifiedMs = Number.NEGATIVE_INFINITY;
    options.logger.warn(
      { chainId: chainID, fromBlock: position.blockNumber, toBlock: number, reason: error.message },
      'the feed goes back to the confirmed block, because its RPC does not have the later ones',
    );
  }

  /** Returns the milliseconds until the next try. */
  function fail(error: unknown): number {
    const isLast = failures % endpoints.length === endpoints.length - 1;
    if (error instanceof NotYet) {
      const nowMs = clock.monotonicMs();
      waitingSinceMs ??= nowMs;
      waits += 1;
      problem.note(error.message, error);
      if (nowMs - waitingSinceMs >= PATIENCE_MS) {
        waitingSinceMs = nowMs;
        current += 1;
      }
      return backoffMs(waits, EXECUTION_PAUSES);
    }
    failures += 1;
    current += 1;
    if (error instanceof ChainContradiction || error instanceof BlocksGone) {
      verifiedMs = Number.NEGATIVE_INFINITY;
      if (!isLast) return 0;
      problem.stop(error.message);
      return STOPPED_PAUSE_MS;
    }
    if (error instanceof ApiError || error instanceof StoreError || error instanceof DeadlineExceeded)
      problem.note(error.message, error);
    else problem.stop(`an unforeseen error: ${String(error)}`, 'a bug in reading a chain; trying again', error);
    return isLast ? backoffMs(Math.ceil(failures / endpoints.length), FAILURE_PAUSES) : 0;
  }

  return {
    /** Reads the next blocks. @returns the milliseconds to wait, unless a head is reported before; at most `idleMs` on a quiet chain */
    async read(idleMs: number, signal: AbortSignal): Promise<number> {
      try {
        return await step(idleMs, signal);
      } catch (error) {
        signal.throwIfAborted();
        await giveUp(error, signal).catch((cause: unknown) => {
          signal.throwIfAborted();
          problem.note(String(cause), cause);
        });
        return fail(await explained(error, signal));
      }
    },
    readAgain,
    status: () => ({ headBlock: head, problem: problem.reason, isStopped: problem.isStopped }),
  };
}
