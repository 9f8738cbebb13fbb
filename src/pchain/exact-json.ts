import { ParseError } from '../primitives/parse-error.ts';

/** What `JSON.parse` and `JSON.rawJSON` of Node 24 can do and TypeScript's library does not declare yet. */
type SourceReviver = (key: string, value: unknown, context: { readonly source?: string }) => unknown;
const { rawJSON } = JSON as unknown as { readonly rawJSON: (this: void, text: string) => unknown };

const INTEGER = /^-?\d+$/;

/**
 * JSON in which no integer loses digits: one that a double cannot hold exactly (beyond ±(2^53 − 1)) becomes a bigint,
 * all others stay numbers.
 *
 * @throws {ParseError} on text that is no JSON, also on nesting too deep to walk
 */
export function parseExactJson(text: string, what: string): unknown {
  const revive: SourceReviver = (_key, value, { source }) =>
    typeof value === 'number' && !Number.isSafeInteger(value) && source !== undefined && INTEGER.test(source)
      ? BigInt(source)
      : value;
  try {
    return JSON.parse(text, revive as (key: string, value: unknown) => unknown);
  } catch (cause) {
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
