import { ParseError } from '../../lib/encoding/parse-error.ts';
import { BLS_PUBLIC_KEY_LENGTH } from '../../warp/bls-lengths.ts';
import type { BlsBackend, PublicKey } from './bls-backend.ts';

/** The network plans for about 11,000 validators. 20,000 slots of some 240 bytes are 5 MB. */
const FULL_AT_KEYS = 20_000;
/** Requests end with the table they began with, so a full one still takes their keys. This reserves address space, not memory. */
const MAX_KEYS = 5 * FULL_AT_KEYS;
const FIRST_KEYS = 512;

/** Values of a slot's first word, which is 0 until the key is needed. */
const DECODED = 1;
const MALFORMED = 2;
const STATE_BYTES = 4;

/**
 * Public keys in memory that all threads share. The main thread gives each key a slot and writes its 48 bytes there; the first
 * thread that needs the key decodes it in place. Validator sets of consecutive heights mostly have the same keys, and so do
 * subnets, so few keys are decoded twice.
 */
export class PublicKeyTable {
  readonly memory: SharedArrayBuffer;
  readonly #slots = new Map<string, number>();
  readonly #slotBytes: number;
  readonly #bytes: Uint8Array;
  readonly #states: Int32Array;

  constructor(packedBytes: number) {
    this.#slotBytes = slotBytes(packedBytes);
    this.memory = new SharedArrayBuffer(FIRST_KEYS * this.#slotBytes, { maxByteLength: MAX_KEYS * this.#slotBytes });
    this.#bytes = new Uint8Array(this.memory);
    this.#states = new Int32Array(this.memory);
  }

  get isFull(): boolean {
    return this.#slots.size >= FULL_AT_KEYS;
  }

  /** @param hex the same 48 bytes as hex */
  slotOf(hex: string, bytes: Uint8Array): number {
    const known = this.#slots.get(hex);
    if (known !== undefined) return known;
    if (bytes.length !== BLS_PUBLIC_KEY_LENGTH) throw new RangeError(`a public key of ${bytes.length} bytes`);
    const slot = this.#slots.size;
    const end = (slot + 1) * this.#slotBytes;
    if (end > this.memory.byteLength) this.memory.grow(Math.min(2 * this.memory.byteLength, this.memory.maxByteLength));
    this.#bytes.set(bytes, slot * this.#slotBytes + STATE_BYTES);
    this.#slots.set(hex, slot);
    return slot;
  }

  isDecoded(slot: number): boolean {
    return Atomics.load(this.#states, (slot * this.#slotBytes) / STATE_BYTES) === DECODED;
  }
}

/** The table that new requests use; a new one when it is full. Requests that use a full one keep it. */
export class PublicKeyTables {
  readonly #packedBytes: number;
  #current: PublicKeyTable;

  constructor(packedBytes: number) {
    this.#packedBytes = packedBytes;
    this.#current = new PublicKeyTable(packedBytes);
  }

  open(): PublicKeyTable {
    if (this.#current.isFull) this.#current = new PublicKeyTable(this.#packedBytes);
    return this.#current;
  }

  /** The slots of these keys, and their memory, as jobs refer to them. */
  slotsOf(signers: readonly { readonly publicKey: Uint8Array; readonly publicKeyHex: string }[]) {
    const table = this.open();
    const slots = signers.map(({ publicKeyHex, publicKey }) => table.slotOf(publicKeyHex, publicKey));
    return { table, keys: table.memory, slots };
  }
}

/** Reads the keys of slots, in any thread. The function throws a {@link ParseError} if the key is not a point of G1. */
export function openPublicKeys(backend: BlsBackend, memory: SharedArrayBuffer): (slot: number) => PublicKey {
  const readPacked = openPackedKeys(backend, memory);
  return (slot) => backend.unpackPublicKey(readPacked(slot));
}

/** The same, packed. */
export function openPackedKeys(backend: BlsBackend, memory: SharedArrayBuffer): (slot: number) => Uint8Array {
  const size = slotBytes(backend.packedPublicKeyBytes);
  const states = new Int32Array(memory);
  const bytes = new Uint8Array(memory);
  return (slot) => {
    const state = (slot * size) / STATE_BYTES;
    const compressedAt = slot * size + STATE_BYTES;
    const packedAt = compressedAt + BLS_PUBLIC_KEY_LENGTH;
    switch (Atomics.load(states, state)) {
      case DECODED:
        break;
      case MALFORMED:
        throw new ParseError('public key', 'is not a compressed point on the curve');
      default:
        // Two threads may do this at the same time: they write the same bytes.
        try {
          const key = backend.parsePublicKey(bytes.slice(compressedAt, packedAt));
          bytes.set(backend.packPublicKey(key), packedAt);
          Atomics.store(states, state, DECODED);
        } catch (error) {
          if (error instanceof ParseError) Atomics.store(states, state, MALFORMED);
          throw error;
        }
    }
    return bytes.slice(packedAt, packedAt + backend.packedPublicKeyBytes);
  };
}

function slotBytes(packedBytes: number): number {
  return Math.ceil((STATE_BYTES + BLS_PUBLIC_KEY_LENGTH + packedBytes) / STATE_BYTES) * STATE_BYTES;
}
