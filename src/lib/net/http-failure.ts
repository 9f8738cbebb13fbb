import { isObject } from '../encoding/is-object.ts';
import { tryParse } from '../encoding/parse-error.ts';
import { parseJson } from '../encoding/parse-json.ts';

/** Returns whether the same request may succeed later: the server failed, was too slow, or limits requests. */
export function mayStatusPass(status: number): boolean {
  return status >= 500 || status === 408 || status === 429;
}

/**
 * Parses `Retry-After`: seconds, or a date (RFC 9110, 10.2.3). Undefined for anything else.
 *
 * @param nowMs Unix time
 */
export function parseRetryAfterMs(value: unknown, nowMs: number): number | undefined {
  if (typeof value !== 'string') return undefined;
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1_000;
  const dateMs = Date.parse(value);
  return Number.isNaN(dateMs) ? undefined : Math.max(0, dateMs - nowMs);
}

/** Returns the seconds of `Retry-After`: not too few, and at least one, so that no client repeats at once. */
export function retryAfterSeconds(retryAfterMs: number): number {
  return Math.max(1, Math.ceil(retryAfterMs / 1_000));
}

const MAX_LINE_LENGTH = 200;

/** Returns the sentence of an error body: the text of a JSON error, else the first line. Undefined for a page or an empty body. */
export function sentenceOf(body: string): string | undefined {
  const [found = body] = [errorTextOf(tryParse(() => parseJson(body, 'body')))].flat();
  const text = found.trim();
  const [line = ''] = text.split(/[\r\n]/, 1);
  // Control characters could change a terminal.
  const plain = line.replaceAll(/\p{Cc}/gu, ' ').trim();
  return plain === '' || plain.startsWith('<') ? undefined : plain;
}

/** Shortens a sentence, after keys were removed from it. */
export function shortened(sentence: string): string {
  return sentence.length <= MAX_LINE_LENGTH ? sentence : `${sentence.slice(0, MAX_LINE_LENGTH)}…`;
}

/** Returns the text, or the list of texts, in the forms of gateways: `{"message"}`, `{"error": "text"}`, `{"error": {"message"}}`, `{"detail"}`. */
export function errorTextOf(body: unknown): string | readonly string[] | undefined {
  if (!isObject(body)) return undefined;
  const { error, message, detail } = body;
  for (const found of [message, isObject(error) ? error['message'] : error, detail]) {
    const texts = [found].flat().filter((text): text is string => typeof text === 'string' && text !== '');
    if (texts.length > 0) return Array.isArray(found) ? texts : texts[0];
  }
  return undefined;
}
