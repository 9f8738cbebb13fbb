import { ParseError } from '../../lib/encoding/parse-error.ts';
import { parseJson } from '../../lib/encoding/parse-json.ts';

/** Features of Node 24 that TypeScript's library does not declare yet. */
type SourceReviver = (key: string, value: unknown, context: { readonly source?: string }) => unknown;
const { rawJSON } = JSON as unknown as { readonly rawJSON: (this: void, text: string) => unknown };

const INTEGER = /^-?\d+$/;
/** Digits of 2^256, the widest field. Parsing a bigint is quadratic in its digits. */
const MAX_DIGITS = 78;
/** Matches integers that a double may not hold exactly (2^53 has 16 digits), and such text in strings. */
const LONG_INTEGER = /(?:^|[[:,\s])-?\d{16}/;

/**
 * Parses JSON of another party. Integers beyond ±(2^53 − 1) become bigints, other numbers stay numbers. Only with such integers is it much
 * slower than `JSON.parse`.
 *
 * @throws {ParseError} as `parseJson`, and for an integer above 78 digits
 */
export function parseExactJson(text: string, what: string): unknown {
  const revive: SourceReviver = (_key, value, { source }) => {
    if (typeof value !== 'number' || Number.isSafeInteger(value) || source === undefined || !INTEGER.test(source)) {
      return value;
    }
    if (source.length <= MAX_DIGITS) return BigInt(source);
    throw new ParseError(what, `has an integer of ${source.length} digits, at most ${MAX_DIGITS} are allowed`);
  };
  return parseJson(text, what, (checked) =>
    LONG_INTEGER.test(checked) ? (revive as (key: string, value: unknown) => unknown) : undefined,
  );
}

/** Encodes JSON with bigints as integers. */
export function encodeExactJson(value: unknown): string {
  return JSON.stringify(value, (_key, field: unknown) =>
    typeof field === 'bigint' ? rawJSON(field.toString()) : field,
  );
}
