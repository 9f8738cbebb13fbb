import type { FastifyReply } from 'fastify';
import { ClientGone } from '../errors/http-error.ts';

/**
 * Aborts when the client closes its connection before its answer is there, or has done so already. Fastify's `request.signal`
 * will not do: it aborts as soon as the request's body was read.
 */
export function untilClientGone({ raw }: FastifyReply): AbortSignal {
  const gone = new AbortController();
  if (raw.destroyed) gone.abort(new ClientGone());
  raw.on('close', () => {
    if (!raw.writableFinished) gone.abort(new ClientGone());
  });
  return gone.signal;
}
