import { concatBytes, copyBytes } from '../../lib/encoding/bytes.ts';
import { ParseError } from '../../lib/encoding/parse-error.ts';

/** avalanchego `utils/constants`, DefaultMaxMessageSize: no node sends or takes a longer one. */
export const MAX_FRAME_LENGTH = 2 * 1024 * 1024;
const HEADER_LENGTH = 4;
/** What a decoder reserves for a frame that comes in pieces: few frames of a quiet peer are longer. */
const INITIAL_CAPACITY = 256;

/** `u32` length, then the payload: one encoded `p2p.Message`. @throws {RangeError} above {@link MAX_FRAME_LENGTH} */
export function encodeFrame(payload: Uint8Array): Uint8Array {
  return encodeFrameStart(payload, 0);
}

/** A frame without the last `restLength` bytes of its payload, which are sent after it. */
export function encodeFrameStart(payloadStart: Uint8Array, restLength: number): Uint8Array {
  const length = payloadStart.length + restLength;
  if (length > MAX_FRAME_LENGTH) {
    throw new RangeError(`a frame of ${length} bytes is above the limit of ${MAX_FRAME_LENGTH}`);
  }
  const frame = new Uint8Array(HEADER_LENGTH + payloadStart.length);
  new DataView(frame.buffer).setUint32(0, length);
  frame.set(payloadStart, HEADER_LENGTH);
  return frame;
}

const NOTHING = new Uint8Array(0);

/**
 * Cuts a byte stream into payloads, however it is split. It holds at most one unfinished frame, and what was added and not asked for yet;
 * its memory grows with the bytes that really came, never with the length that a peer announced.
 */
export class FrameDecoder {
  #pending: Uint8Array = NOTHING;
  #pendingLength = 0;
  /** What came and is not cut yet. */
  #rest: Uint8Array = NOTHING;

  /**
   * The payloads that `chunk` completes, in order. They are copies: a chunk may be a view into a large receive buffer.
   *
   * @throws {ParseError} on a length above {@link MAX_FRAME_LENGTH}; the stream cannot be read on from there
   */
  push(chunk: Uint8Array): Uint8Array[] {
    this.add(chunk);
    const payloads: Uint8Array[] = [];
    for (;;) {
      const payload = this.next();
      if (payload === undefined) return payloads;
      payloads.push(payload);
    }
  }

  /** Takes bytes that {@link next} cuts. They are the caller's to keep unchanged until all are cut, or {@link keep} is called. */
  add(chunk: Uint8Array): void {
    this.#rest = this.#rest.length === 0 ? chunk : concatBytes(this.#rest, chunk);
  }

  /** What is not cut yet has a copy from now on. */
  keep(): void {
    if (this.#rest.length > 0) this.#rest = copyBytes(this.#rest);
  }

  /**
   * The next payload, as a copy; undefined where no further one is complete. Cut one by one, as thousands of tiny frames take fifty times
   * their bytes.
   *
   * @throws {ParseError} on a length above {@link MAX_FRAME_LENGTH}; the stream cannot be read on from there
   */
  next(): Uint8Array | undefined {
    while (this.#rest.length > 0) {
      if (this.#pendingLength === 0) {
        // Most chunks start with a whole frame, which needs no second buffer.
        const length = frameLength(this.#rest);
        if (length !== undefined && this.#rest.length >= length) {
          const payload = copyBytes(this.#rest.subarray(HEADER_LENGTH, length));
          this.#drop(length);
          return payload;
        }
      }
      const taken = Math.min(this.#rest.length, this.#pendingTarget() - this.#pendingLength);
      this.#append(this.#rest.subarray(0, taken));
      this.#drop(taken);
      const length = frameLength(this.#pending.subarray(0, this.#pendingLength));
      if (length === this.#pendingLength) {
        const payload = this.#pending.slice(HEADER_LENGTH, length);
        this.#pending = NOTHING;
        this.#pendingLength = 0;
        return payload;
      }
    }
    return undefined;
  }

  /** Forgets what is not cut yet. */
  clear(): void {
    this.#rest = NOTHING;
  }

  /** Steps over so many bytes of what is not cut yet. */
  #drop(length: number): void {
    this.#rest = length === this.#rest.length ? NOTHING : this.#rest.subarray(length);
  }

  /** The length of the unfinished frame; while its header is not complete, that of the header. */
  #pendingTarget(): number {
    return frameLength(this.#pending.subarray(0, this.#pendingLength)) ?? HEADER_LENGTH;
  }

  #append(bytes: Uint8Array): void {
    const needed = this.#pendingLength + bytes.length;
    if (needed > this.#pending.length) {
      const capacity = Math.min(
        Math.max(needed, this.#pending.length * 2, INITIAL_CAPACITY),
        HEADER_LENGTH + MAX_FRAME_LENGTH,
      );
      const grown = new Uint8Array(capacity);
      grown.set(this.#pending.subarray(0, this.#pendingLength));
      this.#pending = grown;
    }
    this.#pending.set(bytes, this.#pendingLength);
    this.#pendingLength = needed;
  }
}

/** Header and payload together, or undefined while the header is incomplete. */
function frameLength(bytes: Uint8Array): number | undefined {
  if (bytes.length < HEADER_LENGTH) return undefined;
  const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0);
  if (length > MAX_FRAME_LENGTH) {
    throw new ParseError('frame', `announces ${length} bytes, at most ${MAX_FRAME_LENGTH} are allowed`);
  }
  return HEADER_LENGTH + length;
}
