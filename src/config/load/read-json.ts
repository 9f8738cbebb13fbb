import { readFileSync } from 'node:fs';
import { attempt } from '../../lib/encoding/parse-error.ts';
import { ConfigError } from '../schema/config-error.ts';

/**
 * Reads a JSON file in which no object has a key twice: `JSON.parse` would silently drop the first of two sections. Problems are reported
 * with line and column, and without values, which may be secrets.
 *
 * @throws {ConfigError}
 */
export function readJson(path: string): unknown {
  const text = readText(path);
  if (text.trim() === '') throw new ConfigError([`the configuration file ${path} is empty`]);
  const { repeated, end } = scan(text);
  const json: unknown = attempt(() => JSON.parse(text), SyntaxError);
  if (json instanceof SyntaxError) {
    // The parser's message quotes the text, and does not always contain a position.
    throw new ConfigError([`the configuration file ${path} is not JSON ${placeOf(end, text)}`]);
  }
  if (repeated.length === 0) return json;
  throw new ConfigError(
    repeated.map(({ key, at }) => `the configuration file ${path} has ${key} twice in one object ${placeOf(at, text)}`),
  );
}

function readText(path: string): string {
  let bytes: Uint8Array;
  try {
    bytes = readFileSync(path);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new ConfigError([`cannot read the configuration file ${path}: ${reason}`], { cause });
  }
  try {
    // It skips a byte order mark.
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new ConfigError([`the configuration file ${path} is not UTF-8`], { cause });
  }
}

function placeOf(at: number, text: string): string {
  const lines = text.slice(0, at).split('\n');
  return `(line ${lines.length} column ${(lines.at(-1) ?? '').length + 1})`;
}

/** Matches a token and the white space after it. */
function token(source: string): RegExp {
  return new RegExp(String.raw`(${source})[ \t\r\n]*`, 'y');
}

const STRING = String.raw`"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"`;
const NUMBER = String.raw`-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])`;
const [START, KEY, COLON, COMMA] = [token(''), token(STRING), token(':'), token(',')];
const SCALAR = token(String.raw`${STRING}|${NUMBER}|(?:true|false|null)\b`);
const LIST = [token(String.raw`\[`), token(String.raw`\]`)] as const;
const OBJECT = [token(String.raw`\{`), token(String.raw`\}`)] as const;

/** Scans a text by the grammar of JSON (RFC 8259). @returns the repeated keys, and `end`, the offset of the first mistake */
function scan(text: string) {
  const repeated: { key: string; at: number }[] = [];
  let end = 0;

  function take(expected: RegExp): string | undefined {
    expected.lastIndex = end;
    const found = expected.exec(text);
    if (found === null) return undefined;
    end = expected.lastIndex;
    return found[1];
  }

  function isSequence([first, last]: readonly [RegExp, RegExp], isItem: () => boolean): boolean {
    if (take(first) === undefined) return false;
    if (take(last) !== undefined) return true;
    do if (!isItem()) return false;
    while (take(COMMA) !== undefined);
    return take(last) !== undefined;
  }

  function isMember(keys: Set<string>): boolean {
    const at = end;
    const key = take(KEY);
    if (key === undefined || take(COLON) === undefined) return false;
    if (keys.has(key)) repeated.push({ key, at });
    keys.add(key);
    return isValue();
  }

  function isValue(): boolean {
    const keys = new Set<string>();
    return take(SCALAR) !== undefined || isSequence(LIST, isValue) || isSequence(OBJECT, () => isMember(keys));
  }

  take(START);
  isValue();
  return { repeated, end };
}
