import { LRUCache } from 'lru-cache';
import type { Clock } from '../concurrency/clock.ts';
import { SingleFlight } from '../concurrency/single-flight.ts';

export interface FreshCacheOptions<Key, Value> {
  readonly clock: Clock;
  /** Maximum number of values; the least recently used one is evicted first. */
  readonly max: number;
  /** Bound of the total size, for values of different sizes. A value that alone exceeds it is returned but not cached. */
  readonly size?: { readonly max: number; readonly of: (value: Value) => number };
  /** Age from which a value is stale: 0 disables caching, infinity disables expiry. */
  readonly maxAgeMs: number | ((value: Value, key: Key) => number);
  /** The signal aborts when no caller waits for the value any more. */
  readonly load: (key: Key, signal: AbortSignal) => Promise<Value>;
}

/** Caches values while they are fresh, and loads a missing one once for all concurrent callers. Failures are not cached. */
export class FreshCache<Key extends string, Value> {
  readonly #options: FreshCacheOptions<Key, Value>;
  readonly #kept: LRUCache<Key, Kept<Value>>;
  readonly #flights = new SingleFlight<Key, Value>();

  constructor(options: FreshCacheOptions<Key, Value>) {
    this.#options = options;
    const { max, size } = options;
    this.#kept = new LRUCache({
      max,
      ...(size && { maxSize: size.max, sizeCalculation: ({ value }) => size.of(value) }),
    });
  }

  /** Number of cached values, including stale ones that were not read since they expired. */
  get size(): number {
    return this.#kept.size;
  }

  peek(key: Key): Value | undefined {
    return this.#fresh(key)?.value;
  }

  /** @throws what `load` throws, or the signal's reason */
  async get(key: Key, signal: AbortSignal): Promise<Value> {
    signal.throwIfAborted();
    const kept = this.#fresh(key);
    if (kept !== undefined) return kept.value;
    return this.#flights.run(key, (flight) => this.#load(key, flight), signal);
  }

  /** Replaces the cached value, or removes it if the new one is not cacheable. */
  set(key: Key, value: Value): void {
    const { clock, maxAgeMs } = this.#options;
    const ageMs = typeof maxAgeMs === 'number' ? maxAgeMs : maxAgeMs(value, key);
    if (ageMs > 0) this.#kept.set(key, { value, staleFromMs: clock.monotonicMs() + ageMs });
    else this.#kept.delete(key);
  }

  delete(key: Key): void {
    this.#kept.delete(key);
  }

  // lru-cache's own `ttl` treats an age of 0 and a start at time 0 as no expiry.
  #fresh(key: Key): Kept<Value> | undefined {
    const kept = this.#kept.get(key);
    if (kept === undefined || this.#options.clock.monotonicMs() < kept.staleFromMs) return kept;
    this.#kept.delete(key);
    return undefined;
  }

  async #load(key: Key, signal: AbortSignal): Promise<Value> {
    const value = await this.#options.load(key, signal);
    this.set(key, value);
    return value;
  }
}

interface Kept<Value> {
  readonly value: Value;
  readonly staleFromMs: number;
}
