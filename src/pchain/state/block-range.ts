import pLimit from 'p-limit';
import type { Clock } from '../../lib/concurrency/clock.ts';
import { startDeadline } from '../../lib/concurrency/deadline.ts';
import type { BlockPoint, IndexPosition, ValidationStore } from '../../store/local/validation-store.ts';
import type { Logger } from '../../telemetry/logger.ts';
import type { PChainBlock } from '../codec/p-chain-block.ts';
import { ApiError } from '../rpc/api-error.ts';
import type { NodeApi } from '../rpc/node-api.ts';

export interface BlockRangeLimits {
  /** Blocks to read below the first one; undefined reads down to {@link BlockRangeOptions.l1StartTime}. */
  readonly lookback: bigint | undefined;
  /** Blocks read and stored at once. */
  readonly batchSize: number;
  /** Calls in flight. */
  readonly concurrency: number;
  readonly batchTimeoutMs: number;
}

export interface BlockRangeOptions {
  readonly api: Pick<NodeApi, 'getHeight' | 'getBlockByHeight'>;
  readonly store: ValidationStore;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Unix seconds of the Etna upgrade, before which there are no L1s; undefined reads down to block 0. */
  readonly l1StartTime: bigint | undefined;
  readonly limits: BlockRangeLimits;
}

/** Together two thousand blocks. P-Chain blocks are final, so blocks are discarded only after a faulty API node. */
const MAX_CHECKPOINTS = 32;
const CHECKPOINT_SPACING = 64n;
/** Consecutive batches that do not continue the range before it is reset. */
const MISMATCHES_BEFORE_RESET = 2;

/**
 * Range of P-Chain blocks in the store, without gaps, linked by their parents. It grows by one batch at a time, up with the chain and down
 * to its floor.
 */
export class BlockRange {
  readonly #options: BlockRangeOptions;
  readonly #changing = pLimit(1);
  #position: IndexPosition | undefined;
  #floor = 0n;
  #isAtTip = false;
  #chainHeight: bigint | undefined;
  #mismatches = 0;

  constructor(options: BlockRangeOptions) {
    this.#options = options;
  }

  /** Loads the position from the store. Call it once, before a read. */
  async load(): Promise<void> {
    this.#position = await this.#options.store.position();
  }

  /** Undefined before the first block. */
  get heights(): { readonly from: bigint; readonly to: bigint } | undefined {
    return this.#position && { from: this.#position.low.height, to: topOf(this.#position).height };
  }

  /** Last height of the API; undefined before the first call. */
  get chainHeight(): bigint | undefined {
    return this.#chainHeight;
  }

  /** Whether the range contains the newest block of the API. */
  get isAtTip(): boolean {
    return this.#isAtTip;
  }

  /** Whether the range reaches the newest block and its floor. */
  get isComplete(): boolean {
    return this.#isAtTip && this.#position?.low.isFloor === true;
  }

  /** Reads one batch above the range. Returns the number of blocks. */
  readUp(signal: AbortSignal): Promise<number> {
    return this.#inTime(signal, (timed) => this.#readUp(timed));
  }

  /** Reads one batch below the range. Returns the number of blocks. */
  readDown(signal: AbortSignal): Promise<number> {
    return this.#inTime(signal, (timed) => this.#readDown(timed));
  }

  #inTime(signal: AbortSignal, read: (signal: AbortSignal) => Promise<number>): Promise<number> {
    return this.#changing(async () => {
      const { clock, limits } = this.#options;
      using deadline = startDeadline(clock, limits.batchTimeoutMs, 'reading P-Chain blocks', signal);
      return await read(deadline.signal);
    });
  }

  async #readUp(signal: AbortSignal): Promise<number> {
    const { api, limits } = this.#options;
    const height = await api.getHeight(signal);
    this.#chainHeight = height;
    const position = this.#position;
    if (position === undefined) return await this.#startAt(height, signal);
    const top = topOf(position);
    // Also true for an API node that lags behind.
    this.#isAtTip = height <= top.height;
    if (this.#isAtTip) return 0;
    const count = minimum(height - top.height, BigInt(limits.batchSize));
    const blocks = await this.#readBlocks(heightsUp(top.height + 1n, count), signal);
    const linked = linkedPrefix(blocks, (block, previous) => block.parentID === (previous?.id ?? top.id));
    const last = linked.at(-1);
    if (last === undefined) return await this.#reset(signal);
    this.#mismatches = 0;
    const checkpoints = withTop(position.checkpoints, { height: last.height, id: last.id });
    await this.#commit({ ...position, checkpoints }, linked);
    this.#isAtTip = last.height >= height;
    return blocks.length;
  }

  async #readDown(signal: AbortSignal): Promise<number> {
    const position = this.#position;
    if (position === undefined || position.low.isFloor) return 0;
    const { low } = position;
    const count = minimum(low.height - this.#floor, BigInt(this.#options.limits.batchSize));
    if (count <= 0n) {
      await this.#commit({ ...position, low: { ...low, isFloor: true } }, []);
      return 0;
    }
    const blocks = await this.#readBlocks(heightsDown(low.height - 1n, count), signal);
    const linked = linkedPrefix(blocks, (block, previous) => block.id === (previous?.parentID ?? low.parentID));
    const last = linked.at(-1);
    if (last === undefined) return await this.#reset(signal);
    this.#mismatches = 0;
    const isFloor = last.height <= this.#floor || this.#isBeforeL1s(last);
    await this.#commit({ ...position, low: { height: last.height, parentID: last.parentID, isFloor } }, linked);
    return blocks.length;
  }

  async #startAt(height: bigint, signal: AbortSignal): Promise<number> {
    const { api, limits } = this.#options;
    const block = await api.getBlockByHeight(height, signal);
    this.#floor = limits.lookback === undefined || limits.lookback > height ? 0n : height - limits.lookback;
    const low = { height, parentID: block.parentID, isFloor: height <= this.#floor || this.#isBeforeL1s(block) };
    await this.#commit({ checkpoints: [{ height, id: block.id }], low }, [block]);
    this.#isAtTip = true;
    return 1;
  }

  /**
   * Handles blocks that do not continue the range. Accepted blocks are final, so an API node is faulty or on another network. With several
   * API nodes this may happen once. After the second time, the range is cut to the last common block, or restarted. Stored origins remain:
   * they are valid in any block.
   */
  async #reset(signal: AbortSignal): Promise<number> {
    const { logger } = this.#options;
    const position = this.#position;
    this.#mismatches += 1;
    if (this.#mismatches < MISMATCHES_BEFORE_RESET || position === undefined) return 0;
    this.#mismatches = 0;
    for (const [index, point] of [...position.checkpoints.entries()].toReversed()) {
      const block = await this.#blockAt(point.height, signal);
      if (block?.id !== point.id) continue;
      logger.warn({ height: point.height }, 'the P-Chain API has other blocks above this height; reading them again');
      await this.#commit({ ...position, checkpoints: position.checkpoints.slice(0, index + 1) }, []);
      return 0;
    }
    logger.warn('the P-Chain API has another chain than the index of L1 validations; reading all blocks again');
    this.#position = undefined;
    this.#isAtTip = false;
    return 0;
  }

  /** Reads the blocks up to the first failure. @throws if the first one fails */
  async #readBlocks(heights: readonly bigint[], signal: AbortSignal): Promise<PChainBlock[]> {
    const { api, limits } = this.#options;
    const limit = pLimit(limits.concurrency);
    const results = await Promise.allSettled(
      heights.map((height) => limit(() => api.getBlockByHeight(height, signal))),
    );
    signal.throwIfAborted();
    const failed = results.findIndex(({ status }) => status === 'rejected');
    const read = results.slice(0, failed === -1 ? results.length : failed);
    if (read.length === 0 && failed === 0) throw (results[0] as PromiseRejectedResult).reason;
    return read.map((result) => (result as PromiseFulfilledResult<PChainBlock>).value);
  }

  async #blockAt(height: bigint, signal: AbortSignal): Promise<PChainBlock | undefined> {
    try {
      return await this.#options.api.getBlockByHeight(height, signal);
    } catch (error) {
      if (error instanceof ApiError && error.kind === 'rejected') return undefined;
      throw error;
    }
  }

  async #commit(next: IndexPosition, blocks: readonly PChainBlock[]): Promise<void> {
    const entries = blocks.filter(({ origins }) => origins.length > 0);
    await this.#options.store.commit({ position: next, entries });
    this.#position = next;
  }

  #isBeforeL1s({ timestamp }: PChainBlock): boolean {
    const { l1StartTime } = this.#options;
    return l1StartTime !== undefined && (timestamp === undefined || timestamp < l1StartTime);
  }
}

function topOf({ checkpoints }: IndexPosition): BlockPoint {
  const top = checkpoints.at(-1);
  if (top === undefined) throw new Error('a position without a block');
  return top;
}

/** Replaces the last checkpoint, unless it is far enough above the previous one to stay. */
function withTop(checkpoints: readonly BlockPoint[], top: BlockPoint): BlockPoint[] {
  const [below, previous] = checkpoints.slice(-2);
  const isTooClose =
    below !== undefined && previous !== undefined && previous.height - below.height < CHECKPOINT_SPACING;
  return [...(isTooClose ? checkpoints.slice(0, -1) : checkpoints), top].slice(-MAX_CHECKPOINTS);
}

/** Returns the blocks up to the first one that is not linked to the previous one. */
function linkedPrefix(
  blocks: readonly PChainBlock[],
  isLinked: (block: PChainBlock, previous: PChainBlock | undefined) => boolean,
): PChainBlock[] {
  const end = blocks.findIndex((block, index) => !isLinked(block, blocks[index - 1]));
  return blocks.slice(0, end === -1 ? blocks.length : end);
}

function heightsUp(first: bigint, count: bigint): bigint[] {
  return Array.from({ length: Number(count) }, (_, index) => first + BigInt(index));
}

function heightsDown(first: bigint, count: bigint): bigint[] {
  return Array.from({ length: Number(count) }, (_, index) => first - BigInt(index));
}

function minimum(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}
