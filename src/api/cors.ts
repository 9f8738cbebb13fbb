import fastifyCors from '@fastify/cors';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { handleNotFound } from './error-handler.ts';
import type { Server } from './http-server.ts';

/** What the service's routes take, and what the public client of the API sends from a page. Cookies have no meaning here. */
const REQUEST_HEADERS = ['content-type', 'x-service-api-key', 'x-glacier-api-key', 'if-none-match'];
/** Of an answer's headers a page sees but seven others, such as content-type. */
const EXPOSED_HEADERS = [
  ...['retry-after', 'x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'],
  ...['etag', 'age', 'deprecation', 'sunset'],
].join(', ');
/** As long as Chromium believes a preflight at most. */
const PREFLIGHT_MAX_AGE_SECONDS = 7_200;

/**
 * Lets pages of other origins use all routes, errors included. A preflight is answered before anything else: it needs no
 * key, costs no units, and does not depend on the path, so that a page can read the 404 of a path that is not there. Any
 * other OPTIONS request is a route that is not there.
 *
 * @param origins as browsers send them; `*` alone is all; none is no CORS
 */
export async function registerCors(server: Server, origins: readonly string[]): Promise<void> {
  if (origins.length === 0) return;
  server.addHook('onRequest', (request, reply, done) => {
    if (request.method !== 'OPTIONS' || isPreflight(request)) done();
    else handleNotFound(request, reply);
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

/** For an answer that is sent before any hook runs: that the URL cannot be read. */
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
