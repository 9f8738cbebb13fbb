import pLimit from 'p-limit';
import type { Clock } from '../../lib/concurrency/clock.ts';
import { startDeadline } from '../../lib/concurrency/deadline.ts';
import type { BlockPoint, IndexPosition, ValidationStore } from '../../store/local/validation-store.ts';
import type { Logger } from '../../telemetry/logger.ts';
import { ApiError } from '../rpc/api-error.ts';
import type { NodeApi } from '../rpc/node-api.ts';
import type { PChainBlock } from './p-chain-block.ts';

export interface BlockRangeLimits {
  /** How many blocks below the first one to read; undefined reads down to {@link BlockRangeOptions.l1StartTime}. */
  readonly lookback: bigint | undefined;
  /** Blocks read at once, a part of the range that is kept or lost as a whole. */
  readonly batchSize: number;
  /** Calls in flight; the node answers one P-Chain call at a time. */
  readonly concurrency: number;
  /** Time for one batch. */
  readonly batchTimeoutMs: number;
}

export interface BlockRangeOptions {
  readonly api: Pick<NodeApi, 'getHeight' | 'getBlockByHeight'>;
  readonly store: ValidationStore;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Unix seconds before which no block can hold anything of an L1 (the Etna upgrade); undefined reads down to block 0. */
  readonly l1StartTime: bigint | undefined;
  readonly limits: BlockRangeLimits;
}

/**
 * Checkpoints kept, and how far apart they are: together two thousand blocks. P-Chain blocks are final, so blocks that have to be
 * given up came from an API node that was wrong, and are rarely more than the newest few.
 */
const MAX_CHECKPOINTS = 32;
const CHECKPOINT_SPACING = 64n;
/** So many batches in a row must fail to continue our blocks before our blocks are doubted, and not that batch. */
const MISMATCHES_BEFORE_DOUBT = 2;

/**
 * The P-Chain blocks that were read into the store: one range of heights without gaps, in which each block names the one before
 * as its parent. It grows batch by batch, upwards with the chain and downwards to its floor; one batch at a time.
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

  /** Continues where the store was left. Call it once, before anything is read. */
  async load(): Promise<void> {
    this.#position = await this.#options.store.position();
  }

  /** Undefined until the first block was read. */
  get heights(): { readonly from: bigint; readonly to: bigint } | undefined {
    return this.#position && { from: this.#position.low.height, to: topOf(this.#position).height };
  }

  /** As the API said when it was last asked; undefined before. */
  get chainHeight(): bigint | undefined {
    return this.#chainHeight;
  }

  /** Whether the newest block that the API has is in the range. */
  get isAtTip(): boolean {
    return this.#isAtTip;
  }

  /** Whether there is nothing more to read, up or down. */
  get isComplete(): boolean {
    return this.#isAtTip && this.#position?.low.isFloor === true;
  }

  /** Reads one batch above the range. @returns blocks read */
  readUp(signal: AbortSignal): Promise<number> {
    return this.#inTime(signal, (timed) => this.#readUp(timed));
  }

  /** Reads one batch below the range. @returns blocks read */
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
    // An API node that lags behind has nothing new for us.
    this.#isAtTip = height <= top.height;
    if (this.#isAtTip) return 0;
    const count = minimum(height - top.height, BigInt(limits.batchSize));
    const blocks = await this.#readBlocks(heightsUp(top.height + 1n, count), signal);
    const linked = linkedPrefix(blocks, (block, previous) => block.parentID === (previous?.id ?? top.id));
    const last = linked.at(-1);
    if (last === undefined) return await this.#doubt(signal);
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
    if (last === undefined) return await this.#doubt(signal);
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
   * The API's blocks do not continue ours. Accepted blocks are final, so either this API node or the one that gave us ours is
   * wrong, or on another network. Where several API nodes answer in turn, it may happen once by chance. If it happens again, we go
   * back to the last block that both have, or start again if there is none. Origins found stay in the store: they are right
   * whatever block they were in.
   */
  async #doubt(signal: AbortSignal): Promise<number> {
    const { logger } = this.#options;
    const position = this.#position;
    this.#mismatches += 1;
    if (this.#mismatches < MISMATCHES_BEFORE_DOUBT || position === undefined) return 0;
    this.#mismatches = 0;
    for (const [index, point] of [...position.checkpoints.entries()].toReversed()) {
      const block = await this.#blockAt(point.height, signal);
      if (block?.id !== point.id) continue;
      logger.warn(
        { height: point.height },
        'the P-Chain API has other blocks above this height now; reading them again',
      );
      await this.#commit({ ...position, checkpoints: position.checkpoints.slice(0, index + 1) }, []);
      return 0;
    }
    logger.warn('the P-Chain API is of another chain than the index of L1 validations; reading all blocks again');
    this.#position = undefined;
    this.#isAtTip = false;
    return 0;
  }

  /** As many of these blocks, from the first one on, as can be read. @throws if not even the first one can */
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

/** The new top replaces the old one, unless the old one is far enough above the checkpoint below it to become one itself. */
function withTop(checkpoints: readonly BlockPoint[], top: BlockPoint): BlockPoint[] {
  const [below, previous] = checkpoints.slice(-2);
  const isTooClose =
    below !== undefined && previous !== undefined && previous.height - below.height < CHECKPOINT_SPACING;
  return [...(isTooClose ? checkpoints.slice(0, -1) : checkpoints), top].slice(-MAX_CHECKPOINTS);
}

/** As many blocks, from the first one on, as each belong to the one before them. */
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
