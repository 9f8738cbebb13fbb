import { constants, type NodeGCPerformanceDetail, PerformanceObserver } from 'node:perf_hooks';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { type Clock, systemClock } from './clock.ts';

/** The heap of the process, as far as its size is decided here. */
export interface HeapGrowth {
  usedBytes(): number;
  /** By how much of what lives it grows before all of it is collected, in percent; 0 leaves that to V8. */
  setGrowth(percent: number): void;
  /** Calls back after each collection, for good. */
  onCollected(callback: (isFull: boolean) => void): void;
}

/** Read between two looks. Who reads less than this in {@link QUIET_MS} has few long bodies, or only short ones. */
const LOOK_EVERY_BYTES = 16 * 1024 * 1024;
/** Then V8 decides by itself again. */
const QUIET_MS = 5_000;
/** Of garbage: some collections of the young generation, each of which frees what was read before it. */
const ROOM_BYTES = 64 * 1024 * 1024;
/** A full collection costs by what lives, so a large heap has more room. */
const MIN_PERCENT = 50;
/** Whatever needs longer to fill its room grows slowly, and V8 gives it less by itself. */
const SLOW_MS = 60_000;

/**
 * Gives the heap 64 MiB for garbage while much comes: neither V8's few MB, nor its hundreds.
 *
 * What is read from sockets lies outside the heap. V8 counts it with the old generation, to which it leaves a few MB where little of
 * the heap itself grows old: a dozen long answers. So it would collect all of the heap up to thirty times a second. Each of these
 * collections also takes what is under way for long-lived, and that, soon garbage as well, brings the next one: with answers of
 * 200 KB two thirds of the CPU go there.
 *
 * Where the heap itself grows fast, on the other hand, V8 lets it become up to four times what lives in it: with 2,000 validators, up
 * to 190 MB are garbage then.
 */
export class GarbageRoom {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #heap: HeapGrowth;
  #isWatching = false;
  #percent = 0;
  /** Of bodies, since the last look. */
  #bodyBytes = 0;
  #bodiesMs = Number.NEGATIVE_INFINITY;
  /** Since the last full collection: what lived after it, and the most that was in the heap. */
  #cycle: { readonly startMs: number; readonly liveBytes: number; mostBytes: number } | undefined;
  /** V8 gave the heap more than its room, and it has been filled fast since then. */
  #isGrowing = false;

  constructor(clock: Pick<Clock, 'monotonicMs'>, heap: HeapGrowth) {
    this.#clock = clock;
    this.#heap = heap;
  }

  /** From now on the heap's own growth counts as well. */
  watch(): void {
    if (this.#isWatching) return;
    this.#isWatching = true;
    this.#heap.onCollected((isFull) => this.#onCollected(isFull));
  }

  /** To be told of each body that was read. */
  countBody(bytes: number): void {
    this.#bodyBytes += bytes;
    if (this.#bodyBytes < LOOK_EVERY_BYTES) return;
    this.#bodyBytes = 0;
    const wasFew = this.#areBodiesFew();
    this.#bodiesMs = this.#clock.monotonicMs();
    if (wasFew) return;
    this.watch();
    this.#give(this.#heap.usedBytes());
  }

  #onCollected(isFull: boolean): void {
    const usedBytes = this.#heap.usedBytes();
    if (!isFull) {
      if (this.#cycle !== undefined) this.#cycle.mostBytes = Math.max(this.#cycle.mostBytes, usedBytes);
      // Of bodies there may be no more, and no full collection for long.
      if (this.#percent !== 0 && !this.#isGrowing && this.#areBodiesFew()) this.#leaveToV8();
      return;
    }
    const nowMs = this.#clock.monotonicMs();
    if (this.#cycle !== undefined) {
      const { startMs, liveBytes, mostBytes } = this.#cycle;
      this.#isGrowing = this.#isGrowing ? nowMs - startMs < SLOW_MS : mostBytes - liveBytes > ROOM_BYTES;
    }
    this.#cycle = { startMs: nowMs, liveBytes: usedBytes, mostBytes: usedBytes };
    if (this.#isGrowing || !this.#areBodiesFew()) this.#give(usedBytes);
    else if (this.#percent !== 0) this.#leaveToV8();
  }

  #areBodiesFew(): boolean {
    return this.#clock.monotonicMs() - this.#bodiesMs >= QUIET_MS;
  }

  #give(usedBytes: number): void {
    this.#percent = Math.max(MIN_PERCENT, Math.round((100 * ROOM_BYTES) / usedBytes));
    this.#heap.setGrowth(this.#percent);
  }

  #leaveToV8(): void {
    this.#percent = 0;
    this.#heap.setGrowth(0);
  }
}

/** Of type `gc`. */
interface GcEntry {
  readonly detail: NodeGCPerformanceDetail;
}

/** The heap of this process, as V8 keeps it. */
export const V8_HEAP: HeapGrowth = {
  usedBytes: () => getHeapStatistics().used_heap_size,
  setGrowth: (percent) => setFlagsFromString(`--heap-growing-percent=${percent}`),
  onCollected(callback) {
    const isFull = (entry: object): boolean => (entry as GcEntry).detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR;
    new PerformanceObserver((list) => callback(list.getEntries().some(isFull))).observe({ entryTypes: ['gc'] });
  },
};

/** One for the process, as V8 has one such setting for all of its threads. */
export const GARBAGE_ROOM = new GarbageRoom(systemClock, V8_HEAP);
