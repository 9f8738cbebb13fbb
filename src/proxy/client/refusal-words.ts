import { isObject } from '../../lib/encoding/is-object.ts';
import { tryParse } from '../../lib/encoding/parse-error.ts';
import { parseJson } from '../../lib/encoding/parse-json.ts';

/** Characters of an upstream's error that are passed on, over all parts of a list. */
const MAX_LENGTH = 2_000;
const MAX_PARTS = 100;

export interface RefusalWords {
  /** A list if the upstream sent a list; undefined if there is no text, as in a gateway's HTML page. */
  readonly message: string | readonly string[] | undefined;
  /** The whole body if it is a JSON-RPC error, or a batch with one. */
  readonly rpcBody: string | undefined;
}

const NOTHING: RefusalWords = { message: undefined, rpcBody: undefined };

/**
 * Finds the text in an error's body: `message` as a text or a list of texts, `error` as a text, or a JSON-RPC error.
 *
 * @param redact removes our keys from a text
 */
export function findRefusalWords(text: string, redact: (text: string) => string): RefusalWords {
  const body = tryParse(() => parseJson(text, 'body'));
  if (body === undefined) return NOTHING;
  const rpcMessage = [body]
    .flat()
    .map(rpcMessageOf)
    .find((message) => message !== undefined);
  return {
    message: rpcMessage === undefined ? messageOf(body, redact) : cut(redact(rpcMessage)),
    rpcBody: rpcMessage === undefined ? undefined : redactStrings(text, redact),
  };
}

function messageOf(body: unknown, redact: (text: string) => string): RefusalWords['message'] {
  if (!isObject(body)) return undefined;
  const { message, error } = body;
  const parts = [message].flat().filter((part) => typeof part === 'string' && part !== '');
  const [first] = parts;
  if (Array.isArray(message) && first !== undefined) return cutAll(parts as string[], redact);
  const found = first ?? error;
  return typeof found === 'string' && found !== '' ? cut(redact(found)) : undefined;
}

/** Returns the message of a JSON-RPC error, which may be empty; undefined if the response is no error. */
function rpcMessageOf(response: unknown): string | undefined {
  if (!isObject(response) || response['jsonrpc'] !== '2.0' || !isObject(response['error'])) return undefined;
  const { message } = response['error'];
  return typeof message === 'string' ? message : '';
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

function cut(text: string): string | undefined {
  return text === '' ? undefined : text.slice(0, MAX_LENGTH);
}

/** Redacts the texts of JSON and keeps the rest as written, including the digits of numbers. */
function redactStrings(json: string, redact: (text: string) => string): string {
  return json.replace(/"[^"\\]*(?:\\.[^"\\]*)*"/g, (written) => {
    const text = parseJson(written, 'text') as string;
    const redacted = redact(text);
    return redacted === text ? written : JSON.stringify(redacted);
  });
}
