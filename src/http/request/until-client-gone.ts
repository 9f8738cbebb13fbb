import type { FastifyReply } from 'fastify';
import { ClientGone } from '../errors/http-error.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Aborted if the client disconnects before its answer is written; created by {@link untilClientGone}. */
    gone: AbortController | undefined;
  }
}

/**
 * Returns a signal that aborts if the client has disconnected, or disconnects before its answer is written. Fastify's `request.signal`
 * aborts already when the request's body was read.
 */
export function untilClientGone({ raw, request }: FastifyReply): AbortSignal {
  request.gone ??= new AbortController();
  if (raw.destroyed) request.gone.abort(new ClientGone());
  return request.gone.signal;
}
