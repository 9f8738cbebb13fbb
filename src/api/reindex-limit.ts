import { LRUCache } from 'lru-cache';
import type { Clock } from '../primitives/clock.ts';

/** The specification: once an hour for each token. */
const REINDEX_INTERVAL_MS = 60 * 60 * 1_000;
/** Tokens remembered: more than anybody reindexes in an hour under the rate limits, in some MB. */
const MAX_TOKENS = 50_000;

/** When each NFT token was last reindexed. */
export class ReindexLimit {
  readonly #clock: Clock;
  readonly #startedMs = new LRUCache<string, number>({ max: MAX_TOKENS });

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** 0 where the token may be reindexed now, and then counts as such; else the milliseconds left to wait. */
  take(token: string): number {
    const nowMs = this.#clock.monotonicMs();
    const startedMs = this.#startedMs.get(token);
    if (startedMs !== undefined && nowMs - startedMs < REINDEX_INTERVAL_MS)
      return startedMs + REINDEX_INTERVAL_MS - nowMs;
    this.#startedMs.set(token, nowMs);
    return 0;
  }

  /** It was not reindexed after all. */
  giveBack(token: string): void {
    this.#startedMs.delete(token);
  }
}
