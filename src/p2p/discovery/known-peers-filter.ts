import type { Random } from '../../lib/concurrency/clock.ts';
import type { KnownPeers } from '../connection/handshake.ts';
import { BloomFilter, bloomHash, MAX_SALT_LENGTH } from '../wire/bloom-filter.ts';

/** avalanchego `network/ip_tracker.go`. Takes less than two bytes for each address. */
const FALSE_POSITIVE_PROBABILITY = 0.001;
const MIN_CAPACITY = 128;
/** Addresses added to a new filter in one call, which takes about a millisecond. */
const ADDRESSES_PER_STEP = 256;

interface FilterState {
  readonly filter: BloomFilter;
  readonly salt: Uint8Array;
  readonly capacity: number;
  readonly startedAtMs: number;
  count: number;
}

/**
 * Bloom filter of known addresses, sent to peers so that they reply with others. New addresses are added in place. When the filter is full
 * or old, the next one is filled with other seeds, without replaced addresses. That takes some milliseconds for each thousand addresses,
 * so it happens in steps, and the old filter is sent until then.
 */
export class KnownPeersFilter {
  readonly #random: Random;
  #current: FilterState;
  #next: (FilterState & { readonly missing: Iterator<Uint8Array> }) | undefined;
  #encoded: KnownPeers | undefined;

  constructor(random: Random) {
    this.#random = random;
    this.#current = this.#createFilter(MIN_CAPACITY, Number.NEGATIVE_INFINITY);
  }

  add(gossipID: Uint8Array): void {
    add(this.#current, gossipID);
    // The iterator may have passed its place.
    if (this.#next !== undefined) add(this.#next, gossipID);
    this.#encoded = undefined;
  }

  /**
   * @param gossipIDs all known addresses, for the next filter
   * @param maxAgeMs maximum time that a false positive hides an address
   */
  encode(gossipIDs: ReadonlyMap<unknown, Uint8Array>, nowMs: number, maxAgeMs: number): KnownPeers {
    const { count, capacity, startedAtMs } = this.#current;
    if (this.#next === undefined && (count > capacity || nowMs - startedAtMs > maxAgeMs)) {
      // Half empty: new addresses are expected.
      const next = this.#createFilter(Math.max(MIN_CAPACITY, gossipIDs.size * 2), nowMs);
      this.#next = { ...next, missing: gossipIDs.values() };
    }
    this.#fillNext();
    this.#encoded ??= { filter: this.#current.filter.encode(), salt: this.#current.salt };
    return this.#encoded;
  }

  #fillNext(): void {
    const next = this.#next;
    if (next === undefined) return;
    for (let step = 0; step < ADDRESSES_PER_STEP; step += 1) {
      const { value, done } = next.missing.next();
      if (done === true) {
        this.#current = next;
        this.#next = undefined;
        this.#encoded = undefined;
        return;
      }
      add(next, value);
    }
  }

  #createFilter(capacity: number, startedAtMs: number): FilterState {
    const salt = this.#randomBytes(MAX_SALT_LENGTH);
    const filter = BloomFilter.create(capacity, FALSE_POSITIVE_PROBABILITY, (length) => this.#randomBytes(length));
    return { filter, salt, capacity, startedAtMs, count: 0 };
  }

  #randomBytes(length: number): Uint8Array {
    return Uint8Array.from({ length }, () => Math.floor(this.#random() * 256));
  }
}

function add(state: FilterState, gossipID: Uint8Array): void {
  state.filter.add(bloomHash(gossipID, state.salt));
  state.count += 1;
}
