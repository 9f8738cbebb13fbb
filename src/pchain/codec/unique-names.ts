import { ParseError } from '../../lib/encoding/parse-error.ts';

const QUOTE = '"';
const BACKSLASH = 0x5c;

/**
 * Rejects JSON with a duplicate name in an object. `JSON.parse` would keep only the last one and drop the weight of a validator.
 *
 * @param text valid JSON
 * @throws {ParseError} with the first duplicate
 */
export function requireUniqueNames(text: string, what: string): void {
  const open: Set<string>[] = [];
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (character === '{') open.push(new Set());
    else if (character === '}') open.pop();
    else if (character === QUOTE) {
      const start = at;
      at = endOfString(text, start);
      if (!isName(text, at)) continue;
      const name = JSON.parse(text.slice(start, at + 1)) as string;
      const names = open.at(-1);
      if (names?.has(name)) throw new ParseError(what, `has ${JSON.stringify(name)} twice`);
      names?.add(name);
    }
  }
}

/** @returns index of the closing quote */
function endOfString(text: string, start: number): number {
  let end = text.indexOf(QUOTE, start + 1);
  while (isEscaped(text, end)) end = text.indexOf(QUOTE, end + 1);
  return end;
}

function isEscaped(text: string, at: number): boolean {
  let first = at;
  while (text.charCodeAt(first - 1) === BACKSLASH) first -= 1;
  return (at - first) % 2 === 1;
}

/** A string is a name if a colon follows. */
function isName(text: string, end: number): boolean {
  let next = end + 1;
  while (next < text.length && ' \n\r\t'.includes(text.charAt(next))) next += 1;
  return text[next] === ':';
}
