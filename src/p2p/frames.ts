import { ParseError } from '../primitives/parse-error.ts';

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

/**
 * Cuts a byte stream into payloads, however it is split. It holds at most one unfinished frame, and its memory grows with
 * the bytes that really came, never with the length that a peer announced.
 */
export class FrameDecoder {
  #pending = new Uint8Array(0);
  #pendingLength = 0;

  /**
   * The payloads that `chunk` completes, in order. They are copies: a chunk may be a view into a large receive buffer.
   *
   * @throws {ParseError} on a length above {@link MAX_FRAME_LENGTH}; the stream cannot be read on from there
   */
  push(chunk: Uint8Array): Uint8Array[] {
    const payloads: Uint8Array[] = [];
    let rest = chunk;
    while (rest.length > 0) {
      if (this.#pendingLength === 0) {
        // Most chunks start with a whole frame, which needs no second buffer.
        const length = frameLength(rest);
        if (length !== undefined && rest.length >= length) {
          // Not slice(), which is a view where the chunk is a Buffer.
          payloads.push(new Uint8Array(rest.subarray(HEADER_LENGTH, length)));
          rest = rest.subarray(length);
          continue;
        }
      }
      const pendingTarget = this.#pendingTarget();
      const taken = Math.min(rest.length, pendingTarget - this.#pendingLength);
      this.#append(rest.subarray(0, taken));
      rest = rest.subarray(taken);
      const length = frameLength(this.#pending.subarray(0, this.#pendingLength));
      if (length === this.#pendingLength) {
        payloads.push(this.#pending.slice(HEADER_LENGTH, length));
        this.#pending = new Uint8Array(0);
        this.#pendingLength = 0;
      }
    }
    return payloads;
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
