import { firstJson, membersOf } from '../../lib/encoding/json-source.ts';

/** One member of an object. Values other than strings, integers from 0 to 2^64 - 1 and null are undefined. */
export type GoMember = readonly [name: string, value: string | bigint | null | undefined];

const MAX_UINT64 = 2n ** 64n - 1n;
const MAX_UINT64_DIGITS = 20;

/**
 * Reads the JSON object at the start of a text as Go's `json.Decoder` does: it ignores what follows, takes null for an empty object,
 * and, unlike `JSON.parse`, keeps members of equal names and the exact value of integers.
 *
 * @throws {SyntaxError}
 */
export function readGoObject(text: string): readonly GoMember[] {
  const start = text.replace(/^[ \t\n\r]+/, '');
  if (start.startsWith('null')) return [];
  if (!start.startsWith('{')) throw new SyntaxError('the text begins with no object');
  const object = firstJson(start);
  JSON.parse(object); // throws on invalid JSON
  return membersOf(object).map(([name, source]) => [name, parseValue(source)]);
}

function parseValue(source: string): GoMember[1] {
  if (source.startsWith('"')) return JSON.parse(source) as string;
  return source === 'null' ? null : toUint64(source);
}

/** Returns undefined for 1.0, 1e2 and -0 too, as Go does. */
function toUint64(digits: string): bigint | undefined {
  if (!/^\d+$/.test(digits) || digits.length > MAX_UINT64_DIGITS) return undefined;
  const value = BigInt(digits);
  return value <= MAX_UINT64 ? value : undefined;
}
