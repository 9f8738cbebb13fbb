import type { FastifyRequest } from 'fastify';
import { type CodedErrorOptions, PublicError } from '../../lib/net/coded-error.ts';
import type { ErrorCode } from './error-codes.ts';

/** An error that the HTTP side raises itself. Its code determines the status. */
export class HttpError extends PublicError<ErrorCode> {
  override readonly name = 'HttpError';
  /** For programs; each code has its own. */
  readonly details: unknown;

  constructor(code: ErrorCode, message: string, { details, ...options }: HttpErrorOptions = {}) {
    super(code, message, options);
    this.details = details;
  }
}

interface HttpErrorOptions extends CodedErrorOptions {
  readonly details?: unknown;
}

/** 400. The message starts with the field or parameter, and states what is allowed. */
export function badRequest(message: string, options: { readonly cause?: unknown } = {}): HttpError {
  return new HttpError('invalid_request', message, options);
}

export function rateLimited(message: string, retryAfterMs: number): HttpError {
  return new HttpError('rate_limited', message, { retryAfterMs });
}

/** 404 for a `{network}` that is not served. @param served all names that paths may use */
export function unknownNetwork(name: string, served: readonly string[]): HttpError {
  const shown = JSON.stringify(name.slice(0, MAX_SHOWN_LENGTH));
  return new HttpError('unknown_network', `network ${shown} is not served here; served: ${served.join(', ')}`);
}

/** 404. The message leaves out the query, which may hold secrets. */
export function noSuchRoute({ method, url, server }: Pick<FastifyRequest, 'method' | 'url' | 'server'>): HttpError {
  const [path] = url.split('?', 1);
  // The ports of the Go aggregator's API have no document.
  const hasDocument = server.hasRoute({ method: 'GET', url: '/openapi.json' });
  const where = hasDocument ? '; the routes are listed in /openapi.json' : ' at this port';
  return new HttpError('not_found', `no route ${method} ${path}${where}`);
}

/** Longest text of a client that an error repeats. */
export const MAX_SHOWN_LENGTH = 100;

/** The client disconnected before its answer was written, so there is no answer. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone';
}
