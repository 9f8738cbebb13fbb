import type { Random } from '../primitives/clock.ts';
import { BloomFilter, bloomHash, MAX_SALT_LENGTH } from './bloom-filter.ts';
import type { KnownPeers } from './handshake.ts';

/** avalanchego `network/ip_tracker.go`: small enough that few addresses are held back, in under two bytes an address. */
const FALSE_POSITIVE_PROBABILITY = 0.001;
const MIN_CAPACITY = 128;

/**
 * The addresses we know, as we show them to peers so that they send us others. New addresses are added in place. When it is
 * full or old it starts again with other seeds, without the addresses that were replaced meanwhile.
 */
export class KnownPeersFilter {
  readonly #random: Random;
  #filter: BloomFilter;
  #salt: Uint8Array;
  #capacity = MIN_CAPACITY;
  #count = 0;
  #startedAtMs = Number.NEGATIVE_INFINITY;
  #encoded: KnownPeers | undefined;

  constructor(random: Random) {
    this.#random = random;
    this.#salt = this.#randomBytes(MAX_SALT_LENGTH);
    this.#filter = this.#createFilter();
  }

  add(gossipID: Uint8Array): void {
    this.#filter.add(bloomHash(gossipID, this.#salt));
    this.#count += 1;
    this.#encoded = undefined;
  }

  /**
   * @param gossipIDs all that are known now, for a filter that has to start again
   * @param maxAgeMs how long an address may stay hidden that one filter hides by bad luck
   */
  encode(
    gossipIDs: { readonly size: number; values(): Iterable<Uint8Array> },
    nowMs: number,
    maxAgeMs: number,
  ): KnownPeers {
    if (this.#count > this.#capacity || nowMs - this.#startedAtMs > maxAgeMs) this.#restart(gossipIDs, nowMs);
    this.#encoded ??= { filter: this.#filter.encode(), salt: this.#salt };
    return this.#encoded;
  }

  #restart(gossipIDs: { readonly size: number; values(): Iterable<Uint8Array> }, nowMs: number): void {
    // Room for as many again: we ask because we expect to learn more.
    this.#capacity = Math.max(MIN_CAPACITY, gossipIDs.size * 2);
    this.#salt = this.#randomBytes(MAX_SALT_LENGTH);
    this.#filter = this.#createFilter();
    this.#count = 0;
    this.#startedAtMs = nowMs;
    for (const gossipID of gossipIDs.values()) this.add(gossipID);
  }

  #createFilter(): BloomFilter {
    return BloomFilter.create(this.#capacity, FALSE_POSITIVE_PROBABILITY, (length) => this.#randomBytes(length));
  }

  #randomBytes(length: number): Uint8Array {
    return Uint8Array.from({ length }, () => Math.floor(this.#random() * 256));
  }
}
