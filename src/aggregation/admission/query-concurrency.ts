import type { Clock } from '../../lib/concurrency/clock.ts';
import { EventLoopScheduler } from '../../lib/concurrency/event-loop-scheduler.ts';
import { FairSemaphore, type Permit } from '../../lib/concurrency/fair-semaphore.ts';

/** Larger requests are bounded by bytes; `maxQueries` smaller ones are some MiB. */
export const LARGE_QUERY_BYTES = 4 * 1024;
/** A copy of each large request may wait in the socket of a slow validator. 16 MiB are 80 validators with messages of 200 KB. */
const MAX_LARGE_BYTES = 16 * 1024 * 1024;
/** Requests started per tick of the event loop: encrypting and sending one takes some 30 µs. */
export const MAX_STARTED_PER_TURN = 32;
/** One client gets two thirds: its validators may all time out. */
const CLIENT_SHARE = 2;

export interface QueryConcurrencyOptions {
  readonly clock: Pick<Clock, 'after' | 'afterTurn'>;
  readonly maxQueries: number;
  readonly maxLargeBytes?: number;
}

/** Bounds signature requests over all aggregations: their number, the bytes of large ones, and the starts per tick. */
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

  /** Starts a request, synchronously if there is a permit. `query` handles its own failure. */
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

  run<T>(bytes: number, query: () => Promise<T>, client: string | undefined): Promise<T> {
    return new Promise((resolve, reject) => this.start(bytes, () => query().then(resolve, reject), client));
  }
}
