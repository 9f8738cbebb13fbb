import type { FastifyReply } from 'fastify';
import { ClientGone } from './error-handler.ts';

/** Fastify's `request.signal` will not do: it aborts as soon as the request's body was read. */
export function untilClientGone({ raw }: FastifyReply): AbortSignal {
  const gone = new AbortController();
  raw.once('close', () => {
    if (!raw.writableFinished) gone.abort(new ClientGone());
  });
  return gone.signal;
}
