/** One member of an object. Values other than strings, integers from 0 to 2^64 - 1 and null are undefined. */
export type GoMember = readonly [name: string, value: string | bigint | null | undefined];

const MAX_UINT64 = 2n ** 64n - 1n;
const MAX_UINT64_DIGITS = 20;

const STRING = /"[ !#-[\]-\uffff]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[ !#-[\]-\uffff]*)*"/y;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const WORD = /true|false|null/y;
const SPACES: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0d]);
const NO_BRACKET = /[^"[\]{}]+/y;

/**
 * Reads the JSON object at the start of a text as Go's `json.Decoder` does: it ignores what follows, takes null for an empty object,
 * and, unlike `JSON.parse`, keeps members of equal names and the exact value of integers.
 *
 * @throws {SyntaxError}
 */
export function readGoObject(text: string): readonly GoMember[] {
  let position = 0;
  const members: GoMember[] = [];

  function take(pattern: RegExp): string | undefined {
    pattern.lastIndex = position;
    const [token] = pattern.exec(text) ?? [];
    if (token !== undefined) position += token.length;
    return token;
  }

  function skipSpaces(): void {
    while (SPACES.has(text.charCodeAt(position))) position += 1;
  }

  function takeSign(allowed: string): string {
    skipSpaces();
    const sign = text.charAt(position);
    if (sign === '' || !allowed.includes(sign)) throw new SyntaxError(`no ${allowed} at character ${position + 1}`);
    position += 1;
    return sign;
  }

  function takeString(): string | undefined {
    const token = text[position] === '"' ? take(STRING) : undefined;
    if (token === undefined) return undefined;
    return token.includes('\\') ? (JSON.parse(token) as string) : token.slice(1, -1);
  }

  function takeValue(): GoMember[1] {
    skipSpaces();
    const string = takeString();
    if (string !== undefined) return string;
    const number = take(NUMBER);
    if (number !== undefined) return toUint64(number);
    const word = take(WORD);
    if (word !== undefined) return word === 'null' ? null : undefined;
    skipNested();
    return undefined;
  }

  /** Linear in the length of any input. */
  function skipNested(): void {
    const start = position;
    let depth = 0;
    do {
      const sign = text.charAt(position);
      if (sign === '{' || sign === '[' || sign === '}' || sign === ']') {
        depth += sign === '{' || sign === '[' ? 1 : -1;
        position += 1;
      } else if (take(sign === '"' ? STRING : NO_BRACKET) === undefined) {
        throw new SyntaxError('a string, an array or an object is not closed');
      }
    } while (depth > 0);
    JSON.parse(text.slice(start, position)); // throws on invalid JSON
  }

  skipSpaces();
  if (text.startsWith('null', position)) return members;
  takeSign('{');
  skipSpaces();
  if (text[position] === '}') return members;
  do {
    skipSpaces();
    const name = takeString();
    if (name === undefined) throw new SyntaxError(`expected a name in quotes at character ${position + 1}`);
    takeSign(':');
    members.push([name, takeValue()]);
  } while (takeSign(',}') === ',');
  return members;
}

/** Returns undefined for 1.0, 1e2 and -0 too, as Go does. */
function toUint64(digits: string): bigint | undefined {
  if (!/^\d+$/.test(digits) || digits.length > MAX_UINT64_DIGITS) return undefined;
  const value = BigInt(digits);
  return value <= MAX_UINT64 ? value : undefined;
}
