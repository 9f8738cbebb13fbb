import { ParseError } from '../../lib/encoding/parse-error.ts';

/** Features of Node 24 that TypeScript's library does not declare yet. */
type SourceReviver = (key: string, value: unknown, context: { readonly source?: string }) => unknown;
const { rawJSON } = JSON as unknown as { readonly rawJSON: (this: void, text: string) => unknown };

const INTEGER = /^-?\d+$/;
/** Digits of 2^256, the widest field. Parsing a bigint is quadratic in its digits. */
const MAX_DIGITS = 78;
/** Matches integers that a double may not hold exactly (2^53 has 16 digits), and such text in strings. */
const LONG_INTEGER = /(?:^|[[:,\s])-?\d{16}/;

/**
 * Parses JSON. Integers beyond ±(2^53 − 1) become bigints, other numbers stay numbers. Slower than `JSON.parse` only with such integers.
 *
 * @throws {ParseError} for malformed JSON, for an integer above 78 digits, and for deep nesting together with long integers
 */
export function parseExactJson(text: string, what: string): unknown {
  const revive: SourceReviver = (_key, value, { source }) => {
    if (typeof value !== 'number' || Number.isSafeInteger(value) || source === undefined || !INTEGER.test(source)) {
      return value;
    }
    if (source.length <= MAX_DIGITS) return BigInt(source);
    throw new ParseError(what, `has an integer of ${source.length} digits, at most ${MAX_DIGITS} are allowed`);
  };
  try {
    return LONG_INTEGER.test(text)
      ? JSON.parse(text, revive as (key: string, value: unknown) => unknown)
      : JSON.parse(text);
  } catch (cause) {
    if (cause instanceof ParseError) throw cause;
    // A SyntaxError, or a RangeError from too deep nesting.
    throw new ParseError(what, 'is not JSON', { cause });
  }
}

/** Encodes JSON with bigints as integers. */
export function encodeExactJson(value: unknown): string {
  return JSON.stringify(value, (_key, field: unknown) =>
    typeof field === 'bigint' ? rawJSON(field.toString()) : field,
  );
}
