import type { FastifyReply, FastifyRequest } from 'fastify';
import { OPERATIONS_ACCESS } from '../../http/access/route-access.ts';
import type { Server } from '../../http/request/http-server.ts';
import { JSON_TYPE } from '../../http/request/json-type.ts';
import { createDocumentBytes, sendDocument } from '../../http/server/document-bytes.ts';
import type { Network } from '../../network/network.ts';

const NAME = 'Warp signature aggregator';
const LINKS = { docs: '/docs', openapi: '/openapi.json', ready: '/health/ready' };

/** Answers browsers instead of the page of links. */
export type SendPage = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>;

/** `/` links to the documentation and the readiness: HTML for browsers, JSON for programs. */
export function registerStartPage(
  server: Server,
  networks: readonly Network[],
  version: string,
  sendPage?: SendPage,
): void {
  const names = networks.flatMap(({ pathNames }) => pathNames);
  const json = createDocumentBytes(JSON.stringify({ name: NAME, version, networks: names, links: LINKS }), JSON_TYPE);
  const html = createDocumentBytes(page(names, version), 'text/html; charset=utf-8');
  server.get('/', { config: { access: OPERATIONS_ACCESS }, schema: { hide: true } }, async (request, reply) => {
    const vary = reply.getHeader('vary'); // by origin, where origins are listed
    reply.header('vary', vary === undefined ? 'Accept' : `${String(vary)}, Accept`);
    if (request.headers.accept?.includes('text/html') !== true) return sendDocument(request, reply, json);
    if (sendPage !== undefined) return sendPage(request, reply);
    reply.header(
      'content-security-policy',
      "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    );
    return sendDocument(request, reply, html);
  });
}

function page(networks: readonly string[], version: string): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>${NAME}</title>
<h1>${NAME} ${escapeHtml(version)}</h1>
<p>Networks served: ${networks.map(escapeHtml).join(', ')}</p>
<ul>
<li><a href="${LINKS.docs}">Try the API in the browser</a></li>
<li><a href="${LINKS.openapi}">OpenAPI document</a></li>
<li><a href="${LINKS.ready}">Readiness</a></li>
</ul>
</html>
`;
}

function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
