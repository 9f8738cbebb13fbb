import { LRUCache } from 'lru-cache';
import type { BlsBackend, PublicKey } from './bls-backend.ts';

/**
 * Decoded public keys: decompressing one costs a square root (about 1 ms with noble), and the same validators sign again
 * and again, across heights and subnets.
 *
 * Bound: the network plans for about 11,000 validators; a point takes some 500 bytes, so 10 MB at the most.
 */
const MAX_KEYS = 20_000;

export class PublicKeyCache {
  readonly #keys = new LRUCache<string, PublicKey>({ max: MAX_KEYS });
  readonly #backend: BlsBackend;

  constructor(backend: BlsBackend) {
    this.#backend = backend;
  }

  /**
   * @param hex the same 48 bytes as hex
   * @throws {ParseError} where they are not a point of G1
   */
  get(hex: string, bytes: Uint8Array): PublicKey {
    const known = this.#keys.get(hex);
    if (known !== undefined) return known;
    const key = this.#backend.parsePublicKey(bytes);
    this.#keys.set(hex, key);
    return key;
  }
}
