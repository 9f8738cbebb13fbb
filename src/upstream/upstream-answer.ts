import { isUtf8 } from 'node:buffer';
import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import type { RawAnswer } from './exchange.ts';
import { findRefusalWords, type RefusalWords } from './refusal-words.ts';

/** What an upstream answered: a success, or an error of its own. */
export type UpstreamResponse = UpstreamSuccess | UpstreamRefusal;

export interface UpstreamSuccess {
  readonly kind: 'success';
  /** 2xx. */
  readonly status: number;
  /** Those of {@link PASSED_HEADERS} that the upstream sent, and the length of a stream where it is known. */
  readonly headers: Readonly<Record<string, string>>;
  /**
   * A buffer where the body is short: then it is complete, and either looks like JSON or is empty. A stream where it is longer;
   * whoever does not read it to the end must destroy it.
   */
  readonly body: Buffer | Readable;
  /** The same as text, where it had to be decoded to be checked. */
  readonly text?: string | undefined;
}

/** In the upstream's words, with nothing of our keys in them. */
export interface UpstreamRefusal extends RefusalWords {
  readonly kind: 'refusal';
  /** 4xx or 5xx. */
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
}

/** Up to here a whole answer is parsed to see that it is JSON: a tenth of a millisecond of the event loop. */
const MAX_PARSED_BYTES = 16 * 1024;

/**
 * Headers of an answer that say something about its content. All others are dropped: those about the upstream's own connection,
 * cookies, its rate limits (ours count here), and names of what runs there.
 */
const PASSED_HEADERS = ['content-type', 'retry-after', 'deprecation', 'sunset'];

const JSON_TYPE = /^application\/(json|[\w.-]+\+json)\s*(;|$)/i;

/**
 * Whether there is anything in an answer that keeps it from being passed on, in words that go after the upstream's name. A redirect
 * could lead to any host, with our key; an encoding or a part was not asked for, and could not be checked.
 */
export function findHeadProblem(status: number, headers: IncomingHttpHeaders): string | undefined {
  if (status > 599 || status === 205 || status === 206) return `answered with status ${status}`;
  if (status >= 300 && status < 400) return 'answered with a redirect, which is not followed';
  const encoding = headers['content-encoding'] ?? 'identity';
  return encoding === 'identity' || encoding === '' ? undefined : 'answered in an encoding it was not asked for';
}

/** What is wrong with the body of a success, and its text where it was decoded. Only a POST, or a 204, may be answered with nothing. */
export function checkBody(
  method: 'GET' | 'POST',
  { status, headers, body }: RawAnswer,
): { readonly problem?: string; readonly text?: string | undefined } {
  const isWhole = Buffer.isBuffer(body);
  if (isWhole && body.length === 0 && (status === 204 || method === 'POST')) return {};
  if (!JSON_TYPE.test(headers['content-type'] ?? '')) return { problem: 'did not answer with JSON' };
  if (!isWhole || (body.length > MAX_PARSED_BYTES && looksLikeJson(body))) return {};
  const text = body.length > MAX_PARSED_BYTES ? undefined : decodeJson(body);
  return text === undefined ? { problem: 'answered with broken JSON' } : { text };
}

export function presentSuccess({ status, headers, body }: RawAnswer, text: string | undefined): UpstreamSuccess {
  const passed = pickPassed(headers);
  // A client cannot know the length of a stream otherwise, and chunks are more work for both.
  const { 'content-length': length } = headers;
  const isMeasured = !Buffer.isBuffer(body) && length !== undefined;
  const sent = isMeasured ? { ...passed, 'content-length': length } : passed;
  return { kind: 'success', status, headers: sent, body, text };
}

/** @param redact takes our keys out of a text */
export function presentRefusal(
  { status, headers, body }: RawAnswer,
  redact: (text: string) => string,
): UpstreamRefusal {
  const text = Buffer.isBuffer(body) ? body.toString('utf8') : '';
  return { kind: 'refusal', status, headers: pickPassed(headers), ...findRefusalWords(text, redact) };
}

function pickPassed(headers: IncomingHttpHeaders): Record<string, string> {
  const passed: Record<string, string> = {};
  for (const name of PASSED_HEADERS) {
    const value = headers[name];
    if (typeof value === 'string') passed[name] = value;
  }
  return passed;
}

/** Of a longer text only both ends are looked at: they tell JSON from a page of HTML, and from what was cut off. */
function looksLikeJson(body: Buffer): boolean {
  const start = body.toString('latin1', 0, 64).trimStart().slice(0, 1);
  const end = body
    .toString('latin1', body.length - 64)
    .trimEnd()
    .slice(-1);
  return ['{}', '[]'].includes(start + end);
}

/** Undefined where it is no JSON. */
function decodeJson(body: Buffer): string | undefined {
  if (!isUtf8(body)) return undefined;
  const text = body.toString('utf8');
  try {
    JSON.parse(text);
    return text;
  } catch {
    return undefined;
  }
}
