export interface BucketSize {
  readonly atOnce: number;
  readonly perSecond: number;
}

/** So many at once, and then so many a second. It begins full; more may be spent than is left, which has to be earned first. */
export class TokenBucket {
  readonly #size: BucketSize;
  #tokens: number;
  #atMs: number;

  constructor(size: BucketSize, nowMs: number) {
    this.#size = size;
    this.#tokens = size.atOnce;
    this.#atMs = nowMs;
  }

  /** With fractions. */
  left(nowMs: number): number {
    const { atOnce, perSecond } = this.#size;
    this.#tokens = Math.min(atOnce, this.#tokens + ((nowMs - this.#atMs) / 1_000) * perSecond);
    this.#atMs = nowMs;
    return this.#tokens;
  }

  spend(count: number): void {
    this.#tokens -= count;
  }
}
