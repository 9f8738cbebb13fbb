import { hash } from 'node:crypto';
import { base58 } from '@scure/base';
import { concatBytes, equalBytes } from './bytes.ts';
import { ParseError } from './parse-error.ts';

const CHECKSUM_LENGTH = 4;
/** Bound of the text, because base58 takes quadratic time. IDs have at most 32 bytes, which are 50 characters. */
const MAX_TEXT_LENGTH = 64;

/** Encodes an ID as base58(bytes · last 4 bytes of sha256(bytes)). */
export function encodeCb58(bytes: Uint8Array): string {
  return base58.encode(concatBytes(bytes, checksum(bytes)));
}

/** @throws {ParseError} on a character outside base58, a wrong checksum, or text longer than any ID */
export function parseCb58(text: string, what: string): Uint8Array {
  if (text.length > MAX_TEXT_LENGTH)
    throw new ParseError(what, `cb58 text has more than ${MAX_TEXT_LENGTH} characters`);
  let decoded: Uint8Array;
  try {
    decoded = base58.decode(text);
  } catch (cause) {
    throw new ParseError(what, 'is not cb58 (a character outside the base58 alphabet)', { cause });
  }
  if (decoded.length < CHECKSUM_LENGTH) throw new ParseError(what, 'is too short for cb58');
  const bytes = decoded.slice(0, -CHECKSUM_LENGTH);
  if (!equalBytes(decoded.subarray(-CHECKSUM_LENGTH), checksum(bytes))) {
    throw new ParseError(what, 'has a wrong cb58 checksum');
  }
  return bytes;
}

function checksum(bytes: Uint8Array): Uint8Array {
  return hash('sha256', bytes, 'buffer').subarray(-CHECKSUM_LENGTH);
}
