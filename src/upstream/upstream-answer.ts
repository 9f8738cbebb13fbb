import { isUtf8 } from 'node:buffer';
import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import type { BodyPieces, RawAnswer } from './exchange.ts';
import { isJson, MAX_SCANNED_BYTES } from './json-scan.ts';
import { findRefusalWords, type RefusalWords } from './refusal-words.ts';

/** What an upstream answered: a success, or an error of its own. */
export type UpstreamResponse = UpstreamSuccess | UpstreamRefusal;

export interface UpstreamSuccess {
  readonly kind: 'success';
  /** 2xx. */
  readonly status: number;
  /** Those of {@link PASSED_HEADERS} that the upstream sent, and the length of what is no buffer, where it is known. */
  readonly headers: Readonly<Record<string, string>>;
  /**
   * A buffer where the body is short or will be kept, or the pieces in which it came: then it is complete, and either looks like JSON
   * or is empty. A stream where it is longer; whoever does not read it to the end must destroy it.
   */
  readonly body: RawAnswer['body'];
}

/** In the upstream's words, with nothing of our keys in them. */
export interface UpstreamRefusal extends RefusalWords {
  readonly kind: 'refusal';
  /** 4xx or 5xx. */
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Headers of an answer that say something about its content. All others are dropped: those about the upstream's own connection,
 * cookies, its rate limits (ours count here), and names of what runs there.
 */
const PASSED_HEADERS = ['content-type', 'retry-after', 'deprecation', 'sunset'];

/** Bytes at both ends of a longer text that are looked at. */
const END_BYTES = 64;

const JSON_TYPE = /^application\/(json|[\w.-]+\+json)\s*(;|$)/i;

export function isStream(body: RawAnswer['body']): body is Readable {
  return !Buffer.isBuffer(body) && !isPieces(body);
}

/** `Array.isArray` does not narrow a list that is read only. */
function isPieces(body: RawAnswer['body']): body is BodyPieces {
  return Array.isArray(body);
}

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

/** What is wrong with the body of a success. Only a POST, or a 204, may be answered with nothing. */
export function findBodyProblem(method: 'GET' | 'POST', { status, headers, body }: RawAnswer): string | undefined {
  if (Buffer.isBuffer(body) && body.length === 0 && (status === 204 || method === 'POST')) return undefined;
  if (!JSON_TYPE.test(headers['content-type'] ?? '')) return 'did not answer with JSON';
  if (isStream(body)) return undefined;
  const isGood =
    Buffer.isBuffer(body) && body.length <= MAX_SCANNED_BYTES
      ? isUtf8(body) && isJson(body)
      : looksLikeJson(Buffer.isBuffer(body) ? [body] : body);
  return isGood ? undefined : 'answered with broken JSON';
}

export function presentSuccess({ status, headers, body }: RawAnswer): UpstreamSuccess {
  const passed = pickPassed(headers);
  // A client cannot know the length of a stream otherwise, and chunks are more work for both.
  const length = isPieces(body) ? String(lengthOf(body)) : headers['content-length'];
  if (!Buffer.isBuffer(body) && length !== undefined) passed['content-length'] = length;
  return { kind: 'success', status, headers: passed, body };
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
function looksLikeJson(pieces: BodyPieces): boolean {
  let [start, end] = ['', ''];
  for (let index = 0; start.length < END_BYTES && index < pieces.length; index += 1) {
    start += pieces[index]?.toString('latin1', 0, END_BYTES - start.length);
  }
  for (let index = pieces.length - 1; end.length < END_BYTES && index >= 0; index -= 1) {
    const piece = pieces[index];
    end = `${piece?.toString('latin1', Math.max(0, piece.length - END_BYTES + end.length))}${end}`;
  }
  return ['{}', '[]'].includes(start.trimStart().slice(0, 1) + end.trimEnd().slice(-1));
}

function lengthOf(pieces: BodyPieces): number {
  return pieces.reduce((length, piece) => length + piece.length, 0);
}
