import { createLru } from '../cache/lru.ts';
import type { Clock } from './clock.ts';
import type { BucketSize } from './token-bucket.ts';

export interface PenaltyBucketOptions extends BucketSize {
  readonly clock: Pick<Clock, 'monotonicMs'>;
  /** Keys with points. Beyond it the least recently used one is forgotten, and starts anew. */
  readonly maxKeys: number;
}

/** Levels do not grow beyond it, so that a burst of failures bars its client for seconds and not for minutes. */
const MAX_LEVEL = 2;

/** A leaky bucket for each key, charged after the fact with the cost of work that failed. */
export class PenaltyBucket {
  readonly #options: PenaltyBucketOptions;
  /** When the bucket of a key will be empty. */
  readonly #emptyAtMs;

  constructor(options: PenaltyBucketOptions) {
    this.#options = options;
    this.#emptyAtMs = createLru<string, number>(options.maxKeys);
  }

  charge(key: string, points: number): void {
    const { clock, capacity, perSecond } = this.#options;
    const nowMs = clock.monotonicMs();
    const seconds = Math.min((this.level(key) * capacity + points) / perSecond, (MAX_LEVEL * capacity) / perSecond);
    this.#emptyAtMs.set(key, nowMs + 1_000 * seconds);
  }

  /** How much of the capacity is used: 0 is none, 1 is all. Charges go beyond it, up to {@link MAX_LEVEL}. */
  level(key: string): number {
    const { clock, capacity, perSecond } = this.#options;
    const emptyAtMs = this.#emptyAtMs.get(key);
    if (emptyAtMs === undefined) return 0;
    return Math.max(0, ((emptyAtMs - clock.monotonicMs()) * perSecond) / 1_000 / capacity);
  }
}
