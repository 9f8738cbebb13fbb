import { bytesToHex, concatBytes } from '@noble/hashes/utils.js';
import { ParseError } from './parse-error.ts';

export { bytesToHex, concatBytes };

export function prefixedHex(bytes: Uint8Array): string {
  return `0x${bytesToHex(bytes)}`;
}

/**
 * Parses a hex string with an optional `0x` prefix.
 *
 * @param what name of the field, for the error
 * @throws {ParseError} on an odd number of digits or on a character that is no hex digit
 */
export function parseHex(text: string, what: string): Uint8Array {
  const digits = text.startsWith('0x') ? text.slice(2) : text;
  const bytes = new Uint8Array(digits.length >>> 1);
  // Node's decoder stops at the first character that is no hex digit, but reads the low byte of non-ASCII ones.
  const isHex = Buffer.byteLength(digits) === digits.length && isHexDigits(digits, bytes);
  if (!isHex) throw new ParseError(what, 'must be hex digits, with an optional 0x prefix');
  if (digits.length % 2 !== 0)
    throw new ParseError(what, `must have an even number of hex digits, has ${digits.length}`);
  return bytes;
}

/** Decodes all pairs of digits into `bytes`, and returns whether all characters are hex digits. */
function isHexDigits(digits: string, bytes: Uint8Array): boolean {
  if (Buffer.from(bytes.buffer).write(digits, 'hex') !== bytes.length) return false;
  return digits.length % 2 === 0 || /[0-9a-fA-F]$/.test(digits);
}

/** Copies bytes. `slice` of a `Buffer` returns a view, which would keep a whole chunk of a socket alive. */
export function copyBytes(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes);
}

/** Copies the first characters of a text. V8's substrings are views, so 200 kept characters of an untrusted text would keep all of it alive. */
export function copyStart(text: string, maxLength: number): string {
  return text.length <= maxLength ? text : Buffer.from(text.slice(0, maxLength), 'utf16le').toString('utf16le');
}

export function compareBytes(a: Uint8Array, b: Uint8Array): number {
  return Buffer.compare(a, b);
}

/** Compares contents. Not constant in time: never use it on secrets. */
export function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && Buffer.compare(a, b) === 0;
}
