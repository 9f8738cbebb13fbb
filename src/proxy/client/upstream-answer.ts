import { isUtf8 } from 'node:buffer';
import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import { tryParse } from '../../lib/encoding/parse-error.ts';
import { parseJson } from '../../lib/encoding/parse-json.ts';
import type { Answer } from '../../lib/net/exchange.ts';
import { retryAfterSeconds } from '../../lib/net/http-failure.ts';
import { findRefusalWords, type RefusalWords } from './refusal-words.ts';

/** An answer as received. A body up to the bound of `readAnswer` is a buffer. */
interface RawAnswer extends Omit<Answer, 'body'> {
  readonly body: Buffer | Readable;
}

export type UpstreamAnswer = UpstreamSuccess | UpstreamRefusal;

export interface UpstreamSuccess {
  readonly kind: 'success';
  readonly status: number;
  /** {@link CONTENT_HEADERS}, the length of a stream if it is known, and the cache headers of an answer that is cached. */
  readonly headers: Readonly<Record<string, string>>;
  /** A buffer is complete, and either looks like JSON or is empty. A stream has to be read to the end or destroyed. */
  readonly body: RawAnswer['body'];
}

/** The upstream's error, with our keys redacted. */
export interface UpstreamRefusal extends RefusalWords {
  readonly kind: 'refusal';
  readonly status: number;
  /** `retry-after` in seconds, and those of {@link LIMIT_HEADERS} of a 429. */
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Headers of a success that are passed on. Others concern the upstream's connection, cookies, software, or the rate limits of our
 * key, which all clients share.
 */
const CONTENT_HEADERS = ['content-type', 'deprecation', 'sunset'];
/** Headers of a 429: the upstream's limit for our key. */
export const LIMIT_HEADERS = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'] as const;

/** A longer text is not parsed: this much takes 50 µs of the event loop. */
const MAX_PARSED_BYTES = 16 * 1024;
/** Bytes checked at both ends of a longer text. */
const END_BYTES = 64;

const JSON_TYPE = /^application\/(json|[\w.-]+\+json)\s*(;|$)/i;

export function isStream(body: RawAnswer['body']): body is Readable {
  return !Buffer.isBuffer(body);
}

/**
 * Returns why an answer cannot be passed on, as a text to follow the upstream's name. A redirect could lead to any host, with our
 * key; a range was not requested, and an encoding that was not decoded cannot be checked.
 */
export function findHeadProblem(status: number, headers: IncomingHttpHeaders): string | undefined {
  if (status > 599 || status === 205 || status === 206) return `answered with status ${status}`;
  if (status >= 300 && status < 400) return 'answered with a redirect, which is not followed';
  const encoding = headers['content-encoding'] ?? 'identity';
  return encoding === 'identity' || encoding === '' ? undefined : 'answered in an encoding that is not known';
}

/** Returns what is wrong with the body of a success. Only a POST or a 204 may have an empty one. */
export function findBodyProblem(method: 'GET' | 'POST', { status, headers, body }: RawAnswer): string | undefined {
  if (!isStream(body) && body.length === 0 && (status === 204 || method === 'POST')) return undefined;
  if (!JSON_TYPE.test(headers['content-type'] ?? '')) return 'did not answer with JSON';
  if (isStream(body)) return undefined;
  const isGood = body.length <= MAX_PARSED_BYTES ? isUtf8(body) && isJson(body) : looksLikeJson(body);
  return isGood ? undefined : 'answered with broken JSON';
}

/** @param redact removes our keys from a text */
export function presentAnswer(answer: RawAnswer, redact: (text: string) => string): UpstreamAnswer {
  return answer.status < 400 ? presentSuccess(answer) : presentRefusal(answer, redact);
}

function presentSuccess({ status, headers, body }: RawAnswer): UpstreamSuccess {
  const passed = pick(headers, CONTENT_HEADERS);
  const { 'content-length': length } = headers;
  if (isStream(body) && length !== undefined) passed['content-length'] = length;
  return { kind: 'success', status, headers: passed, body };
}

function presentRefusal(answer: RawAnswer, redact: (text: string) => string): UpstreamRefusal {
  const { status, body } = answer;
  const text = Buffer.isBuffer(body) ? body.toString('utf8') : '';
  return { kind: 'refusal', status, headers: pickRetry(answer), ...findRefusalWords(text, redact) };
}

function pickRetry({ status, headers, retryAfterMs }: RawAnswer): Record<string, string> {
  const limits = status === 429 ? Object.entries(pick(headers, LIMIT_HEADERS)) : [];
  const integers = limits.filter(([, value]) => /^\d+$/.test(value));
  return {
    // An upstream may send a date, which few clients read.
    ...(retryAfterMs !== undefined && { 'retry-after': String(retryAfterSeconds(retryAfterMs)) }),
    ...Object.fromEntries(integers),
  };
}

function pick(headers: IncomingHttpHeaders, names: readonly string[]): Record<string, string> {
  const picked: Record<string, string> = {};
  for (const name of names) {
    const value = headers[name];
    if (typeof value === 'string') picked[name] = value;
  }
  return picked;
}

function isJson(body: Buffer): boolean {
  return tryParse(() => parseJson(body.toString('utf8'), 'body')) !== undefined;
}

/** Checks both ends of a longer text, which distinguishes JSON from HTML and from truncated JSON. */
function looksLikeJson(body: Buffer): boolean {
  const start = body.toString('latin1', 0, END_BYTES).trimStart().slice(0, 1);
  const end = body
    .toString('latin1', body.length - END_BYTES)
    .trimEnd()
    .slice(-1);
  return ['{}', '[]'].includes(start + end);
}
