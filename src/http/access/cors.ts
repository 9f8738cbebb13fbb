import type { FastifyReply, FastifyRequest } from 'fastify';
import { noSuchRoute } from '../errors/http-error.ts';
import type { Server } from '../request/http-server.ts';
import { REQUEST_ID_HEADER } from '../request/request-id.ts';
import { OPERATIONS_ACCESS } from '../request/route-access.ts';

/** Headers that a page may read in addition to the seven safelisted ones, such as content-type. */
const EXPOSED_HEADERS = [
  'retry-after',
  'x-ratelimit-limit',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
  'etag',
  'age',
  'deprecation',
  'sunset',
  REQUEST_ID_HEADER,
].join(', ');
const PREFLIGHT_HEADERS = {
  'access-control-allow-methods': 'GET, HEAD, POST',
  // Request headers of the service's routes, and those that the public client of the API sends from a page.
  'access-control-allow-headers': [
    'content-type',
    'x-service-api-key',
    'x-glacier-api-key',
    'if-none-match',
    'last-event-id',
    REQUEST_ID_HEADER,
  ].join(', '),
  // Seconds; the longest time for which Chromium keeps the answer to a preflight.
  'access-control-max-age': '7200',
  // Some browsers wait for a body otherwise.
  'content-length': '0',
};

/**
 * Allows pages of other origins on all routes, errors included. A preflight is answered first: it needs no key, costs no units, and does
 * not depend on the path, so that a page can read the 404 of a path without a route.
 *
 * @param origins in the form of the Origin header; `*` alone allows all; none disables CORS
 */
export function registerCors(server: Server, origins: readonly string[]): void {
  if (origins.length === 0) return;
  server.addHook('onRequest', (request, reply, done) => {
    allowOrigin(origins, request, reply);
    reply.header('access-control-expose-headers', EXPOSED_HEADERS);
    if (isPreflight(request)) reply.status(204).headers(PREFLIGHT_HEADERS).send();
    else done();
  });
  // The hook above runs only on paths with a route; it answers preflights before this handler.
  server.options('*', { config: { access: OPERATIONS_ACCESS }, schema: { hide: true } }, (request) => {
    throw noSuchRoute(request);
  });
}

/** Sets the header that allows pages to read an answer. Exported for the answer to an invalid URL, before which no hook runs. */
export function allowOrigin(origins: readonly string[], request: FastifyRequest, reply: FastifyReply): void {
  if (origins.includes('*')) {
    reply.header('access-control-allow-origin', '*');
  } else if (origins.length > 0) {
    const { origin } = request.headers;
    reply.header('vary', 'Origin');
    if (origin !== undefined && origins.includes(origin)) reply.header('access-control-allow-origin', origin);
  }
}

function isPreflight({ method, headers }: FastifyRequest): boolean {
  return method === 'OPTIONS' && headers.origin !== undefined && headers['access-control-request-method'] !== undefined;
}
