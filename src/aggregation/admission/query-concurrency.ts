import type { Clock } from '../../lib/concurrency/clock.ts';
import { EventLoopScheduler } from '../../lib/concurrency/event-loop-scheduler.ts';
import { FairSemaphore, type Permit } from '../../lib/concurrency/fair-semaphore.ts';

/** Larger queries are bounded by their bytes; of the smaller ones, even `maxQueries` have no more than some MiB. */
export const LARGE_QUERY_BYTES = 4 * 1024;
/**
 * Bytes of large queries in flight. A copy of each may wait in the socket of a validator that does not read. 16 MiB are 80 validators
 * with messages of 200 KB at a time.
 */
const MAX_LARGE_BYTES = 16 * 1024 * 1024;
/** Queries that start in one turn of the event loop: to encrypt and send one takes some 30 µs. */
export const MAX_STARTED_PER_TURN = 32;
/** One client gets two thirds, as its validators may keep silent for seconds where those of others answer in milliseconds. */
const CLIENT_SHARE = 2;

export interface QueryConcurrencyOptions {
  readonly clock: Pick<Clock, 'after' | 'afterTurn'>;
  readonly maxQueries: number;
  readonly maxLargeBytes?: number;
}

/**
 * Bounds the queries to validators over all requests: their number, the bytes of large ones, and how many start in one turn of the
 * event loop. Clients are served round robin, and large queries hold up no small ones.
 *
 * Bound of the queue: that of the collections.
 */
export class QueryConcurrency {
  readonly small: FairSemaphore;
  readonly large: FairSemaphore;
  readonly #scheduler: EventLoopScheduler;

  constructor({ clock, maxQueries, maxLargeBytes = MAX_LARGE_BYTES }: QueryConcurrencyOptions) {
    const shared = { clock, keyShare: CLIENT_SHARE, maxQueued: Number.POSITIVE_INFINITY };
    this.small = new FairSemaphore({ ...shared, limit: maxQueries });
    this.large = new FairSemaphore({ ...shared, limit: maxLargeBytes });
    this.#scheduler = new EventLoopScheduler(clock, MAX_STARTED_PER_TURN);
  }

  /**
   * Starts a query, before this returns where it may start now.
   *
   * @param query handles its own failure
   * @param client undefined for internal work
   */
  start(bytes: number, query: () => Promise<unknown>, client: string | undefined): void {
    const isLarge = bytes > LARGE_QUERY_BYTES;
    const begin = (permit: Permit): void =>
      this.#scheduler.run(isLarge ? `large ${client}` : `${client}`, () => {
        const release = (): void => permit.release();
        void query().then(release, release);
      });
    const claim = { key: client, weight: isLarge ? bytes : 1 };
    const permit = (isLarge ? this.large : this.small).acquire(claim);
    if (permit instanceof Promise) void permit.then(begin);
    else begin(permit);
  }

  /** As {@link start}, for a query whose result is waited for. */
  run<T>(bytes: number, query: () => Promise<T>, client: string | undefined): Promise<T> {
    return new Promise((resolve, reject) => this.start(bytes, () => query().then(resolve, reject), client));
  }
}
