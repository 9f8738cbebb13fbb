import { readFileSync } from 'node:fs';
import { visit } from 'jsonc-parser';
import { attempt } from '../../lib/encoding/parse-error.ts';
import { describeFileError } from '../../lib/net/file-error.ts';
import { ConfigError, MAX_PROBLEMS } from '../schema/config-error.ts';
import { MAX_LEVELS } from '../schema/variables.ts';

/** Many more than 10,000 API keys and the peers of some networks have. */
const MAX_VALUES = 200_000;

/**
 * Reads a JSON file in which no object has a key twice: `JSON.parse` would silently drop the first of two sections. Problems are reported
 * with line and column, and without values, which may be secrets.
 *
 * @throws {ConfigError}
 */
export function readJson(path: string): unknown {
  const text = readText(path);
  if (text.trim() === '') throw new ConfigError([`the configuration file ${path} is empty`]);
  const { repeated, count, mistake } = scanJson(text, `the configuration file ${path}`);
  // jsonc-parser has positions, and accepts some texts that are not JSON.
  const json: unknown = attempt(() => JSON.parse(text), SyntaxError);
  // The message of `JSON.parse` quotes the text, and does not always contain a position.
  if (json instanceof SyntaxError)
    throw new ConfigError([`the configuration file ${path} is not JSON${mistake ?? ''}`]);
  if (count === 0) return json;
  throw new ConfigError(
    repeated.map((key) => `the configuration file ${path} has ${key}`),
    { count },
  );
}

function readText(path: string): string {
  let bytes: Uint8Array;
  try {
    bytes = readFileSync(path);
  } catch (cause) {
    throw new ConfigError([`cannot read the configuration file ${path}: ${describeFileError(cause)}`], { cause });
  }
  try {
    // It skips a byte order mark.
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new ConfigError([`the configuration file ${path} is not UTF-8`], { cause });
  }
}

/**
 * Returns the first repeated keys in words, the number of all, and the place of the first mistake.
 *
 * @param what the text, for the error
 * @throws {ConfigError} at the first value that is one too many, or too deep for functions that call themselves
 */
export function scanJson(text: string, what: string) {
  const repeated: string[] = [];
  const keys: Set<string>[] = [];
  let mistake: string | undefined;
  let count = 0;
  let levels = 0;
  let values = 0;

  function countValue(line: number, column: number): void {
    values += 1;
    if (values > MAX_VALUES) throw new ConfigError([`${what} has more than ${MAX_VALUES} values`]);
    if (levels <= MAX_LEVELS) return;
    throw new ConfigError([`${what} has more than ${MAX_LEVELS} levels of lists and objects ${placeOf(line, column)}`]);
  }
  function begin(line: number, column: number): void {
    levels += 1;
    countValue(line, column);
  }
  function end(): void {
    levels -= 1;
  }
  function repeat(key: string, line: number, column: number): void {
    count += 1;
    if (count > MAX_PROBLEMS) return;
    repeated.push(`${JSON.stringify(key)} twice in one object ${placeOf(line, column)}`);
  }
  visit(
    text,
    {
      onObjectBegin(_at, _length, line, column) {
        keys.push(new Set());
        begin(line, column);
      },
      onObjectProperty(key, _at, _length, line, column) {
        const known = keys.at(-1);
        if (known?.has(key)) repeat(key, line, column);
        known?.add(key);
      },
      onObjectEnd() {
        keys.pop();
        end();
      },
      onArrayBegin: (_at, _length, line, column) => begin(line, column),
      onArrayEnd: end,
      onLiteralValue: (_value, _at, _length, line, column) => countValue(line, column),
      onError(_code, _at, _length, line, column) {
        mistake ??= ` ${placeOf(line, column)}`;
      },
    },
    { disallowComments: true, allowTrailingComma: false },
  );
  return { repeated, count, mistake };
}

/** @param line and column from 0 */
function placeOf(line: number, column: number): string {
  return `(line ${line + 1} column ${column + 1})`;
}
