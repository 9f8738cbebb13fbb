import { copyBytes } from './bytes.ts';
import { ParseError } from './parse-error.ts';

/**
 * Reads the big-endian codec of avalanchego from untrusted bytes. Every read is checked against the remaining length, so that no length
 * field causes an allocation or a read beyond the input; byte fields are copies.
 *
 * Every method throws {@link ParseError} and nothing else.
 */
export class ByteReader {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  readonly #what: string;
  #offset = 0;

  /** @param what name of the structure being read, for errors */
  constructor(bytes: Uint8Array, what: string) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#what = what;
  }

  get remaining(): number {
    return this.#bytes.length - this.#offset;
  }

  u8(field: string): number {
    return this.#view.getUint8(this.#take(1, field));
  }

  u16(field: string): number {
    return this.#view.getUint16(this.#take(2, field));
  }

  u32(field: string): number {
    return this.#view.getUint32(this.#take(4, field));
  }

  u64(field: string): bigint {
    return this.#view.getBigUint64(this.#take(8, field));
  }

  bytes(length: number, field: string): Uint8Array {
    const start = this.#take(length, field);
    return copyBytes(this.#bytes.subarray(start, start + length));
  }

  lengthPrefixed(maxLength: number, field: string): Uint8Array {
    const length = this.u32(`length of ${field}`);
    if (length > maxLength) throw this.error(`${field} has ${length} bytes, at most ${maxLength} are allowed`);
    return this.bytes(length, field);
  }

  /** Reads the `u16` codec version of a structure; only 0 exists. */
  codecVersion(): void {
    const version = this.u16('codec version');
    if (version !== 0) throw this.error(`unknown codec version ${version}, expected 0`);
  }

  /** Reads a `u32` that must have one value, such as a type ID. */
  expectU32(expected: number, field: string): void {
    const value = this.u32(field);
    if (value !== expected) throw this.error(`${field} is ${value}, expected ${expected}`);
  }

  end(): void {
    if (this.remaining !== 0) throw this.error(`${this.remaining} trailing bytes`);
  }

  error(reason: string): ParseError {
    return new ParseError(this.#what, reason);
  }

  #take(length: number, field: string): number {
    if (length > this.remaining) {
      throw this.error(`too short: ${field} needs ${length} bytes, ${this.remaining} are left`);
    }
    const start = this.#offset;
    this.#offset += length;
    return start;
  }
}
