import { concatBytes } from '../../lib/encoding/bytes.ts';
import { ParseError } from '../../lib/encoding/parse-error.ts';

/** X.690 tags in a staking certificate. */
export const DER_TAG = {
  integer: 0x02,
  bitString: 0x03,
  objectIdentifier: 0x06,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  /** Version of a certificate. */
  context0: 0xa0,
  /** Extensions of a certificate. */
  context3: 0xa3,
} as const;

/** Element and its content without tag and length, both views into the input. */
interface DerElement {
  readonly encoding: Uint8Array;
  readonly content: Uint8Array;
}

/** Reads the elements of one constructed value. Lengths must be definite and minimal (DER). */
export class DerReader {
  readonly #bytes: Uint8Array;
  readonly #what: string;
  #offset = 0;

  constructor(bytes: Uint8Array, what: string) {
    this.#bytes = bytes;
    this.#what = what;
  }

  /** @throws {ParseError} if the next element has another tag or exceeds the input */
  read(tag: number, field: string): DerElement {
    const start = this.#offset;
    const found = this.#bytes[start];
    if (found !== tag) throw this.#error(`${field} must start with the tag ${tag}, has ${found ?? 'nothing'}`);
    const { length, headerLength } = this.#header(start, field);
    const end = start + headerLength + length;
    if (end > this.#bytes.length) throw this.#error(`${field} has ${length} bytes, more than are left`);
    this.#offset = end;
    return { encoding: this.#bytes.subarray(start, end), content: this.#bytes.subarray(start + headerLength, end) };
  }

  skipOptional(tag: number, field: string): void {
    if (this.#bytes[this.#offset] === tag) this.read(tag, field);
  }

  end(): void {
    const left = this.#bytes.length - this.#offset;
    if (left !== 0) throw this.#error(`${left} trailing bytes`);
  }

  #header(start: number, field: string): { length: number; headerLength: number } {
    const first = this.#bytes[start + 1];
    if (first === undefined) throw this.#error(`${field} has no length`);
    if (first < 0x80) return { length: first, headerLength: 2 };
    const count = first & 0x7f;
    // Three bytes reach 16 MiB.
    if (count === 0 || count > 3) throw this.#error(`${field} has a length of ${count} bytes`);
    let length = 0;
    for (let index = 0; index < count; index += 1) {
      const byte = this.#bytes[start + 2 + index];
      if (byte === undefined) throw this.#error(`${field} has no length`);
      length = length * 256 + byte;
    }
    if (length < 0x80 || length < 256 ** (count - 1)) throw this.#error(`the length of ${field} is not minimal`);
    return { length, headerLength: 2 + count };
  }

  #error(reason: string): ParseError {
    return new ParseError(this.#what, reason);
  }
}

export function encodeDer(tag: number, ...content: readonly Uint8Array[]): Uint8Array {
  const body = concatBytes(...content);
  const { length } = body;
  if (length < 0x80) return concatBytes(Uint8Array.of(tag, length), body);
  const digits: number[] = [];
  for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) digits.unshift(rest % 256);
  return concatBytes(Uint8Array.of(tag, 0x80 | digits.length, ...digits), body);
}
