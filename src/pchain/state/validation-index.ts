import { backoffMs } from '../../lib/concurrency/backoff.ts';
import { sleep } from '../../lib/concurrency/clock.ts';
import { startDeadline } from '../../lib/concurrency/deadline.ts';
import { SingleFlight } from '../../lib/concurrency/single-flight.ts';
import { StoreError } from '../../store/local/validation-store.ts';
import { createThrottledWarnings, type ThrottledWarnings } from '../../telemetry/log-throttle.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import type { ValidationID } from '../../warp/ids.ts';
import type { L1ValidatorRegistrationJustification } from '../../warp/justification.ts';
import { BlockRange, type BlockRangeOptions } from './block-range.ts';

export interface IndexCoverage {
  /** Undefined before the first block. */
  readonly range: { readonly from: bigint; readonly to: bigint } | undefined;
  /** Whether a missing entry may be found later: there are blocks to read, or the last failed lookup could not read everything. */
  readonly isReading: boolean;
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

/**
 * Index of L1 validations from P-Chain blocks: a validation ID is a hash of data in the block with the registration or the conversion.
 *
 * It covers one range of heights without gaps, which starts at the height of the first start, and grows up with the chain and down to its
 * limits. An entry can be missing but not wrong, because its ID is computed from its content.
 */
export class ValidationIndex implements AsyncDisposable {
  readonly #options: ValidationIndexOptions;
  readonly #range: BlockRange;
  readonly #loaded: Promise<void>;
  readonly #lookupReads = new SingleFlight<'up', void>();
  readonly #stopped = new AbortController();
  readonly #running: Promise<void>;
  readonly #warn: ThrottledWarnings;
  /** Whether the last failed lookup could not read the store or the newest blocks. */
  #isLookupPartial = false;

  constructor(options: ValidationIndexOptions) {
    this.#options = options;
    this.#range = new BlockRange(options);
    this.#warn = createThrottledWarnings(options.logger, options.clock);
    declareIndexMetrics(options.metrics, this.#range);
    this.#loaded = this.#range.load();
    // Handled by #read and by each lookup.
    this.#loaded.catch(() => undefined);
    this.#running = this.#read(this.#stopped.signal);
  }

  /** Returns undefined if no block has it, after reading the newest blocks. Rejects only with the signal's reason. */
  async originOf(
    validationID: ValidationID,
    signal: AbortSignal,
  ): Promise<L1ValidatorRegistrationJustification | undefined> {
    const { store } = this.#options;
    try {
      await this.#loaded;
      const found = await store.originOf(validationID);
      if (found !== undefined) return found;
      const isRead = await this.#readNewest(signal);
      const foundNow = await store.originOf(validationID);
      if (foundNow === undefined) this.#isLookupPartial = !isRead;
      return foundNow;
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      this.#isLookupPartial = true;
      this.#warn('store', { err: error }, 'a lookup in the index of L1 validations failed');
      return undefined;
    }
  }

  coverage(): IndexCoverage {
    return { range: this.#range.heights, isReading: this.#isLookupPartial || !this.#range.isComplete };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped.abort(new Error('the service stops'));
    await this.#running;
  }

  /** Reads batches within the rate limit: new blocks first, then old ones. */
  async #read(signal: AbortSignal): Promise<void> {
    const { clock, logger, maxBlocksPerSecond } = this.#options;
    let failures = 0;
    while (!signal.aborted) {
      const startMs = clock.monotonicMs();
      let blockCount = 0;
      try {
        await this.#loaded;
        blockCount = await this.#range.readUp(signal);
        if (this.#range.isAtTip) blockCount += await this.#range.readDown(signal);
        failures = 0;
      } catch (error) {
        if (signal.aborted) return;
        failures += 1;
        logger.warn({ err: error }, 'could not read P-Chain blocks for the index of L1 validations; trying again');
      }
      const spentMs = clock.monotonicMs() - startMs;
      const pauseMs =
        blockCount === 0
          ? backoffMs(failures + 1, { baseMs: POLL_MS, maxMs: MAX_PAUSE_MS })
          : (blockCount / maxBlocksPerSecond) * 1_000 - spentMs;
      try {
        await sleep(clock, Math.max(0, pauseMs), signal);
      } catch {
        return;
      }
    }
  }

  /** Reads the newest blocks, once for all waiting lookups. Returns whether it succeeded. */
  async #readNewest(signal: AbortSignal): Promise<boolean> {
    const { clock } = this.#options;
    using deadline = startDeadline(clock, LOOKUP_READ_MS, 'reading the newest P-Chain blocks', signal);
    try {
      await this.#lookupReads.run('up', async (flight) => void (await this.#range.readUp(flight)), deadline.signal);
      return true;
    } catch (error) {
      signal.throwIfAborted();
      if (!deadline.signal.aborted) {
        this.#warn('newest blocks', { err: error }, 'could not read the newest P-Chain blocks for a lookup');
      }
      return false;
    }
  }
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
