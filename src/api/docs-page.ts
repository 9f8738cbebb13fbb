import fastifySwaggerUi from '@fastify/swagger-ui';
import { DOCS_ICON, DOCS_STYLE } from './docs-style.ts';
import { createDocumentBytes, type DocumentBytes, sendDocument } from './document-bytes.ts';
import { readGuides } from './guides.ts';
import type { Server } from './http-server.ts';
import { OPERATIONS_ACCESS } from './route-access.ts';

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

export interface PageDocuments {
  /** As the page shows it. */
  page(): DocumentBytes;
  yaml(): DocumentBytes;
}

/** A page to read the OpenAPI document, and the guides beside it. */
export async function registerDocsPage(server: Server, documents: PageDocuments): Promise<void> {
  const guides = readGuides().map((guide) => ({
    ...guide,
    url: `${PREFIX}/guides/${guide.slug}.json`,
    bytes: createDocumentBytes(JSON.stringify(guide.document), 'application/json; charset=utf-8'),
  }));
  for (const { url, bytes } of guides) {
    server.get(url, { config: { access: OPERATIONS_ACCESS }, schema: { hide: true } }, async (request, reply) =>
      sendDocument(request, reply, bytes),
    );
  }
  await server.register(async (scope: Server) => {
    // The plugin's routes cannot declare themselves, and it would serialise the document anew for each request.
    scope.addHook('onRoute', (route) => {
      route.config = { ...route.config, access: OPERATIONS_ACCESS };
      if (route.url === `${PREFIX}/json`)
        route.handler = async (request, reply) => sendDocument(request, reply, documents.page());
      if (route.url === `${PREFIX}/yaml`)
        route.handler = async (request, reply) => sendDocument(request, reply, documents.yaml());
    });
    await scope.register(fastifySwaggerUi, {
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
        urls: [{ name: 'Reference', url: `${PREFIX}/json` }, ...guides.map(({ name, url }) => ({ name, url }))],
      },
    });
  });
}
