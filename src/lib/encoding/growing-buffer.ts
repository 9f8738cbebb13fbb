const NO_BYTES = Buffer.alloc(0);

/** Copies the chunks of a stream into one buffer that doubles. Node's own object for each chunk, however small, takes some 250 bytes. */
export class GrowingBuffer {
  #bytes: Buffer;
  #length = 0;

  /** @param capacity bytes to allocate at once, if the length is known */
  constructor(capacity = 0) {
    this.#bytes = capacity === 0 ? NO_BYTES : Buffer.allocUnsafe(capacity);
  }

  get length(): number {
    return this.#length;
  }

  get capacity(): number {
    return this.#bytes.length;
  }

  /** Returns the capacity after a chunk of this length. @param maxBytes bound of the whole stream */
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

  /** Returns all bytes so far; the next chunk starts a new buffer. */
  take(): Buffer {
    const bytes = this.#bytes.subarray(0, this.#length);
    this.#bytes = NO_BYTES;
    this.#length = 0;
    return bytes;
  }
}
