import { isUtf8 } from 'node:buffer';
import { STATUS_CODES } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { OWN_ERROR_FORM } from '../../http/errors/error-form.ts';
import { JSON_TYPE } from '../../http/request/json-type.ts';
import { matchesEtag } from '../../lib/net/etag.ts';
import {
  LIMIT_HEADERS,
  type UpstreamAnswer,
  type UpstreamRefusal,
  type UpstreamSuccess,
} from '../client/upstream-answer.ts';

/** Decoding longer bodies costs more than it saves. */
const MAX_TEXT_BYTES = 4 * 1024;

/** Passes on a success unchanged, and an error with its status in the service's error form. */
export function sendUpstreamAnswer(request: FastifyRequest, reply: FastifyReply, answer: UpstreamAnswer): FastifyReply {
  if (answer.kind === 'success') return sendSuccess(request, reply, answer);
  const { status, message = `the upstream answered: ${STATUS_CODES[status] ?? status}` } = answer;
  const body = OWN_ERROR_FORM.bodyOf({ code: 'upstream_error', message }, status, request.url);
  return sendRefusal(request, reply, answer, JSON.stringify(body));
}

/** Passes on a node's answer. Its JSON-RPC errors stay JSON-RPC with any status, because clients match the call's ID. */
export function sendRpcAnswer(request: FastifyRequest, reply: FastifyReply, answer: UpstreamAnswer): FastifyReply {
  if (answer.kind !== 'refusal' || answer.rpcBody === undefined) return sendUpstreamAnswer(request, reply, answer);
  return sendRefusal(request, reply, answer, answer.rpcBody);
}

function sendRefusal(
  request: FastifyRequest,
  reply: FastifyReply,
  { status, headers }: UpstreamRefusal,
  json: string,
): FastifyReply {
  request.context.fail({ code: 'upstream_error' });
  // These headers describe our rate limit; the one that was reached is the upstream's.
  if (status === 429) for (const name of LIMIT_HEADERS) reply.removeHeader(name);
  return reply.headers(headers).status(status).type(JSON_TYPE).send(json);
}

function sendSuccess(request: FastifyRequest, reply: FastifyReply, answer: UpstreamSuccess): FastifyReply {
  const { status, headers, body } = answer;
  reply.status(status).headers(headers);
  if (Buffer.isBuffer(body)) {
    const { etag } = headers;
    const isKnown = etag !== undefined && matchesEtag(request.headers['if-none-match'], etag);
    if (isKnown) reply.status(304);
    return isKnown || body.length === 0 ? reply.removeHeader('content-type').send() : reply.send(fitToSend(body));
  }
  if (request.method !== 'HEAD') return reply.send(body);
  // A stream would be read to its end.
  body.destroy();
  return reply.send();
}

/** Node writes a string together with the headers, which is cheaper for a short body than a second write. */
function fitToSend(body: Buffer): Buffer | string {
  return body.length <= MAX_TEXT_BYTES && isUtf8(body) ? body.toString('utf8') : body;
}
