import { ParseError } from '../../lib/encoding/parse-error.ts';

/** Nodes neither send nor accept a longer message (avalanchego `utils/constants`, DefaultMaxMessageSize). */
export const MAX_FRAME_LENGTH = 2 * 1024 * 1024;
const HEADER_LENGTH = 4;
const NOTHING = new Uint8Array(0);

/**
 * Encodes a `u32` length and the payload, one `p2p.Message`.
 *
 * @param restLength bytes of the payload that are sent after these
 * @throws {RangeError} above {@link MAX_FRAME_LENGTH}
 */
export function encodeFrame(payload: Uint8Array, restLength = 0): Uint8Array {
  const length = payload.length + restLength;
  if (length > MAX_FRAME_LENGTH) {
    throw new RangeError(`a frame of ${length} bytes is above the limit of ${MAX_FRAME_LENGTH}`);
  }
  const frame = new Uint8Array(HEADER_LENGTH + payload.length);
  new DataView(frame.buffer).setUint32(0, length);
  frame.set(payload, HEADER_LENGTH);
  return frame;
}

/** Splits a byte stream into payloads. Memory follows the bytes received, never the length that a peer announced. */
export class FrameDecoder {
  #buffer: Uint8Array = NOTHING;
  #start = 0;
  #end = 0;

  /**
   * Adds a copy of the chunk and returns the payloads that are complete.
   *
   * @throws {ParseError} for a length above {@link MAX_FRAME_LENGTH}; the stream cannot be read further
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

  /** Adds a copy of the chunk, for {@link next}. */
  add(chunk: Uint8Array): void {
    if (this.#end + chunk.length > this.#buffer.length) this.#grow(chunk.length);
    this.#buffer.set(chunk, this.#end);
    this.#end += chunk.length;
  }

  /**
   * Returns a copy of the next payload, or undefined if it is incomplete. One at a time, because the payloads of thousands of empty
   * frames take fifty times their bytes.
   *
   * @throws {ParseError} for a length above {@link MAX_FRAME_LENGTH}; the stream cannot be read further
   */
  next(): Uint8Array | undefined {
    const available = this.#end - this.#start;
    if (available < HEADER_LENGTH) return undefined;
    const length = new DataView(this.#buffer.buffer).getUint32(this.#start);
    if (length > MAX_FRAME_LENGTH) {
      throw new ParseError('frame', `announces ${length} bytes, at most ${MAX_FRAME_LENGTH} are allowed`);
    }
    if (available < HEADER_LENGTH + length) return undefined;
    const payloadStart = this.#start + HEADER_LENGTH;
    const payload = this.#buffer.slice(payloadStart, payloadStart + length);
    this.#start = payloadStart + length;
    if (this.#start === this.#end) this.clear();
    return payload;
  }

  clear(): void {
    this.#buffer = NOTHING;
    this.#start = 0;
    this.#end = 0;
  }

  /** Doubles the buffer if it is more than half full, so that small chunks of a long frame are not copied again each time. */
  #grow(added: number): void {
    const waiting = this.#buffer.subarray(this.#start, this.#end);
    const capacity = Math.max(waiting.length + added, Math.min(2 * waiting.length, HEADER_LENGTH + MAX_FRAME_LENGTH));
    this.#buffer = new Uint8Array(capacity);
    this.#buffer.set(waiting);
    this.#start = 0;
    this.#end = waiting.length;
  }
}
