import { bytesToHex, concatBytes } from '@noble/hashes/utils.js';
import { ParseError } from './parse-error.ts';

export { bytesToHex, concatBytes };

/**
 * Bytes of a hex string with an optional `0x` prefix, as the API accepts it.
 *
 * @param what name of the field, for the error
 * @throws {ParseError} on an odd number of digits or on a character that is no hex digit
 */
export function parseHex(text: string, what: string): Uint8Array {
  const digits = text.startsWith('0x') ? text.slice(2) : text;
  const bytes = new Uint8Array(digits.length >>> 1);
  // Node's decoder is many times as fast as a loop of ours, stops at the first character that is no hex digit, and takes others
  // than ASCII for what their low byte says.
  const isHex = Buffer.byteLength(digits) === digits.length && isHexDigits(digits, bytes);
  if (!isHex) throw new ParseError(what, 'must be hex digits, with an optional 0x prefix');
  if (digits.length % 2 !== 0)
    throw new ParseError(what, `must have an even number of hex digits, has ${digits.length}`);
  return bytes;
}

/** Decodes all pairs of digits into `bytes`. */
function isHexDigits(digits: string, bytes: Uint8Array): boolean {
  if (Buffer.from(bytes.buffer).write(digits, 'hex') !== bytes.length) return false;
  return digits.length % 2 === 0 || /[0-9a-fA-F]$/.test(digits);
}

/**
 * The same bytes in memory of their own. `slice` does not do: that of a `Buffer` is a view, and what is read off a socket is
 * a Buffer, so a kept field would keep the whole chunk alive and change with it.
 */
export function copyBytes(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes);
}

/**
 * The first characters of a text, in memory of their own. V8 makes a long part of a text a view of the whole of it: of a stranger's text of
 * a quarter of a megabyte, the 200 characters that are kept for an hour would keep all of it alive.
 */
export function copyStart(text: string, maxLength: number): string {
  return text.length <= maxLength ? text : Buffer.from(text.slice(0, maxLength), 'utf16le').toString('utf16le');
}

/** Lexicographic order, as Go's `bytes.Compare`: negative, zero or positive. */
export function compareBytes(a: Uint8Array, b: Uint8Array): number {
  return Buffer.compare(a, b);
}

/** Equality of content. Not constant in time: never use it on secrets. */
export function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && Buffer.compare(a, b) === 0;
}
