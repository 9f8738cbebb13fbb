import { LRUCache } from 'lru-cache';
import type { Clock } from '../concurrency/clock.ts';
import { SingleFlight } from '../concurrency/single-flight.ts';
import { createLru } from './lru.ts';

export interface FreshCacheOptions<Key, Value> {
  readonly clock: Clock;
  /** Most values kept; the least recently used one goes first. */
  readonly max: number;
  /** A bound on what all kept values take together, where values differ much. A value beyond it alone is given, but not kept. */
  readonly size?: { readonly max: number; readonly of: (value: Value) => number };
  /** The age from which on a value is no longer given: 0 means that it is not kept, infinity that it never grows too old. */
  readonly maxAgeMs: number | ((value: Value, key: Key) => number);
  /** Gives up when the signal aborts: then nobody waits for the value any more. */
  readonly load: (key: Key, signal: AbortSignal) => Promise<Value>;
}

/**
 * Keeps values while they are fresh, and loads a missing one only once, however many callers want it at the same time. A failure
 * is not kept: the next caller loads again.
 */
export class FreshCache<Key extends string, Value> {
  readonly #options: FreshCacheOptions<Key, Value>;
  readonly #kept: LRUCache<Key, Kept<Value>>;
  readonly #flights = new SingleFlight<Key, Value>();

  constructor(options: FreshCacheOptions<Key, Value>) {
    this.#options = options;
    const { max, size } = options;
    this.#kept =
      size === undefined
        ? createLru(max)
        : new LRUCache({ max, maxSize: size.max, sizeCalculation: ({ value }) => size.of(value) });
  }

  /** Of the values kept, those that have grown too old and were not asked for since included. */
  get size(): number {
    return this.#kept.size;
  }

  /** The value, if it is kept and fresh. */
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

  /** Takes the place of the value kept before, also where the new one is not to be kept. */
  set(key: Key, value: Value): void {
    const { clock, maxAgeMs } = this.#options;
    const ageMs = typeof maxAgeMs === 'number' ? maxAgeMs : maxAgeMs(value, key);
    if (ageMs > 0) this.#kept.set(key, { value, staleFromMs: clock.monotonicMs() + ageMs });
    else this.#kept.delete(key);
  }

  delete(key: Key): void {
    this.#kept.delete(key);
  }

  // The library could count time itself, but to it a value of exactly its age is fresh still, and an age of 0 is no age.
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
