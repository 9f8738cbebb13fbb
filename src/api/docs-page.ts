import fastify, { type FastifyInstance } from 'fastify';
import { once } from '../primitives/once.ts';
import { DOCS_ICON, DOCS_STYLE } from './docs-style.ts';
import { createDocumentBytes, type DocumentBytes, sendDocument } from './document-bytes.ts';
import { type Guide, readGuides } from './guides.ts';
import { badRequest } from './http-error.ts';
import type { Server } from './http-server.ts';
import { OPERATIONS_ACCESS } from './route-access.ts';
import { LAZY_COMPILERS } from './schema-compilers.ts';

/** Everything comes from this service. The page needs nothing inline, and may ask nobody else. */
const CONTENT_SECURITY_POLICY = {
  'default-src': ["'none'"],
  'script-src': ["'self'"],
  // The page's bar has one style of its own, with its logo.
  'style-src': ["'self'", "'sha256-RL3ie0nH+Lzz2YNqQN83mnU0J1ot4QL7b99vMdIX99w='"],
  'img-src': ["'self'", 'data:'],
  'connect-src': ["'self'"],
  'base-uri': ["'none'"],
  'form-action': ["'none'"],
  'frame-ancestors': ["'none'"],
};

/** Where the page is. */
const PREFIX = '/docs';

/** Headers that belong to a connection, and not to what is sent over it. */
const OF_CONNECTION: ReadonlySet<string> = new Set(['connection', 'keep-alive', 'transfer-encoding', 'date']);

const ROUTE = { config: { access: OPERATIONS_ACCESS }, schema: { hide: true } };

export interface PageDocuments {
  /** As the page shows it. */
  page(): Promise<DocumentBytes>;
  yaml(): Promise<DocumentBytes>;
}

/** A page to read the OpenAPI document, and the guides beside it. All of it is loaded when somebody first looks. */
export function registerDocsPage(server: Server, documents: PageDocuments): void {
  const readAll = once(() => new Map(readGuides().map((guide) => [guide.slug, documentOf(guide)])));
  server.get(`${PREFIX}/json`, ROUTE, async (request, reply) => sendDocument(request, reply, await documents.page()));
  server.get(`${PREFIX}/yaml`, ROUTE, async (request, reply) => sendDocument(request, reply, await documents.yaml()));
  server.get<{ Params: { slug: string } }>(`${PREFIX}/guides/:slug.json`, ROUTE, async (request, reply) => {
    const guide = readAll().get(request.params.slug);
    if (guide === undefined) return reply.callNotFound();
    return sendDocument(request, reply, guide);
  });
  const open = once(openPage);
  for (const url of [PREFIX, `${PREFIX}/*`]) {
    server.get(url, ROUTE, async ({ url, headers }, reply) => {
      const page = await open();
      // For a HEAD too: Fastify leaves the body out, and has its length from it.
      const answer = await page.inject({ method: 'GET', url, headers });
      if (answer.statusCode === 404) return reply.callNotFound();
      if (answer.statusCode >= 400) throw badRequest('the path is none of a file');
      for (const [name, value] of Object.entries(answer.headers)) {
        if (value !== undefined && !OF_CONNECTION.has(name)) reply.header(name, value);
      }
      return reply.status(answer.statusCode).send(answer.rawPayload.length > 0 ? answer.rawPayload : undefined);
    });
  }
}

function documentOf({ document }: Guide): DocumentBytes {
  return createDocumentBytes(JSON.stringify(document), 'application/json; charset=utf-8');
}

/** A server of its own, as routes cannot be added to one that listens. It never does: requests are handed to it. */
async function openPage(): Promise<FastifyInstance> {
  const [{ default: fastifySwagger }, { default: fastifySwaggerUi }] = await Promise.all([
    import('@fastify/swagger'),
    import('@fastify/swagger-ui'),
  ]);
  const guides = readGuides().map(({ name, slug }) => ({ name, url: `${PREFIX}/guides/${slug}.json` }));
  const page = fastify({ schemaController: { compilersFactory: LAZY_COMPILERS } });
  // The page's plugin asks for it; the documents come from the other server.
  await page.register(fastifySwagger);
  await page.register(fastifySwaggerUi, {
    routePrefix: PREFIX,
    staticCSP: CONTENT_SECURITY_POLICY,
    theme: {
      title: 'Warp signature aggregator',
      css: [{ filename: 'page.css', content: DOCS_STYLE }],
      favicon: [{ filename: 'icon.svg', rel: 'icon', type: 'image/svg+xml', sizes: 'any', content: DOCS_ICON }],
    },
    logo: { type: 'image/svg+xml', content: DOCS_ICON, href: '/', target: '_self' },
    uiConfig: {
      deepLinking: true,
      // Limits are shown with each parameter.
      showCommonExtensions: true,
      // The schemas stand with each operation: a second list of them all only makes the page long.
      defaultModelsExpandDepth: -1,
      // With a list of documents, the page's bar has no field for documents of other hosts.
      urls: [{ name: 'Reference', url: `${PREFIX}/json` }, ...guides],
    },
  });
  await page.ready();
  return page;
}
