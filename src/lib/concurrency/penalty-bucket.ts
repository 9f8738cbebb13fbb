import { LRUCache } from 'lru-cache';
import type { Clock } from './clock.ts';
import type { BucketSize } from './token-bucket.ts';

export interface PenaltyBucketOptions extends BucketSize {
  readonly clock: Pick<Clock, 'monotonicMs'>;
  /** Bound of the keys with points; the points of the least recently used one are dropped first. */
  readonly maxKeys: number;
}

/** Bound of a level, so that a burst of failures blocks its client for seconds and not for minutes. */
const MAX_LEVEL = 2;

/** A leaky bucket for each key, charged after the fact with the cost of work that failed. */
export class PenaltyBucket {
  readonly #options: PenaltyBucketOptions;
  /** Time at which the bucket of a key is empty. */
  readonly #emptyAtMs: LRUCache<string, number>;

  constructor(options: PenaltyBucketOptions) {
    this.#options = options;
    this.#emptyAtMs = new LRUCache({ max: options.maxKeys });
  }

  charge(key: string, points: number): void {
    const { clock, capacity, perSecond } = this.#options;
    const nowMs = clock.monotonicMs();
    const seconds = Math.min((this.level(key) * capacity + points) / perSecond, (MAX_LEVEL * capacity) / perSecond);
    this.#emptyAtMs.set(key, nowMs + 1_000 * seconds);
  }

  /** Returns the used part of the capacity, from 0 to {@link MAX_LEVEL}: charges may exceed it. */
  level(key: string): number {
    const { clock, capacity, perSecond } = this.#options;
    const emptyAtMs = this.#emptyAtMs.get(key);
    if (emptyAtMs === undefined) return 0;
    return Math.max(0, ((emptyAtMs - clock.monotonicMs()) * perSecond) / 1_000 / capacity);
  }
}
