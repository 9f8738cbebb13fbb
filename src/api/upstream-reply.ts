import { isUtf8 } from 'node:buffer';
import { STATUS_CODES } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { CachedResponse } from '../upstream/response-cache.ts';
import type { UpstreamResponse } from '../upstream/upstream-client.ts';

/** Of an upstream's error, as much as is enough for every sentence. */
const MAX_MESSAGE_LENGTH = 2_000;
/** Beyond this it costs less to leave a body in bytes. */
const MAX_TEXT_BYTES = 16 * 1024;

/** Sends an upstream's answer on: a success as it came, an error with its status and in the service's one form. */
export function sendUpstreamAnswer(
  request: FastifyRequest,
  reply: FastifyReply,
  answer: CachedResponse | UpstreamResponse,
): FastifyReply {
  if ('response' in answer) return sendCached(request, reply, answer);
  const { status, headers, body } = answer;
  if (status >= 400) {
    if (!Buffer.isBuffer(body)) body.destroy();
    const { 'retry-after': retryAfter } = headers;
    if (retryAfter !== undefined) reply.header('retry-after', retryAfter);
    return reply
      .status(status)
      .type('application/json; charset=utf-8')
      .send(normalizeUpstreamError(status, Buffer.isBuffer(body) ? body.toString('utf8') : ''));
  }
  reply.status(status).headers({ ...headers, 'cache-control': 'no-store' });
  if (!Buffer.isBuffer(body)) return reply.send(body);
  return body.length === 0 ? reply.removeHeader('content-type').send() : reply.send(fitToSend(body));
}

function sendCached(request: FastifyRequest, reply: FastifyReply, cached: CachedResponse): FastifyReply {
  const { response, etag, ageMs, freshMs, isImmutable } = cached;
  reply.headers({
    ...response.headers,
    etag,
    age: String(Math.floor(ageMs / 1_000)),
    'cache-control': `public, max-age=${Math.floor(freshMs / 1_000)}${isImmutable ? ', immutable' : ''}`,
  });
  return matches(request.headers['if-none-match'], etag)
    ? reply.status(304).removeHeader('content-type').send()
    : reply.status(response.status).send(fitToSend(response.body));
}

/** Node writes a text together with the headers before it; a buffer costs a second piece, and that more than the decoding. */
function fitToSend(body: Buffer): Buffer | string {
  return body.length <= MAX_TEXT_BYTES && isUtf8(body) ? body.toString('utf8') : body;
}

function matches(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  return ifNoneMatch.split(',').some((tag) => ['*', etag, `W/${etag}`].includes(tag.trim()));
}

/** The metrics service's message is a list, gateways answer with HTML: all become `{message, statusCode, error}`. */
function normalizeUpstreamError(status: number, text: string) {
  const error = STATUS_CODES[status] ?? 'Error';
  return {
    message: (findMessage(text) ?? `the upstream answered: ${error}`).slice(0, MAX_MESSAGE_LENGTH),
    statusCode: status,
    error,
  };
}

function findMessage(text: string): string | undefined {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof body !== 'object' || body === null) return undefined;
  const { message, error } = body as Readonly<Record<string, unknown>>;
  const parts = [message].flat().filter((part) => typeof part === 'string' && part !== '');
  if (parts.length > 0) return parts.join('; ');
  return typeof error === 'string' && error !== '' ? error : undefined;
}
