import { LRUCache } from 'lru-cache';
import type { Clock } from './clock.ts';
import { SingleFlight } from './single-flight.ts';

export interface FreshCacheOptions<Key, Value> {
  readonly clock: Clock;
  /** Most values kept; the least recently used one goes first. */
  readonly max: number;
  /** How old a value may be, or how old this one may be: 0 keeps it not at all, infinity until there is no room. */
  readonly maxAgeMs: number | ((value: Value, key: Key) => number);
  /** Gives up when the signal aborts: then nobody waits for the value any more. */
  readonly load: (key: Key, signal: AbortSignal) => Promise<Value>;
}

/**
 * Values that are asked for, kept while they are fresh, and asked for once where many want the same at a time. A failure is
 * not kept: whoever comes after it asks again.
 */
export class FreshCache<Key extends string, Value> {
  readonly #options: FreshCacheOptions<Key, Value>;
  readonly #kept: LRUCache<Key, { readonly value: Value }>;
  readonly #flights = new SingleFlight<Key, Value>();

  constructor(options: FreshCacheOptions<Key, Value>) {
    this.#options = options;
    this.#kept = new LRUCache({
      max: options.max,
      // Counted from 1: to the library a time of 0 is none.
      perf: { now: () => options.clock.monotonicMs() + 1 },
      ttlResolution: 0,
    });
  }

  get size(): number {
    return this.#kept.size;
  }

  /** The value, if it is kept and fresh. */
  peek(key: Key): Value | undefined {
    return this.#kept.get(key)?.value;
  }

  /** @throws what `load` throws, or the signal's reason */
  async get(key: Key, signal: AbortSignal): Promise<Value> {
    signal.throwIfAborted();
    const kept = this.#kept.get(key);
    if (kept !== undefined) return kept.value;
    return this.#flights.run(key, (flight) => this.#load(key, flight), signal);
  }

  set(key: Key, value: Value): void {
    const { maxAgeMs } = this.#options;
    const ageMs = typeof maxAgeMs === 'number' ? maxAgeMs : maxAgeMs(value, key);
    // To the library a time to live of 0 is for ever.
    if (ageMs > 0) this.#kept.set(key, { value }, { ttl: Number.isFinite(ageMs) ? ageMs : 0 });
  }

  delete(key: Key): void {
    this.#kept.delete(key);
  }

  async #load(key: Key, signal: AbortSignal): Promise<Value> {
    const value = await this.#options.load(key, signal);
    this.set(key, value);
    return value;
  }
}
