import type { FastifyReply, FastifyRequest } from 'fastify';
import { noSuchRoute } from '../errors/http-error.ts';
import type { Server } from '../request/http-server.ts';
import { REQUEST_ID_HEADER } from '../request/request-id.ts';
import { OPERATIONS_ACCESS } from './route-access.ts';

/** Beside these a page sees only seven of an answer's headers, such as content-type. */
const EXPOSED_HEADERS = [
  ...['retry-after', 'x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'],
  ...['etag', 'age', 'deprecation', 'sunset', REQUEST_ID_HEADER],
].join(', ');
const PREFLIGHT_HEADERS = {
  'access-control-allow-methods': 'GET, HEAD, POST',
  // What the service's routes take, and what the public client of the API sends from a page. Cookies have no meaning here.
  'access-control-allow-headers': [
    ...['content-type', 'x-service-api-key', 'x-glacier-api-key', 'if-none-match', REQUEST_ID_HEADER],
  ].join(', '),
  // Seconds: the longest time for which Chromium keeps the answer to a preflight.
  'access-control-max-age': '7200',
  // Some browsers wait for a body otherwise.
  'content-length': '0',
};

/**
 * Lets pages of other origins use all routes, errors included. A preflight is answered before anything else: it needs no key,
 * costs no units, and does not depend on the path, so that a page can read the 404 of a path without a route.
 *
 * @param origins as browsers send them; `*` alone is all; none is no CORS
 */
export function registerCors(server: Server, origins: readonly string[]): void {
  if (origins.length === 0) return;
  server.addHook('onRequest', (request, reply, done) => {
    allowOrigin(origins, request, reply);
    reply.header('access-control-expose-headers', EXPOSED_HEADERS);
    if (isPreflight(request)) reply.status(204).headers(PREFLIGHT_HEADERS).send();
    else done();
  });
  // For all paths, so that the hook runs for them. It has answered preflights before.
  server.options('*', { config: { access: OPERATIONS_ACCESS }, schema: { hide: true } }, (request) => {
    throw noSuchRoute(request);
  });
}

/** Says who may read an answer. By itself for the one that is sent before any hook runs: that the URL cannot be read. */
export function allowOrigin(origins: readonly string[], request: FastifyRequest, reply: FastifyReply): void {
  if (origins.includes('*')) {
    // The same answer for all.
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
