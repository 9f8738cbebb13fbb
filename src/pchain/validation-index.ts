import pLimit from 'p-limit';
import { Gauge, type Registry } from 'prom-client';
import { type Clock, sleep } from '../primitives/clock.ts';
import { startDeadline } from '../primitives/deadline.ts';
import type { ValidationID } from '../primitives/ids.ts';
import { SingleFlight } from '../primitives/single-flight.ts';
import type { Logger } from '../telemetry/logger.ts';
import type { L1ValidatorRegistrationJustification } from '../warp/justification.ts';
import { ApiError } from './api-error.ts';
import type { NodeApi } from './node-api.ts';
import type { PChainBlock, ValidationOrigin } from './p-chain-block.ts';

/**
 * Where L1 validations come from, found by reading P-Chain blocks: a validation ID is a hash, and only the block with the
 * registration or the conversion has what was hashed.
 *
 * It covers one range of heights without gaps, in which each block names the one before as its parent. From the height at
 * its first start it grows upwards with the chain, and downwards as far as it is told to. What it holds can be missing, but
 * not wrong: an entry is found under the hash of its own content.
 */
export interface ValidationIndex extends AsyncDisposable {
  /**
   * Undefined where no block of the range has it, also after the newest blocks were read for it. Rejects only with the
   * signal's reason.
   */
  originOf(validationID: ValidationID, signal: AbortSignal): Promise<L1ValidatorRegistrationJustification | undefined>;
  coverage(): IndexCoverage;
}

export interface IndexCoverage {
  /** Undefined until the first block was read. */
  readonly range: { readonly from: bigint; readonly to: bigint } | undefined;
  /** Whether it is still on its way, down or up: what is not found now may be later. */
  readonly isReading: boolean;
}

/** What the index keeps. A port: in memory, or in a file that outlives the process. */
export interface ValidationStore {
  position(): Promise<IndexPosition | undefined>;
  originOf(validationID: ValidationID): Promise<L1ValidatorRegistrationJustification | undefined>;
  /** All of it or nothing. What is there already is left as it is. */
  commit(batch: IndexBatch): Promise<void>;
}

export interface IndexBatch {
  readonly position: IndexPosition;
  readonly entries: readonly {
    readonly height: bigint;
    readonly origins: readonly ValidationOrigin[];
  }[];
}

/** The range that was read. */
export interface IndexPosition {
  /** Blocks in ascending order, the last of them the highest that was read, by which the common ancestor with another API node is found. */
  readonly checkpoints: readonly BlockPoint[];
  readonly low: {
    readonly height: bigint;
    readonly parentID: string;
    /** Whether the range need not grow down any more. */
    readonly isFloor: boolean;
  };
}

export interface BlockPoint {
  readonly height: bigint;
  readonly id: string;
}

export interface ValidationIndexLimits {
  /** How many blocks below the first one read; undefined reads down to {@link ValidationIndexOptions.l1StartTime}. */
  readonly lookback: bigint | undefined;
  /** Blocks read at once, a part of the range that is kept or lost as a whole. */
  readonly batchSize: number;
  /** Calls in flight; the node answers one P-Chain call at a time. */
  readonly concurrency: number;
  /** So that reading years of blocks leaves the API to those who wait for it, and stays within a provider's limits. */
  readonly maxBlocksPerSecond: number;
  /** How often the height is asked for when all is read. */
  readonly pollMs: number;
  /** Time for one batch. */
  readonly batchTimeoutMs: number;
}

export const DEFAULT_INDEX_LIMITS: Omit<ValidationIndexLimits, 'lookback' | 'maxBlocksPerSecond'> = {
  batchSize: 64,
  concurrency: 4,
  pollMs: 2_000,
  batchTimeoutMs: 30_000,
};

export interface ValidationIndexOptions {
  readonly api: Pick<NodeApi, 'getHeight' | 'getBlockByHeight'>;
  readonly store: ValidationStore;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly registry: Registry;
  /** Unix seconds before which no block can hold anything of an L1 (the Etna upgrade); undefined reads down to block 0. */
  readonly l1StartTime: bigint | undefined;
  readonly limits: ValidationIndexLimits;
}

/**
 * Checkpoints kept, and how far apart: two thousand blocks. P-Chain blocks are final, so what is undone is a wrong API
 * node's, and rarely more than the newest few.
 */
const MAX_CHECKPOINTS = 32;
const CHECKPOINT_SPACING = 64n;
/** A lookup waits so long for the newest blocks, which may have to wait for a batch of old ones. */
const LOOKUP_READ_MS = 1_000;
/** Between tries while the API fails; a lookup that finds nothing has it tried at once. */
const MAX_PAUSE_MS = 30_000;
/** Batches in a row that do not fit before what was read is doubted, and not what is being read. */
const MISFITS_BEFORE_DOUBT = 2;

export function createValidationIndex(options: ValidationIndexOptions): ValidationIndex {
  const { api, store, clock, logger, limits, l1StartTime } = options;
  const metrics = declareIndexMetrics(options.registry);
  const stopped = new AbortController();
  /** One change of the position at a time. */
  const changing = pLimit(1);
  const upwardFlights = new SingleFlight<'up', void>();
  let position: IndexPosition | undefined;
  let floor = 0n;
  let isAtTip = false;
  let misfits = 0;
  let failures = 0;

  const loaded = store.position().then((kept) => {
    position = kept;
    publish();
  });
  // Heard by the loop below and by every lookup.
  loaded.catch(() => undefined);
  const running = run(stopped.signal);

  async function run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const startMs = clock.monotonicMs();
      let blockCount = 0;
      try {
        await loaded;
        blockCount = await readUp(signal);
        if (isAtTip) blockCount += await changing(() => readDown(signal));
        failures = 0;
      } catch (error) {
        if (signal.aborted) return;
        failures += 1;
        logger.warn({ err: error }, 'could not read P-Chain blocks for the index of L1 validations; trying again');
      }
      const spentMs = clock.monotonicMs() - startMs;
      const pauseMs =
        blockCount === 0
          ? Math.min(limits.pollMs * 2 ** failures, MAX_PAUSE_MS)
          : (blockCount / limits.maxBlocksPerSecond) * 1_000 - spentMs;
      try {
        await sleep(clock, Math.max(0, pauseMs), signal);
      } catch {
        return;
      }
    }
  }

  /** One batch above what was read. @returns blocks read */
  function readUp(signal: AbortSignal): Promise<number> {
    return changing(async () => {
      using deadline = startDeadline(clock, limits.batchTimeoutMs, 'reading P-Chain blocks', signal);
      const height = await api.getHeight(deadline.signal);
      if (position === undefined) return await startAt(height, deadline.signal);
      const top = topOf(position);
      // An API node that lags behind has nothing new to say.
      isAtTip = height <= top.height;
      if (isAtTip) return 0;
      const count = minimum(height - top.height, BigInt(limits.batchSize));
      const blocks = await readBlocks(heightsUp(top.height + 1n, count), deadline.signal);
      const linked = linkedPrefix(blocks, (block, previous) => block.parentID === (previous?.id ?? top.id));
      if (linked.length === 0) return await doubt(deadline.signal);
      misfits = 0;
      const last = linked.at(-1) as PChainBlock;
      const checkpoints = withTop(position.checkpoints, { height: last.height, id: last.id });
      await commit({ ...position, checkpoints }, linked);
      isAtTip = last.height >= height;
      return blocks.length;
    });
  }

  /** One batch below what was read. @returns blocks read */
  async function readDown(signal: AbortSignal): Promise<number> {
    if (position === undefined || position.low.isFloor) return 0;
    const { low } = position;
    const count = minimum(low.height - floor, BigInt(limits.batchSize));
    if (count <= 0n) {
      await commit({ ...position, low: { ...low, isFloor: true } }, []);
      return 0;
    }
    using deadline = startDeadline(clock, limits.batchTimeoutMs, 'reading P-Chain blocks', signal);
    const blocks = await readBlocks(heightsDown(low.height - 1n, count), deadline.signal);
    const linked = linkedPrefix(blocks, (block, previous) => block.id === (previous?.parentID ?? low.parentID));
    if (linked.length === 0) return await doubt(deadline.signal);
    misfits = 0;
    const last = linked.at(-1) as PChainBlock;
    const isFloor = last.height <= floor || isBeforeL1s(last);
    await commit({ ...position, low: { height: last.height, parentID: last.parentID, isFloor } }, linked);
    return blocks.length;
  }

  async function startAt(height: bigint, signal: AbortSignal): Promise<number> {
    const block = await api.getBlockByHeight(height, signal);
    floor = floorBelow(height);
    const low = { height, parentID: block.parentID, isFloor: height <= floor || isBeforeL1s(block) };
    await commit({ checkpoints: [{ height, id: block.id }], low }, [block]);
    isAtTip = true;
    return 1;
  }

  /**
   * The API's blocks do not continue ours. Accepted blocks are final, so either this API node or the one that gave us ours
   * is wrong, or on another network. Once may be chance (several API nodes in turn); then we go back to the last block that
   * both have, or start again where there is none. Entries stay: they are right whatever block they were in.
   */
  async function doubt(signal: AbortSignal): Promise<number> {
    misfits += 1;
    if (misfits < MISFITS_BEFORE_DOUBT || position === undefined) return 0;
    misfits = 0;
    for (const [index, point] of [...position.checkpoints.entries()].toReversed()) {
      const block = await blockAt(point.height, signal);
      if (block?.id !== point.id) continue;
      logger.warn({ height: point.height }, 'P-Chain blocks changed; reading again those above');
      await commit({ ...position, checkpoints: position.checkpoints.slice(0, index + 1) }, []);
      return 0;
    }
    logger.warn('the P-Chain is another one than the index of L1 validations was made of; reading it anew');
    position = undefined;
    isAtTip = false;
    return 0;
  }

  async function readBlocks(heights: readonly bigint[], signal: AbortSignal): Promise<PChainBlock[]> {
    const limit = pLimit(limits.concurrency);
    const results = await Promise.allSettled(
      heights.map((height) => limit(() => api.getBlockByHeight(height, signal))),
    );
    signal.throwIfAborted();
    const failed = results.findIndex(({ status }) => status === 'rejected');
    const read = results.slice(0, failed === -1 ? results.length : failed);
    // What came before a failure is kept; a failure at once is told.
    if (read.length === 0 && failed === 0) throw (results[0] as PromiseRejectedResult).reason;
    return read.map((result) => (result as PromiseFulfilledResult<PChainBlock>).value);
  }

  async function blockAt(height: bigint, signal: AbortSignal): Promise<PChainBlock | undefined> {
    try {
      return await api.getBlockByHeight(height, signal);
    } catch (error) {
      if (error instanceof ApiError && error.kind === 'rejected') return undefined;
      throw error;
    }
  }

  async function commit(next: IndexPosition, blocks: readonly PChainBlock[]): Promise<void> {
    const entries = blocks.filter(({ origins }) => origins.length > 0);
    await store.commit({ position: next, entries });
    position = next;
    publish();
  }

  function publish(): void {
    if (position === undefined) return;
    metrics.highest.set(Number(topOf(position).height));
    metrics.lowest.set(Number(position.low.height));
  }

  function floorBelow(height: bigint): bigint {
    return limits.lookback === undefined || limits.lookback > height ? 0n : height - limits.lookback;
  }

  function isBeforeL1s({ timestamp }: PChainBlock): boolean {
    return l1StartTime !== undefined && (timestamp === undefined || timestamp < l1StartTime);
  }

  /** Looks, reads the newest blocks where it is not there, and looks again. */
  async function originOf(validationID: ValidationID, signal: AbortSignal) {
    await loaded;
    const found = await store.originOf(validationID);
    if (found !== undefined) return found;
    using deadline = startDeadline(clock, LOOKUP_READ_MS, 'reading the newest P-Chain blocks', signal);
    try {
      await upwardFlights.run('up', async (flight) => void (await readUp(flight)), deadline.signal);
    } catch (error) {
      signal.throwIfAborted();
      if (!deadline.signal.aborted)
        logger.warn({ err: error }, 'could not read the newest P-Chain blocks for a lookup');
    }
    return await store.originOf(validationID);
  }

  return {
    originOf,
    coverage: () => ({
      range: position && { from: position.low.height, to: topOf(position).height },
      isReading: position === undefined || !isAtTip || !position.low.isFloor,
    }),
    async [Symbol.asyncDispose]() {
      stopped.abort(new Error('the service stops'));
      await running;
    },
  };
}

function topOf({ checkpoints }: IndexPosition): BlockPoint {
  const top = checkpoints.at(-1);
  if (top === undefined) throw new Error('a position without a block');
  return top;
}

/** The old top gives way to the new one unless it is far enough above the checkpoint below it to be one itself. */
function withTop(checkpoints: readonly BlockPoint[], top: BlockPoint): BlockPoint[] {
  const [below, previous] = checkpoints.slice(-2);
  const isTooClose =
    below !== undefined && previous !== undefined && previous.height - below.height < CHECKPOINT_SPACING;
  return [...(isTooClose ? checkpoints.slice(0, -1) : checkpoints), top].slice(-MAX_CHECKPOINTS);
}

/** As many blocks from the first on as each belong to the one before them. */
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

function declareIndexMetrics(registry: Registry) {
  const prefix = 'signature_aggregator_l1_index_';
  const registers = [registry];
  return {
    highest: new Gauge({
      name: `${prefix}highest_block`,
      help: 'Highest P-Chain block read for the index of L1 validations',
      registers,
    }),
    lowest: new Gauge({
      name: `${prefix}lowest_block`,
      help: 'Lowest P-Chain block read for the index of L1 validations',
      registers,
    }),
  };
}
