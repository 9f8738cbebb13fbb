import { ParseError } from '../primitives/parse-error.ts';
import type { BlsBackend, PublicKey } from './bls-backend.ts';

/**
 * Public keys in memory that all threads share: written once as the 48 bytes that the P-Chain has, decoded in place by the
 * thread that needs one first. Validator sets of consecutive heights mostly share their keys, and so do subnets.
 */
const COMPRESSED_BYTES = 48;
/** The network plans for about 11,000 validators; 20,000 slots of some 220 bytes are 4.5 MB. */
const FULL_AT_KEYS = 20_000;
/** Requests that began with a table end with it, so a full one still takes their keys. Address space, not memory. */
const MAX_KEYS = 5 * FULL_AT_KEYS;
const FIRST_KEYS = 512;

/** The first word of a slot; 0 where nobody has needed the key yet. */
const DECODED = 1;
const MALFORMED = 2;
const STATE_BYTES = 4;

/** In the main thread: gives every key its slot. */
export class PublicKeyTable {
  readonly memory: SharedArrayBuffer;
  readonly #slots = new Map<string, number>();
  readonly #slotBytes: number;
  readonly #bytes: Uint8Array;

  constructor(packedBytes: number) {
    this.#slotBytes = slotBytes(packedBytes);
    this.memory = new SharedArrayBuffer(FIRST_KEYS * this.#slotBytes, { maxByteLength: MAX_KEYS * this.#slotBytes });
    this.#bytes = new Uint8Array(this.memory);
  }

  /** When it is full, a new one takes its place; who still uses this one keeps it. */
  get isFull(): boolean {
    return this.#slots.size >= FULL_AT_KEYS;
  }

  /** @param hex the same 48 bytes as hex */
  slotOf(hex: string, bytes: Uint8Array): number {
    const known = this.#slots.get(hex);
    if (known !== undefined) return known;
    if (bytes.length !== COMPRESSED_BYTES) throw new RangeError(`a public key of ${bytes.length} bytes`);
    const slot = this.#slots.size;
    const end = (slot + 1) * this.#slotBytes;
    if (end > this.memory.byteLength) this.memory.grow(Math.min(2 * this.memory.byteLength, this.memory.maxByteLength));
    this.#bytes.set(bytes, slot * this.#slotBytes + STATE_BYTES);
    this.#slots.set(hex, slot);
    return slot;
  }
}

/** In any thread: the keys of slots. They throw a {@link ParseError} where the key is not a point of G1. */
export function openPublicKeys(backend: BlsBackend, memory: SharedArrayBuffer): (slot: number) => PublicKey {
  const size = slotBytes(backend.packedPublicKeyBytes);
  const states = new Int32Array(memory);
  const bytes = new Uint8Array(memory);
  return (slot) => {
    const state = (slot * size) / STATE_BYTES;
    const compressedAt = slot * size + STATE_BYTES;
    const packedAt = compressedAt + COMPRESSED_BYTES;
    switch (Atomics.load(states, state)) {
      case DECODED:
        return backend.unpackPublicKey(bytes.slice(packedAt, packedAt + backend.packedPublicKeyBytes));
      case MALFORMED:
        throw new ParseError('public key', 'is not a compressed point on the curve');
      default:
        // Two threads may do so at the same time, and write the same.
        try {
          const key = backend.parsePublicKey(bytes.slice(compressedAt, packedAt));
          bytes.set(backend.packPublicKey(key), packedAt);
          Atomics.store(states, state, DECODED);
          return key;
        } catch (error) {
          if (error instanceof ParseError) Atomics.store(states, state, MALFORMED);
          throw error;
        }
    }
  };
}

function slotBytes(packedBytes: number): number {
  return Math.ceil((STATE_BYTES + COMPRESSED_BYTES + packedBytes) / STATE_BYTES) * STATE_BYTES;
}
