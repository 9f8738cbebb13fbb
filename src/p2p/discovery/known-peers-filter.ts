import type { Random } from '../../lib/concurrency/clock.ts';
import type { KnownPeers } from '../connection/handshake.ts';
import { BloomFilter, bloomHash, MAX_SALT_LENGTH } from '../wire/bloom-filter.ts';

/** avalanchego `network/ip_tracker.go`: small enough that few addresses are held back, in under two bytes an address. */
const FALSE_POSITIVE_PROBABILITY = 0.001;
const MIN_CAPACITY = 128;
/** Addresses put into a new filter before the event loop has its turn again: they take about a millisecond. */
const ADDRESSES_PER_STEP = 256;

/** A filter, and how much is in it. */
interface Filled {
  readonly filter: BloomFilter;
  readonly salt: Uint8Array;
  readonly capacity: number;
  readonly startedAtMs: number;
  count: number;
}

/**
 * The addresses we know, as we show them to peers so that they send us others. New addresses are added in place. When it is
 * full or old, another one is begun with other seeds, without the addresses that were replaced meanwhile. It takes some
 * milliseconds for each thousand of them, so they go in by and by, and the filter before it is shown until then.
 */
export class KnownPeersFilter {
  readonly #random: Random;
  #shown: Filled;
  #next: (Filled & { readonly missing: Iterator<Uint8Array> }) | undefined;
  #encoded: KnownPeers | undefined;

  constructor(random: Random) {
    this.#random = random;
    this.#shown = this.#createFilled(MIN_CAPACITY, Number.NEGATIVE_INFINITY);
  }

  add(gossipID: Uint8Array): void {
    add(this.#shown, gossipID);
    // It may have been passed by there.
    if (this.#next !== undefined) add(this.#next, gossipID);
    this.#encoded = undefined;
  }

  /**
   * @param gossipIDs all that are known now, for a filter that has to start again
   * @param maxAgeMs how long an address may stay hidden that one filter hides by bad luck
   */
  encode(gossipIDs: ReadonlyMap<unknown, Uint8Array>, nowMs: number, maxAgeMs: number): KnownPeers {
    const { count, capacity, startedAtMs } = this.#shown;
    if (this.#next === undefined && (count > capacity || nowMs - startedAtMs > maxAgeMs)) {
      // Room for as many again: we ask because we expect to learn more.
      const next = this.#createFilled(Math.max(MIN_CAPACITY, gossipIDs.size * 2), nowMs);
      this.#next = { ...next, missing: gossipIDs.values() };
    }
    this.#fillNext();
    this.#encoded ??= { filter: this.#shown.filter.encode(), salt: this.#shown.salt };
    return this.#encoded;
  }

  #fillNext(): void {
    const next = this.#next;
    if (next === undefined) return;
    for (let step = 0; step < ADDRESSES_PER_STEP; step += 1) {
      const { value, done } = next.missing.next();
      if (done === true) {
        this.#shown = next;
        this.#next = undefined;
        this.#encoded = undefined;
        return;
      }
      add(next, value);
    }
  }

  #createFilled(capacity: number, startedAtMs: number): Filled {
    const salt = this.#randomBytes(MAX_SALT_LENGTH);
    const filter = BloomFilter.create(capacity, FALSE_POSITIVE_PROBABILITY, (length) => this.#randomBytes(length));
    return { filter, salt, capacity, startedAtMs, count: 0 };
  }

  #randomBytes(length: number): Uint8Array {
    return Uint8Array.from({ length }, () => Math.floor(this.#random() * 256));
  }
}

function add(filled: Filled, gossipID: Uint8Array): void {
  filled.filter.add(bloomHash(gossipID, filled.salt));
  filled.count += 1;
}
