const NO_BYTES = Buffer.alloc(0);

/**
 * Copies the pieces of a stream into one buffer that doubles, so that memory is what was received, however small the pieces. Node makes
 * an object of some 250 bytes of each piece.
 */
export class GrowingBuffer {
  #bytes: Buffer;
  #length = 0;

  /** @param capacity where the end is known, and memory for it may be taken before anything has come */
  constructor(capacity = 0) {
    this.#bytes = capacity === 0 ? NO_BYTES : Buffer.allocUnsafe(capacity);
  }

  get length(): number {
    return this.#length;
  }

  get capacity(): number {
    return this.#bytes.length;
  }

  /**
   * The capacity after a piece of this length.
   *
   * @param maxBytes the most that may come in all
   */
  capacityWith(pieceLength: number, maxBytes: number): number {
    const needed = this.#length + pieceLength;
    if (needed <= this.capacity) return this.capacity;
    return Math.max(needed, Math.min(2 * this.capacity, maxBytes));
  }

  append(piece: Uint8Array, maxBytes: number = Number.POSITIVE_INFINITY): void {
    const capacity = this.capacityWith(piece.length, maxBytes);
    if (capacity > this.capacity) {
      const bytes = Buffer.allocUnsafe(capacity);
      this.#bytes.copy(bytes, 0, 0, this.#length);
      this.#bytes = bytes;
    }
    this.#bytes.set(piece, this.#length);
    this.#length += piece.length;
  }

  /** All bytes so far; the next piece begins a new buffer. */
  take(): Buffer {
    const bytes = this.#bytes.subarray(0, this.#length);
    this.#bytes = NO_BYTES;
    this.#length = 0;
    return bytes;
  }
}
