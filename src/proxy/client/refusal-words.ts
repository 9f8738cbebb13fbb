import { isObject } from '../../lib/encoding/is-object.ts';
import { tryParse } from '../../lib/encoding/parse-error.ts';
import { parseJson } from '../../lib/encoding/parse-json.ts';
import { errorTextOf } from '../../lib/net/http-failure.ts';

/** Characters of an upstream's error that are passed on, over all parts of a list. */
const MAX_LENGTH = 2_000;
const MAX_PARTS = 100;

export interface RefusalWords {
  /** A list if the upstream sent a list; undefined if there is no text, as in a gateway's HTML page. */
  readonly message: string | readonly string[] | undefined;
  /** The whole body if it is a JSON-RPC error, or a batch with one. */
  readonly rpcBody: string | undefined;
}

/**
 * Finds the text in an error's body, or in the first error of a JSON-RPC batch.
 *
 * @param redact removes our keys from a text
 */
export function findRefusalWords(text: string, redact: (text: string) => string): RefusalWords {
  const body = tryParse(() => parseJson(text, 'body'));
  const rpcError = [body].flat().find(isRpcError);
  const found = errorTextOf(rpcError ?? body);
  return {
    message: typeof found === 'string' ? redact(found).slice(0, MAX_LENGTH) : found && cutAll(found, redact),
    rpcBody: rpcError === undefined ? undefined : redactStrings(text, redact),
  };
}

function isRpcError(response: unknown): boolean {
  return isObject(response) && response['jsonrpc'] === '2.0' && isObject(response['error']);
}

function cutAll(parts: readonly string[], redact: (text: string) => string): string[] {
  let left = MAX_LENGTH;
  const kept: string[] = [];
  for (const part of parts.slice(0, MAX_PARTS)) {
    if (left === 0) break;
    const text = redact(part).slice(0, left);
    left -= text.length;
    kept.push(text);
  }
  return kept;
}

/** Redacts the texts of JSON and keeps the rest as written, including the digits of numbers. */
function redactStrings(json: string, redact: (text: string) => string): string {
  return json.replace(/"[^"\\]*(?:\\.[^"\\]*)*"/g, (written) => {
    const text = parseJson(written, 'text') as string;
    const redacted = redact(text);
    return redacted === text ? written : JSON.stringify(redacted);
  });
}
