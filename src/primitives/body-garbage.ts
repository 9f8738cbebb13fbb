import { PerformanceObserver } from 'node:perf_hooks';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { type Clock, systemClock } from './clock.ts';

/** The heap of the process, as far as its size is decided here. */
export interface HeapGrowth {
  usedBytes(): number;
  /** By how much of what lives it grows before all of it is collected, in percent; 0 leaves that to V8. */
  setGrowth(percent: number): void;
  /** Calls back after each collection, until the returned function is called. */
  onCollected(callback: () => void): () => void;
}

/** Read between two looks. Who reads less than this in {@link QUIET_MS} has few long bodies, or only short ones. */
const LOOK_EVERY_BYTES = 16 * 1024 * 1024;
/** Then V8 decides by itself again. */
const QUIET_MS = 5_000;
/** Of garbage: some collections of the young generation, each of which frees what was read before it. */
const ROOM_BYTES = 64 * 1024 * 1024;
/** V8 itself grows every heap by so much. */
const MIN_PERCENT = 10;

/**
 * Lets garbage of long bodies wait until the young generation is collected.
 *
 * What is read from sockets lies outside the heap. V8 counts it with the old generation, to which it leaves a few MB where little of
 * the heap itself grows old: a dozen long answers. So it would collect all of the heap up to thirty times a second. Each of these
 * collections also takes what is under way for long-lived, and that, soon garbage as well, brings the next one: with answers of
 * 200 KB two thirds of the CPU go there.
 */
export class BodyGarbage {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #heap: HeapGrowth;
  #bytes = 0;
  #seenMs = Number.NEGATIVE_INFINITY;
  #stopWatching: (() => void) | undefined;

  constructor(clock: Pick<Clock, 'monotonicMs'>, heap: HeapGrowth) {
    this.#clock = clock;
    this.#heap = heap;
  }

  /** To be told of each body that was read. */
  count(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes < LOOK_EVERY_BYTES) return;
    this.#bytes = 0;
    const wasQuiet = this.#isQuiet();
    this.#seenMs = this.#clock.monotonicMs();
    if (wasQuiet) return;
    this.#heap.setGrowth(Math.max(MIN_PERCENT, Math.round((100 * ROOM_BYTES) / this.#heap.usedBytes())));
    this.#stopWatching ??= this.#heap.onCollected(() => {
      if (!this.#isQuiet()) return;
      this.#stopWatching?.();
      this.#stopWatching = undefined;
      this.#heap.setGrowth(0);
    });
  }

  #isQuiet(): boolean {
    return this.#clock.monotonicMs() - this.#seenMs >= QUIET_MS;
  }
}

/** One for the process, as V8 has one such setting for all of its threads. */
export const BODY_GARBAGE = new BodyGarbage(systemClock, {
  usedBytes: () => getHeapStatistics().used_heap_size,
  setGrowth: (percent) => setFlagsFromString(`--heap-growing-percent=${percent}`),
  onCollected(callback) {
    const observer = new PerformanceObserver(callback);
    observer.observe({ entryTypes: ['gc'] });
    return () => observer.disconnect();
  },
});
