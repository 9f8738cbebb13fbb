import fastifyCors from '@fastify/cors';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { noSuchRoute } from './http-error.ts';
import type { Server } from './http-server.ts';
import { REQUEST_ID_HEADER } from './request-id.ts';
import { OPERATIONS_ACCESS } from './route-access.ts';

/** What the service's routes take, and what the public client of the API sends from a page. Cookies have no meaning here. */
const REQUEST_HEADERS = ['content-type', 'x-service-api-key', 'x-glacier-api-key', 'if-none-match', REQUEST_ID_HEADER];
/** Beside these a page sees only seven of an answer's headers, such as content-type. */
const EXPOSED_HEADERS = [
  ...['retry-after', 'x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'],
  ...['etag', 'age', 'deprecation', 'sunset', REQUEST_ID_HEADER],
].join(', ');
/** The longest time for which Chromium keeps the answer to a preflight. */
const PREFLIGHT_MAX_AGE_SECONDS = 7_200;

/**
 * Lets pages of other origins use all routes, errors included. A preflight is answered before anything else: it needs no key,
 * costs no units, and does not depend on the path, so that a page can read the 404 of a path without a route. Any other OPTIONS
 * request is a 404.
 *
 * @param origins as browsers send them; `*` alone is all; none is no CORS
 */
export async function registerCors(server: Server, origins: readonly string[]): Promise<void> {
  if (origins.length === 0) return;
  server.addHook('onRequest', (request, _reply, done) => {
    done(request.method !== 'OPTIONS' || isPreflight(request) ? undefined : noSuchRoute(request));
  });
  // The plugin's one route cannot declare itself.
  server.addHook('onRoute', (route) => {
    if (route.method === 'OPTIONS' && route.url === '*') route.config = { ...route.config, access: OPERATIONS_ACCESS };
  });
  await server.register(fastifyCors, {
    // A list makes answers differ by origin, and the plugin then sends Vary; all origins get the same answer.
    origin: origins.includes('*') ? '*' : [...origins],
    methods: ['GET', 'HEAD', 'POST'],
    allowedHeaders: REQUEST_HEADERS,
    exposedHeaders: EXPOSED_HEADERS,
    maxAge: PREFLIGHT_MAX_AGE_SECONDS,
  });
}

/** For the one answer that is sent before any hook runs: that the URL cannot be read. */
export function allowOrigin(origins: readonly string[], request: FastifyRequest, reply: FastifyReply): void {
  if (origins.includes('*')) {
    reply.header('access-control-allow-origin', '*');
  } else if (origins.length > 0) {
    const { origin } = request.headers;
    reply.header('vary', 'Origin');
    if (origin !== undefined && origins.includes(origin)) reply.header('access-control-allow-origin', origin);
  }
}

function isPreflight({ headers }: FastifyRequest): boolean {
  return headers.origin !== undefined && headers['access-control-request-method'] !== undefined;
}
