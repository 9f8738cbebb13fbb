import { parseHex } from '../../lib/encoding/bytes.ts';
import { isObject } from '../../lib/encoding/is-object.ts';
import { ParseError } from '../../lib/encoding/parse-error.ts';
import { BLS_PUBLIC_KEY_LENGTH } from '../../warp/bls-lengths.ts';
import { type Id32, parseId } from '../../warp/ids.ts';

/** Object in untrusted JSON. The readers below accept values of `parseExactJson` and throw only {@link ParseError}, which names `what`. */
export type JsonObject = Readonly<Record<string, unknown>>;

const DECIMAL = /^\d{1,20}$/;
const U64_MAX = 0xffff_ffff_ffff_ffffn;

export function readObject(value: unknown, what: string): JsonObject {
  if (!isObject(value)) throw mustBe(what, 'an object', value);
  return value;
}

export function readArray(value: unknown, what: string): readonly unknown[] {
  if (!Array.isArray(value)) throw mustBe(what, 'an array', value);
  return value;
}

export function readString(value: unknown, what: string): string {
  if (typeof value !== 'string') throw mustBe(what, 'a string', value);
  return value;
}

/** Reads an ID in CB58. */
export function readId<Id extends Id32>(value: unknown, what: string): Id {
  return parseId<Id>(readString(value, what), what);
}

/** Reads a number or a decimal string, like the reference node (`utils/json/uint64.go`). */
export function readU64(value: unknown, what: string): bigint {
  const integer = asInteger(value);
  if (integer === undefined || integer < 0n || integer > U64_MAX) {
    throw mustBe(what, 'an unsigned 64-bit integer, as a number or a decimal string', value);
  }
  return integer;
}

export function readU32(value: unknown, what: string): number {
  const integer = asInteger(value);
  if (integer === undefined || integer < 0n || integer > 0xffff_ffffn) {
    throw mustBe(what, 'an unsigned 32-bit integer, as a number or a decimal string', value);
  }
  return Number(integer);
}

/** Reads hex with `0x`. */
export function readHex(value: unknown, what: string): Uint8Array {
  const text = readString(value, what);
  if (!text.startsWith('0x')) throw new ParseError(what, 'must start with 0x');
  return parseHex(text, what);
}

/** Reads a compressed BLS public key in hex with `0x`. */
export function readPublicKey(value: unknown): Uint8Array {
  const publicKey = readHex(value, 'publicKey');
  if (publicKey.length !== BLS_PUBLIC_KEY_LENGTH) {
    throw new ParseError('publicKey', `must have ${BLS_PUBLIC_KEY_LENGTH} bytes, has ${publicKey.length}`);
  }
  return publicKey;
}

function asInteger(value: unknown): bigint | undefined {
  if (typeof value === 'bigint') return value;
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : undefined;
  if (typeof value === 'string') return DECIMAL.test(value) ? BigInt(value) : undefined;
  return undefined;
}

function mustBe(what: string, expected: string, value: unknown): ParseError {
  const actual = value === null ? 'null' : Array.isArray(value) ? 'an array' : `a value of type ${typeof value}`;
  return new ParseError(what, `must be ${expected}, is ${value === undefined ? 'missing' : actual}`);
}
