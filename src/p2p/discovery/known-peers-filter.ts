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
export function createKnownPeersFilter(random: Random) {
  let current = createFilter(MIN_CAPACITY, Number.NEGATIVE_INFINITY);
  let next: (FilterState & { readonly missing: Iterator<Uint8Array> }) | undefined;
  let encoded: KnownPeers | undefined;

  function createFilter(capacity: number, startedAtMs: number): FilterState {
    const salt = randomBytes(MAX_SALT_LENGTH);
    const filter = BloomFilter.create(capacity, FALSE_POSITIVE_PROBABILITY, randomBytes);
    return { filter, salt, capacity, startedAtMs, count: 0 };
  }

  function randomBytes(length: number): Uint8Array {
    return Uint8Array.from({ length }, () => Math.floor(random() * 256));
  }

  function fillNext(): void {
    if (next === undefined) return;
    for (let step = 0; step < ADDRESSES_PER_STEP; step += 1) {
      const { value, done } = next.missing.next();
      if (done === true) {
        current = next;
        next = undefined;
        encoded = undefined;
        return;
      }
      add(next, value);
    }
  }

  return {
    add(gossipID: Uint8Array): void {
      add(current, gossipID);
      // The iterator of the next filter may have passed this address already.
      if (next !== undefined) add(next, gossipID);
      encoded = undefined;
    },
    /**
     * @param gossipIDs all known addresses, for the next filter
     * @param maxAgeMs maximum time that a false positive hides an address
     */
    encode(gossipIDs: ReadonlyMap<unknown, Uint8Array>, nowMs: number, maxAgeMs: number): KnownPeers {
      const { count, capacity, startedAtMs } = current;
      if (next === undefined && (count > capacity || nowMs - startedAtMs > maxAgeMs)) {
        // Half empty: new addresses are expected.
        const filter = createFilter(Math.max(MIN_CAPACITY, gossipIDs.size * 2), nowMs);
        next = { ...filter, missing: gossipIDs.values() };
      }
      fillNext();
      encoded ??= { filter: current.filter.encode(), salt: current.salt };
      return encoded;
    },
  };
}

function add(state: FilterState, gossipID: Uint8Array): void {
  state.filter.add(bloomHash(gossipID, state.salt));
  state.count += 1;
}
