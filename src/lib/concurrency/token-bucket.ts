export interface BucketSize {
  readonly capacity: number;
  readonly perSecond: number;
}

/** A token bucket. It begins full; more may be spent than is left, and has to be refilled first. */
export class TokenBucket {
  readonly #size: BucketSize;
  #tokens: number;
  #atMs: number;

  /** @param nowMs monotonic, as all times here */
  constructor(size: BucketSize, nowMs: number) {
    this.#size = size;
    this.#tokens = size.capacity;
    this.#atMs = nowMs;
  }

  /** With fractions. */
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
