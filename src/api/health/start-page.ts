import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Server } from '../../http/request/http-server.ts';
import { JSON_TYPE } from '../../http/request/json-type.ts';
import { OPERATIONS_ACCESS } from '../../http/request/route-access.ts';
import { createDocumentBytes, sendDocument } from '../../http/server/document-bytes.ts';

const NAME = 'Warp signature aggregator';
const LINKS = { docs: '/docs/', openapi: '/openapi.json', ready: '/health/ready' };

/** Answers browsers at `/`. */
export type SendPage = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>;

/** `/` has links to the documentation and the readiness, and the console for browsers if it is served. */
export function registerStartPage(
  server: Server,
  networks: readonly string[],
  version: string,
  sendPage?: SendPage,
): void {
  const json = createDocumentBytes(JSON.stringify({ name: NAME, version, networks, links: LINKS }), JSON_TYPE);
  // The default check of HAProxy and others.
  server.options('/', { config: { access: OPERATIONS_ACCESS }, schema: { hide: true } }, async (_request, reply) =>
    reply.status(204).header('allow', 'GET, HEAD, OPTIONS').send(),
  );
  server.get('/', { config: { access: OPERATIONS_ACCESS }, schema: { hide: true } }, async (request, reply) => {
    const vary = reply.getHeader('vary'); // by origin, if origins are listed
    reply.header('vary', vary === undefined ? 'Accept' : `${String(vary)}, Accept`);
    const isPage = sendPage !== undefined && request.headers.accept?.includes('text/html') === true;
    return isPage ? sendPage(request, reply) : sendDocument(request, reply, json);
  });
}
