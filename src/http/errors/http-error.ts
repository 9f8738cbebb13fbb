import type { FastifyRequest } from 'fastify';
import type { ErrorCode } from './error-codes.ts';

/** What the HTTP side answers with an error of its own. The status is that of the code. */
export class HttpError extends Error {
  override readonly name = 'HttpError';
  readonly code: ErrorCode;
  readonly retryAfterMs: number | undefined;

  constructor(
    code: ErrorCode,
    message: string,
    { retryAfterMs, cause }: { readonly retryAfterMs?: number; readonly cause?: unknown } = {},
  ) {
    super(message, { cause });
    this.code = code;
    this.retryAfterMs = retryAfterMs;
  }
}

/** 400. The message starts with the field or parameter, and says what is allowed. */
export function badRequest(message: string, options: { readonly cause?: unknown } = {}): HttpError {
  return new HttpError('invalid_request', message, options);
}

/** 429. */
export function rateLimited(message: string, retryAfterMs: number): HttpError {
  return new HttpError('rate_limited', message, { retryAfterMs });
}

/** 404 for a `{network}` that is not served; `served` are all names that paths may use here. */
export function unknownNetwork(name: string, served: readonly string[]): HttpError {
  const shown = JSON.stringify(name.slice(0, MAX_SHOWN_LENGTH));
  return new HttpError('unknown_network', `network ${shown} is not served here; served: ${served.join(', ')}`);
}

/** 404. The query is left out of the message: it may hold something private. */
export function noSuchRoute({ method, url, server }: Pick<FastifyRequest, 'method' | 'url' | 'server'>): HttpError {
  const [path] = url.split('?', 1);
  // The Go aggregator's ports have no document.
  const hasDocument = server.hasRoute({ method: 'GET', url: '/openapi.json' });
  const where = hasDocument ? '; the routes are listed in /openapi.json' : ' at this port';
  return new HttpError('not_found', `no route ${method} ${path}${where}`);
}

/** As much of a client's text as an error repeats. */
const MAX_SHOWN_LENGTH = 100;

/** The client closed the connection before its answer was there. Nobody is answered. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone';
}
