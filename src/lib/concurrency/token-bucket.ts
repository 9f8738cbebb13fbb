export interface BucketSize {
  readonly capacity: number;
  readonly perSecond: number;
}

/** A token bucket. It starts full; spending more tokens than are left makes it negative until it is refilled. */
export class TokenBucket {
  readonly #size: BucketSize;
  #tokens: number;
  #atMs: number;

  /** @param nowMs monotonic time, here and below */
  constructor(size: BucketSize, nowMs: number) {
    this.#size = size;
    this.#tokens = size.capacity;
    this.#atMs = nowMs;
  }

  left(nowMs: number): number {
    const { capacity, perSecond } = this.#size;
    this.#tokens = Math.min(capacity, this.#tokens + ((nowMs - this.#atMs) / 1_000) * perSecond);
    this.#atMs = nowMs;
    return this.#tokens;
  }

  spend(count: number): void {
    this.#tokens -= count;
  }
}
