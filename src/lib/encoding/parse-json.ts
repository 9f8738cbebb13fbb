import { findExcess } from './json-source.ts';
import { ParseError } from './parse-error.ts';

type Reviver = (key: string, value: unknown) => unknown;

/** Several times the levels of a P-Chain block. */
const MAX_LEVELS = 64;
/** More than 32 MB of an EVM block's receipts have. */
const MAX_VALUES = 1_000_000;

/**
 * Parses JSON that another party sent. Size is checked before, because a text of brackets takes up to thirty times its bytes in memory, and
 * time of the event loop.
 *
 * @param what the text, for the error
 * @param reviverOf returns the reviver of `JSON.parse` for a text whose size was checked
 * @throws {ParseError} for malformed JSON, for more than 64 levels of arrays and objects, and for more than a million values
 */
export function parseJson(text: string, what: string, reviverOf?: (text: string) => Reviver | undefined): unknown {
  const excess = findExcess(text, { levels: MAX_LEVELS, values: MAX_VALUES });
  if (excess === 'levels') throw new ParseError(what, `is nested in more than ${MAX_LEVELS} levels`);
  if (excess === 'values') throw new ParseError(what, `has more than ${MAX_VALUES} values`);
  try {
    return JSON.parse(text, reviverOf?.(text));
  } catch (cause) {
    if (!(cause instanceof SyntaxError)) throw cause;
    throw new ParseError(what, 'is not JSON', { cause });
  }
}
