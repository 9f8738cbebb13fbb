import { readFileSync } from 'node:fs';
import { ConfigError } from './problems.ts';

/**
 * A file of JSON in which no object has a key twice: of two sections of one name `JSON.parse` drops the first, and says nothing. What is
 * wrong with it is told by its place, and without its values, as there may be secrets in them.
 *
 * @throws {ConfigError}
 */
export function readJson(path: string): unknown {
  const text = readText(path);
  if (text.trim() === '') throw new ConfigError([`the configuration file ${path} is empty`]);
  const { repeated, end } = scan(text);
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    // Not with the parser's message: it quotes the text, and has not always a place.
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
    // It passes over the mark that some editors put before UTF-8.
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new ConfigError([`the configuration file ${path} is not UTF-8`], { cause });
  }
}

/** As people count. */
function placeOf(at: number, text: string): string {
  const lines = text.slice(0, at).split('\n');
  return `(line ${lines.length} column ${(lines.at(-1) ?? '').length + 1})`;
}

interface Scanned {
  /** Keys that an object has once more, as they are written, and where. */
  readonly repeated: readonly { readonly key: string; readonly at: number }[];
  /** How far the text is JSON: there stands its first mistake. */
  readonly end: number;
}

/** With the space behind it. */
function token(source: string): RegExp {
  return new RegExp(String.raw`(${source})[ \t\r\n]*`, 'y');
}

const STRING = String.raw`"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"`;
const NUMBER = String.raw`-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])`;
const [START, KEY, COLON, COMMA] = [token(''), token(STRING), token(':'), token(',')];
const SCALAR = token(String.raw`${STRING}|${NUMBER}|(?:true|false|null)\b`);
const LIST = [token(String.raw`\[`), token(String.raw`\]`)] as const;
const OBJECT = [token(String.raw`\{`), token(String.raw`\}`)] as const;

/** Goes over a text by the grammar of JSON (RFC 8259). */
function scan(text: string): Scanned {
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
