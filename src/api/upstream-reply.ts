import { isUtf8 } from 'node:buffer';
import { STATUS_CODES } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { CachedResponse } from '../upstream/response-cache.ts';
import type { UpstreamResponse } from '../upstream/upstream-client.ts';

/** Beyond this it costs less to leave a body in bytes. */
const MAX_TEXT_BYTES = 16 * 1024;

/** Sends an upstream's answer on: a success as it came, an error with its status and in the service's one form. */
export function sendUpstreamAnswer(
  request: FastifyRequest,
  reply: FastifyReply,
  answer: CachedResponse | UpstreamResponse,
): FastifyReply {
  if (answer.kind === 'cached') return sendCached(request, reply, answer);
  const { status, headers } = answer;
  if (answer.kind === 'refusal') {
    const { 'retry-after': retryAfter } = headers;
    if (retryAfter !== undefined) reply.header('retry-after', retryAfter);
    const error = STATUS_CODES[status] ?? 'Error';
    return reply
      .status(status)
      .type('application/json; charset=utf-8')
      .send({
        message: answer.message ?? `the upstream answered: ${error}`,
        statusCode: status,
        error,
        code: 'upstream_error',
      });
  }
  const { body } = answer;
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
