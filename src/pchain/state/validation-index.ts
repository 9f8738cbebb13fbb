import { backoffMs } from '../../lib/concurrency/backoff.ts';
import { type Clock, sleep } from '../../lib/concurrency/clock.ts';
import { startDeadline } from '../../lib/concurrency/deadline.ts';
import { SingleFlight } from '../../lib/concurrency/single-flight.ts';
import { StoreError, type ValidationStore } from '../../store/local/validation-store.ts';
import { createThrottledWarnings, type ThrottledWarnings } from '../../telemetry/log-throttle.ts';
import type { Logger } from '../../telemetry/logger.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import type { ValidationID } from '../../warp/ids.ts';
import type { L1ValidatorRegistrationJustification } from '../../warp/justification.ts';
import type { NodeApi } from '../rpc/node-api.ts';
import { BlockRange, type BlockRangeLimits } from './block-range.ts';

/**
 * Where L1 validations come from, found by reading P-Chain blocks: a validation ID is a hash, and only the block with the
 * registration or the conversion has what was hashed.
 *
 * It covers one range of heights without gaps, which starts at the height of its first start and grows upwards with the chain,
 * and downwards as far as its limits say. An entry can be missing, but not wrong: it is found under the hash of its own content.
 */
export interface ValidationIndex extends AsyncDisposable {
  /**
   * Undefined if no block of the range has it, also after the newest blocks were read for it. Rejects only with the signal's
   * reason.
   */
  originOf(validationID: ValidationID, signal: AbortSignal): Promise<L1ValidatorRegistrationJustification | undefined>;
  coverage(): IndexCoverage;
}

export interface IndexCoverage {
  /** Undefined until the first block was read. */
  readonly range: { readonly from: bigint; readonly to: bigint } | undefined;
  /**
   * Whether there are more blocks to read, above or below, or the last lookup that found nothing could not read all that there was to
   * read: what is not found now may be found later.
   */
  readonly isReading: boolean;
}

export interface ValidationIndexLimits extends BlockRangeLimits {
  /** So that reading years of blocks leaves the API to those who wait for it, and stays within a provider's limits. */
  readonly maxBlocksPerSecond: number;
  /** How often to ask for the height when all blocks are read. */
  readonly pollMs: number;
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
  readonly metrics: Metrics;
  /** Unix seconds before which no block can hold anything of an L1 (the Etna upgrade); undefined reads down to block 0. */
  readonly l1StartTime: bigint | undefined;
  readonly limits: ValidationIndexLimits;
}

/** A lookup waits this long for the newest blocks, which may have to wait for a batch of old ones. */
const LOOKUP_READ_MS = 1_000;
/** The longest pause while the API fails. A lookup that finds nothing asks the API at once. */
const MAX_PAUSE_MS = 30_000;

export function createValidationIndex(options: ValidationIndexOptions): ValidationIndex {
  return new ReadingValidationIndex(options);
}

/** Reads from its start until it is disposed. */
class ReadingValidationIndex implements ValidationIndex {
  readonly #options: ValidationIndexOptions;
  readonly #range: BlockRange;
  readonly #loaded: Promise<void>;
  readonly #lookupReads = new SingleFlight<'up', void>();
  readonly #stopped = new AbortController();
  readonly #running: Promise<void>;
  /** For lookups, of which there are as many as clients send. */
  readonly #warn: ThrottledWarnings;
  /** Whether the last lookup that found nothing could not look everywhere: the store or the newest blocks could not be read. */
  #isLookupPartial = false;

  constructor(options: ValidationIndexOptions) {
    this.#options = options;
    this.#range = new BlockRange(options);
    this.#warn = createThrottledWarnings(options.logger, options.clock);
    declareIndexMetrics(options.metrics, this.#range);
    this.#loaded = this.#range.load();
    // A failure is seen by the reading below and by every lookup.
    this.#loaded.catch(() => undefined);
    this.#running = this.#read(this.#stopped.signal);
  }

  /** Looks in the store, reads the newest blocks if it is not there, and looks again. */
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

  /** One batch after the other, at the pace that the limits allow: first what is new, then what is old. */
  async #read(signal: AbortSignal): Promise<void> {
    const { clock, logger, limits } = this.#options;
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
          ? backoffMs(failures + 1, { baseMs: limits.pollMs, maxMs: MAX_PAUSE_MS })
          : (blockCount / limits.maxBlocksPerSecond) * 1_000 - spentMs;
      try {
        await sleep(clock, Math.max(0, pauseMs), signal);
      } catch {
        return;
      }
    }
  }

  /**
   * All lookups that wait for the newest blocks share one reading. A failure costs a lookup nothing but these blocks.
   *
   * @returns whether they were read
   */
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
    { name: 'p_chain_height', help: 'Height of the P-Chain, as its API said last' },
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
