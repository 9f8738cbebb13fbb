import pLimit from 'p-limit';
import type { Clock } from '../../lib/concurrency/clock.ts';
import { startDeadline } from '../../lib/concurrency/deadline.ts';
import type { IndexPosition, ValidationStore } from '../../store/local/validation-store.ts';
import type { Logger } from '../../telemetry/logger.ts';
import type { PChainBlock } from '../codec/p-chain-block.ts';
import type { NodeApi } from '../rpc/node-api.ts';

export interface BlockRangeOptions {
  readonly api: Pick<NodeApi, 'getHeight' | 'getBlockByHeight'>;
  readonly store: ValidationStore;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Unix seconds of the Etna upgrade, before which there are no L1s; undefined reads down to block 0. */
  readonly l1StartTime: bigint | undefined;
  /** Blocks to read below the first one; undefined reads down to {@link BlockRangeOptions.l1StartTime}. */
  readonly lookback: bigint | undefined;
}

/** Blocks read and stored at once. */
const BATCH_SIZE = 64n;
const MAX_CALLS_IN_FLIGHT = 4;
const BATCH_TIMEOUT_MS = 30_000;
/** Consecutive batches that do not continue the range before all blocks are read again. One may come from a faulty API node. */
const MAX_MISMATCHES = 2;

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
    return this.#position && { from: this.#position.low.height, to: this.#position.top.height };
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
      using deadline = startDeadline(this.#options.clock, BATCH_TIMEOUT_MS, 'reading P-Chain blocks', signal);
      return await read(deadline.signal);
    });
  }

  async #readUp(signal: AbortSignal): Promise<number> {
    const height = await this.#options.api.getHeight(signal);
    this.#chainHeight = height;
    const position = this.#position;
    if (position === undefined) return await this.#startAt(height, signal);
    const { top } = position;
    // Also true for an API node that lags behind.
    this.#isAtTip = height <= top.height;
    if (this.#isAtTip) return 0;
    const count = minimum(height - top.height, BATCH_SIZE);
    const blocks = await this.#readBlocks(top.height + 1n, count, signal);
    const last = blocks.at(-1);
    if (last === undefined || blocks[0]?.parentID !== top.id || !isChain(blocks)) return this.#onMismatch();
    this.#mismatches = 0;
    await this.#commit({ ...position, top: { height: last.height, id: last.id } }, blocks);
    this.#isAtTip = last.height >= height;
    return blocks.length;
  }

  async #readDown(signal: AbortSignal): Promise<number> {
    const position = this.#position;
    if (position === undefined || position.low.isFloor) return 0;
    const { low } = position;
    const count = minimum(low.height - this.#floor, BATCH_SIZE);
    if (count <= 0n) {
      await this.#commit({ ...position, low: { ...low, isFloor: true } }, []);
      return 0;
    }
    const blocks = await this.#readBlocks(low.height - count, count, signal);
    const [first] = blocks;
    if (first === undefined || blocks.at(-1)?.id !== low.parentID || !isChain(blocks)) return this.#onMismatch();
    this.#mismatches = 0;
    const isFloor = first.height <= this.#floor || this.#isBeforeL1s(first);
    await this.#commit({ ...position, low: { height: first.height, parentID: first.parentID, isFloor } }, blocks);
    return blocks.length;
  }

  async #startAt(height: bigint, signal: AbortSignal): Promise<number> {
    const { api, lookback } = this.#options;
    const block = await api.getBlockByHeight(height, signal);
    this.#floor = lookback === undefined || lookback > height ? 0n : height - lookback;
    const low = { height, parentID: block.parentID, isFloor: height <= this.#floor || this.#isBeforeL1s(block) };
    await this.#commit({ top: { height, id: block.id }, low }, [block]);
    this.#isAtTip = true;
    return 1;
  }

  /**
   * Accepted blocks are final, so an API node is faulty, or the network was created again. Stored origins remain: they are valid in any
   * block.
   */
  #onMismatch(): number {
    this.#mismatches += 1;
    if (this.#mismatches < MAX_MISMATCHES) return 0;
    this.#options.logger.warn(
      'the P-Chain API has another chain than the index of L1 validations; reading all blocks again',
    );
    this.#mismatches = 0;
    this.#position = undefined;
    this.#isAtTip = false;
    return 0;
  }

  #readBlocks(from: bigint, count: bigint, signal: AbortSignal): Promise<PChainBlock[]> {
    const { api } = this.#options;
    const heights = Array.from({ length: Number(count) }, (_, index) => from + BigInt(index));
    const limit = pLimit(MAX_CALLS_IN_FLIGHT);
    return limit.map(heights, (height) => api.getBlockByHeight(height, signal)).finally(() => limit.clearQueue());
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

function isChain(blocks: readonly PChainBlock[]): boolean {
  return blocks.every(({ parentID }, index) => index === 0 || parentID === blocks[index - 1]?.id);
}

function minimum(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}
