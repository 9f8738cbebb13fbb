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

export type BlockRange = ReturnType<typeof createBlockRange>;

/**
 * Range of P-Chain blocks in the store, without gaps, linked by their parents. It grows by one batch at a time, up with the chain and down
 * to its floor.
 */
export function createBlockRange(options: BlockRangeOptions) {
  const { api, store, clock, logger, l1StartTime, lookback } = options;
  const changing = pLimit(1);
  let position: IndexPosition | undefined;
  let floor = 0n;
  let isAtTip = false;
  let chainHeight: bigint | undefined;
  let mismatches = 0;

  function inTime(signal: AbortSignal, read: (signal: AbortSignal) => Promise<number>): Promise<number> {
    return changing(async () => {
      using deadline = startDeadline(clock, BATCH_TIMEOUT_MS, 'reading P-Chain blocks', signal);
      return await read(deadline.signal);
    });
  }

  async function readUp(signal: AbortSignal): Promise<number> {
    const height = await api.getHeight(signal);
    chainHeight = height;
    if (position === undefined) return await startAt(height, signal);
    const { top } = position;
    // Also true for an API node that lags behind.
    isAtTip = height <= top.height;
    if (isAtTip) return 0;
    const count = minimum(height - top.height, BATCH_SIZE);
    const blocks = await readBlocks(top.height + 1n, count, signal);
    const last = blocks.at(-1);
    if (last === undefined || blocks[0]?.parentID !== top.id || !isChain(blocks)) return onMismatch();
    mismatches = 0;
    await commit({ ...position, top: { height: last.height, id: last.id } }, blocks);
    isAtTip = last.height >= height;
    return blocks.length;
  }

  async function readDown(signal: AbortSignal): Promise<number> {
    if (position === undefined || position.low.isFloor) return 0;
    const { low } = position;
    const count = minimum(low.height - floor, BATCH_SIZE);
    if (count <= 0n) {
      await commit({ ...position, low: { ...low, isFloor: true } }, []);
      return 0;
    }
    const blocks = await readBlocks(low.height - count, count, signal);
    const [first] = blocks;
    if (first === undefined || blocks.at(-1)?.id !== low.parentID || !isChain(blocks)) return onMismatch();
    mismatches = 0;
    const isFloor = first.height <= floor || isBeforeL1s(first);
    await commit({ ...position, low: { height: first.height, parentID: first.parentID, isFloor } }, blocks);
    return blocks.length;
  }

  async function startAt(height: bigint, signal: AbortSignal): Promise<number> {
    const block = await api.getBlockByHeight(height, signal);
    floor = lookback === undefined || lookback > height ? 0n : height - lookback;
    const low = { height, parentID: block.parentID, isFloor: height <= floor || isBeforeL1s(block) };
    await commit({ top: { height, id: block.id }, low }, [block]);
    isAtTip = true;
    return 1;
  }

  /**
   * Accepted blocks are final, so an API node is faulty, or the network was created again. Stored origins remain: they are valid in any
   * block.
   */
  function onMismatch(): number {
    mismatches += 1;
    if (mismatches < MAX_MISMATCHES) return 0;
    logger.warn('the P-Chain API has another chain than the index of L1 validations; reading all blocks again');
    mismatches = 0;
    position = undefined;
    isAtTip = false;
    return 0;
  }

  function readBlocks(from: bigint, count: bigint, signal: AbortSignal): Promise<PChainBlock[]> {
    const heights = Array.from({ length: Number(count) }, (_, index) => from + BigInt(index));
    const limit = pLimit(MAX_CALLS_IN_FLIGHT);
    return limit.map(heights, (height) => api.getBlockByHeight(height, signal)).finally(() => limit.clearQueue());
  }

  async function commit(next: IndexPosition, blocks: readonly PChainBlock[]): Promise<void> {
    const entries = blocks.filter(({ origins }) => origins.length > 0);
    await store.commit({ position: next, entries });
    position = next;
  }

  function isBeforeL1s({ timestamp }: PChainBlock): boolean {
    return l1StartTime !== undefined && (timestamp === undefined || timestamp < l1StartTime);
  }

  return {
    /** Loads the position from the store. Call it once, before a read. */
    async load(): Promise<void> {
      position = await store.position();
    },
    /** Undefined before the first block. */
    get heights() {
      return position && { from: position.low.height, to: position.top.height };
    },
    /** Last height of the API; undefined before the first call. */
    get chainHeight() {
      return chainHeight;
    },
    /** Whether the range contains the newest block of the API. */
    get isAtTip() {
      return isAtTip;
    },
    /** Whether the range reaches the newest block and its floor. */
    get isComplete() {
      return isAtTip && position?.low.isFloor === true;
    },
    /** Whether the range reaches the newest block and the first L1s. */
    get isWhole() {
      return isAtTip && position?.low.isFloor === true && floor === 0n;
    },
    /** Reads one batch above the range. Returns the number of blocks. */
    readUp: (signal: AbortSignal) => inTime(signal, readUp),
    /** Reads one batch below the range. Returns the number of blocks. */
    readDown: (signal: AbortSignal) => inTime(signal, readDown),
  };
}

function isChain(blocks: readonly PChainBlock[]): boolean {
  return blocks.every(({ parentID }, index) => index === 0 || parentID === blocks[index - 1]?.id);
}

function minimum(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}
