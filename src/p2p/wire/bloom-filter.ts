import { hash } from 'node:crypto';
import { ByteReader } from '../../lib/encoding/byte-reader.ts';
import { ByteWriter } from '../../lib/encoding/byte-writer.ts';
import { concatBytes } from '../../lib/encoding/bytes.ts';
import { ParseError } from '../../lib/encoding/parse-error.ts';
import { type NodeID, nodeIDBytes } from '../../warp/ids.ts';

/** avalanchego `utils/bloom`. */
const MAX_HASHES = 16;
/** Nodes disconnect a sender of a longer salt (avalanchego `network/peer/peer.go`). */
export const MAX_SALT_LENGTH = 32;
const U64_MASK = 0xffff_ffff_ffff_ffffn;
const WHAT = 'bloom filter';

/**
 * Bloom filter of the reference node (avalanchego `utils/bloom`): `u8` number of seeds · `u64` seeds · bits. For each seed the running
 * hash is rotated left by 17 and xored with it; the result modulo the number of bits is the bit.
 */
export class BloomFilter {
  readonly #seeds: readonly bigint[];
  readonly #bits: Uint8Array;

  private constructor(seeds: readonly bigint[], bits: Uint8Array) {
    this.#seeds = seeds;
    this.#bits = bits;
  }

  /**
   * Creates an empty filter for `count` elements.
   *
   * @param randomBytes seeds; with constant seeds, peers would never send an address that is a false positive
   */
  static create(
    count: number,
    falsePositiveProbability: number,
    randomBytes: (length: number) => Uint8Array,
  ): BloomFilter {
    const bitCount = Math.ceil((-count * Math.log(falsePositiveProbability)) / Math.LN2 ** 2);
    const byteCount = Math.max(1, Math.ceil(bitCount / 8));
    const hashCount = Math.min(MAX_HASHES, Math.max(1, Math.ceil((byteCount * 8 * Math.LN2) / Math.max(1, count))));
    const seeds = new ByteReader(randomBytes(hashCount * 8), WHAT);
    return new BloomFilter(
      Array.from({ length: hashCount }, () => seeds.u64('seed')),
      new Uint8Array(byteCount),
    );
  }

  /** @throws {ParseError} */
  static parse(bytes: Uint8Array): BloomFilter {
    const reader = new ByteReader(bytes, WHAT);
    const hashCount = reader.u8('number of seeds');
    if (hashCount < 1 || hashCount > MAX_HASHES) {
      throw new ParseError(WHAT, `has ${hashCount} seeds, 1 to ${MAX_HASHES} are allowed`);
    }
    const seeds = Array.from({ length: hashCount }, () => reader.u64('seed'));
    if (reader.remaining === 0) throw new ParseError(WHAT, 'has no bits');
    return new BloomFilter(seeds, reader.bytes(reader.remaining, 'bits'));
  }

  encode(): Uint8Array {
    const writer = new ByteWriter().u8(this.#seeds.length);
    for (const seed of this.#seeds) writer.u64(seed);
    return writer.bytes(this.#bits).finish();
  }

  /** @param hashed {@link bloomHash} of the element */
  add(hashed: bigint): void {
    for (const bit of this.#bitsOf(hashed)) this.#bits[bit >>> 3] = (this.#bits[bit >>> 3] ?? 0) | (1 << (bit & 7));
  }

  has(hashed: bigint): boolean {
    for (const bit of this.#bitsOf(hashed)) {
      if (((this.#bits[bit >>> 3] ?? 0) & (1 << (bit & 7))) === 0) return false;
    }
    return true;
  }

  *#bitsOf(hashed: bigint): Generator<number> {
    const bitCount = BigInt(this.#bits.length) * 8n;
    let running = hashed;
    for (const seed of this.#seeds) {
      running = (((running << 17n) | (running >> 47n)) & U64_MASK) ^ seed;
      yield Number(running % bitCount);
    }
  }
}

/** Returns the first 8 bytes of sha256(key · salt). */
export function bloomHash(key: Uint8Array, salt: Uint8Array): bigint {
  return hash('sha256', concatBytes(key, salt), 'buffer').readBigUInt64BE();
}

/** Returns sha256(NodeID · `u64` timestamp · 12 zero bytes), the filter's element for an address (avalanchego `utils/ips`). */
export function addressGossipID(nodeID: NodeID, timestamp: bigint): Uint8Array {
  const preimage = new ByteWriter().bytes(nodeIDBytes(nodeID)).u64(timestamp).bytes(new Uint8Array(12)).finish();
  return hash('sha256', preimage, 'buffer');
}
