/** Public APIs allow 2,048. */
const MAX_SIZE = 1_024;
/** A slower success does not double the size. */
const QUICK_MS = 2_000;
/** Successes after which a size that has failed is tried again, at most. */
const MAX_SUCCESSES = 64;

/** The number of blocks of the next range of logs. */
export interface RangeStep {
  /** 0: logs of ranges are not served now, and blocks are read one by one. */
  readonly size: number;
  /** Doubles the size after a quick success, but later and later if larger sizes have failed. */
  succeed(tookMs: number): void;
  /** Halves the size, whatever the failure was: RPCs refuse long ranges in many words, by HTTP statuses, and by silence. */
  fail(): void;
}

/** @param firstSize blocks of the first range */
export function createRangeStep(firstSize: number): RangeStep {
  let size = firstSize;
  let successesLeft = 1;
  let successesNeeded = 1;
  /** Whether the present size is one that is tried for the first time after a smaller one. */
  let isTrial = false;
  return {
    get size() {
      return size;
    },
    succeed(tookMs) {
      if (isTrial) successesNeeded = 1;
      isTrial = false;
      if (tookMs > QUICK_MS || 2 * size > MAX_SIZE) return;
      successesLeft -= 1;
      if (successesLeft > 0) return;
      size = Math.max(1, 2 * size);
      isTrial = true;
      successesLeft = successesNeeded;
    },
    fail() {
      size = Math.floor(size / 2);
      isTrial = false;
      successesNeeded = Math.min(MAX_SUCCESSES, 2 * successesNeeded);
      successesLeft = successesNeeded;
    },
  };
}
