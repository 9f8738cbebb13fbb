import { backoffMs } from '../../lib/concurrency/backoff.ts';
import { repeat } from '../../lib/concurrency/clock.ts';
import { startDeadline } from '../../lib/concurrency/deadline.ts';
import { SingleFlight } from '../../lib/concurrency/single-flight.ts';
import { StoreError } from '../../store/local/sqlite.ts';
import { createThrottledWarnings } from '../../telemetry/log-throttle.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import type { ValidationID } from '../../warp/ids.ts';
import type { L1ValidatorRegistrationJustification } from '../../warp/justification.ts';
import { isNotServed } from '../rpc/api-error.ts';
import { type BlockRange, type BlockRangeOptions, createBlockRange } from './block-range.ts';

export interface IndexCoverage {
  /** Undefined before the first block. */
  readonly range: { readonly from: bigint; readonly to: bigint } | undefined;
  /** Whether a missing entry may be found later: there are blocks to read, or the last failed lookup could not read everything. */
  readonly isReading: boolean;
  /** Whether every L1 validation began in the range: it reaches down to the first L1s. */
  readonly isWhole: boolean;
}

export interface ValidationIndexOptions extends BlockRangeOptions {
  readonly metrics: Metrics;
  /** Leaves the API to requests while years of blocks are read, and respects a provider's limits. */
  readonly maxBlocksPerSecond: number;
}

/** Interval of height requests when all blocks are read. */
const POLL_MS = 2_000;
/** A batch of old blocks may delay the newest ones. */
const LOOKUP_READ_MS = 1_000;
/** Longest pause while the API fails. A failed lookup reads the newest blocks at once. */
const MAX_PAUSE_MS = 30_000;

/** Where the validations of L1 validators began. {@link openValidationIndex} reads the blocks. */
export interface ValidationIndex extends AsyncDisposable {
  /** Returns undefined if no block has it, after reading the newest blocks. Rejects only with the signal's reason. */
  originOf(validationID: ValidationID, signal: AbortSignal): Promise<L1ValidatorRegistrationJustification | undefined>;
  /** Whether a block began this validation; undefined if the newest blocks cannot be read. Rejects only with the signal's reason. */
  hasOrigin(validationID: ValidationID, signal: AbortSignal): Promise<boolean | undefined>;
  /** Returns the range of heights that was read, and whether more is being read. */
  coverage(): IndexCoverage;
}

/**
 * Index of L1 validations from P-Chain blocks: a validation ID is a hash of data in the block with the registration or the conversion.
 *
 * It covers one range of heights without gaps, which starts at the height of the first start, and grows up with the chain and down to its
 * limits. An entry can be missing but not wrong, because its ID is computed from its content.
 */
export function openValidationIndex(options: ValidationIndexOptions): ValidationIndex {
  const { store, clock, logger, maxBlocksPerSecond } = options;
  const range = createBlockRange(options);
  const lookupReads = new SingleFlight<'up', void>();
  const stopped = new AbortController();
  const warn = createThrottledWarnings(logger, clock);
  /** Whether the last failed lookup could not read the store or the newest blocks. */
  let isLookupPartial = false;
  /** Consecutive failures to read a batch. */
  let failures = 0;
  /** False if the last reading failed because no API serves blocks: a client that waits for more of them would wait in vain. */
  let isServed = true;

  declareIndexMetrics(options.metrics, range);
  const loaded = range.load();
  // Handled by readBatch and by each lookup.
  loaded.catch(() => undefined);
  const running = repeat(clock, stopped.signal, () => readBatch(stopped.signal));

  /** Reads a batch of new blocks, or else of old ones. Returns the pause until the next one by the rate limit. */
  async function readBatch(signal: AbortSignal): Promise<number> {
    const startMs = clock.monotonicMs();
    let blockCount = 0;
    try {
      await loaded;
      blockCount = await range.readUp(signal);
      if (range.isAtTip) blockCount += await range.readDown(signal);
      failures = 0;
      isServed = true;
    } catch (error) {
      if (signal.aborted) return 0;
      failures += 1;
      isServed = !isNotServed(error);
      warn('blocks', { err: error }, 'could not read P-Chain blocks for the index of L1 validations; trying again');
    }
    if (blockCount === 0) return backoffMs(failures + 1, { baseMs: POLL_MS, maxMs: MAX_PAUSE_MS });
    return Math.max(0, (blockCount / maxBlocksPerSecond) * 1_000 - (clock.monotonicMs() - startMs));
  }

  /** Reads the newest blocks, once for all waiting lookups. Returns whether it succeeded. */
  async function readNewest(signal: AbortSignal): Promise<boolean> {
    using deadline = startDeadline(clock, LOOKUP_READ_MS, 'reading the newest P-Chain blocks', signal);
    try {
      await lookupReads.run('up', async (flight) => void (await range.readUp(flight)), deadline.signal);
      return true;
    } catch (error) {
      signal.throwIfAborted();
      if (!deadline.signal.aborted) {
        warn('newest blocks', { err: error }, 'could not read the newest P-Chain blocks for a lookup');
      }
      return false;
    }
  }

  /** `isCurrent`: whether an origin would have been found in the newest blocks. */
  async function find(validationID: ValidationID, signal: AbortSignal) {
    try {
      await loaded;
      const found = await store.originOf(validationID);
      if (found !== undefined) return { origin: found, isCurrent: true };
      const isRead = await readNewest(signal);
      const origin = await store.originOf(validationID);
      if (origin === undefined) isLookupPartial = !isRead;
      return { origin, isCurrent: isRead && range.isAtTip };
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      isLookupPartial = true;
      warn('store', { err: error }, 'a lookup in the index of L1 validations failed');
      return { origin: undefined, isCurrent: false };
    }
  }

  return {
    originOf: async (validationID: ValidationID, signal: AbortSignal) => (await find(validationID, signal)).origin,
    async hasOrigin(validationID: ValidationID, signal: AbortSignal) {
      const { origin, isCurrent } = await find(validationID, signal);
      return origin !== undefined || (isCurrent ? false : undefined);
    },
    coverage(): IndexCoverage {
      const isReading = isServed && (isLookupPartial || !range.isComplete);
      return { range: range.heights, isReading, isWhole: range.isWhole && !isLookupPartial };
    },
    async [Symbol.asyncDispose](): Promise<void> {
      stopped.abort(new Error('the service stops'));
      await running;
    },
  };
}

function declareIndexMetrics(metrics: Metrics, range: BlockRange): void {
  const ofHeight = (height: () => bigint | undefined) => () => {
    const known = height();
    return known === undefined ? [] : [{ labels: {}, value: Number(known) }];
  };
  metrics.readGauge(
    { name: 'p_chain_height', help: 'Last P-Chain height of the API' },
    ofHeight(() => range.chainHeight),
  );
  metrics.readGauge(
    { name: 'l1_index_highest_block', help: 'Highest P-Chain block read for the index of L1 validations' },
    ofHeight(() => range.heights?.to),
  );
  metrics.readGauge(
    { name: 'l1_index_lowest_block', help: 'Lowest P-Chain block read for the index of L1 validations' },
    ofHeight(() => range.heights?.from),
  );
}
