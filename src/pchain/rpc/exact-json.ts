import { ParseError } from '../../lib/encoding/parse-error.ts';

/** What `JSON.parse` and `JSON.rawJSON` of Node 24 can do and TypeScript's library does not declare yet. */
type SourceReviver = (key: string, value: unknown, context: { readonly source?: string }) => unknown;
const { rawJSON } = JSON as unknown as { readonly rawJSON: (this: void, text: string) => unknown };

const INTEGER = /^-?\d+$/;
/** As many as 2^256 has, and no field is wider. Reading a bigint costs the square of its digits. */
const MAX_DIGITS = 78;
/**
 * Finds where a number may start that a double cannot hold exactly: integers up to 2^53 have at most 16 digits. It may match
 * within a string too; then the text is parsed the slow way without need.
 */
const LONG_INTEGER = /(?:^|[[:,\s])-?\d{16}/;

/**
 * Parses JSON so that no integer loses digits: one that a double cannot hold exactly (beyond ±(2^53 − 1)) becomes a bigint, all
 * others stay numbers. A text without such integers costs what `JSON.parse` costs; one with them many times as much.
 *
 * @throws {ParseError} on text that is no JSON, and on an integer of more digits than any number of a chain has; where there
 *   are long integers, also on nesting too deep to walk
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
    // A SyntaxError, or the RangeError of a reviver that ran out of stack in a hostile nesting.
    throw new ParseError(what, 'is not JSON', { cause });
  }
}

/** JSON text in which bigints are written as integers, with all their digits. */
export function encodeExactJson(value: unknown): string {
  return JSON.stringify(value, (_key, field: unknown) =>
    typeof field === 'bigint' ? rawJSON(field.toString()) : field,
  );
}
