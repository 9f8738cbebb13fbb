import fastify, { type FastifyInstance } from 'fastify';
import { once } from '../primitives/once.ts';
import { splitTarget } from './canonical-target.ts';
import { DOCS_ICON, DOCS_STYLE } from './docs-style.ts';
import { createDocumentBytes, type DocumentBytes, sendDocument } from './document-bytes.ts';
import { type Guide, readGuides } from './guides.ts';
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

/** The files of the page have such names; all else a path may say would be another name for one of them, or for none. */
const FILE_PATH = /^(?:\/[\w-]+(?:\.[\w-]+)*)+\/?$/;

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
  const find = createFileFinder();
  for (const url of [PREFIX, `${PREFIX}/*`]) {
    server.get(url, ROUTE, async (request, reply) => {
      const { path } = splitTarget(request.url);
      const found = FILE_PATH.test(path) ? await find(path) : undefined;
      if (found === undefined) return reply.callNotFound();
      if ('location' in found) return reply.redirect(found.location);
      return sendDocument(request, reply.header('content-security-policy', found.policy), found.document);
    });
  }
}

type Found = { readonly document: DocumentBytes; readonly policy: string } | { readonly location: string } | undefined;

/** Each file is read once, and then kept: some 20 files of 2.5 MB together, of which the largest would be held whole for each request. */
function createFileFinder(): (path: string) => Promise<Found> {
  const open = once(openPage);
  const files = new Map<string, Promise<Found>>();

  async function read(path: string): Promise<Found> {
    const page = await open();
    const { statusCode, headers, rawPayload } = await page.inject({ method: 'GET', url: path });
    if (statusCode === 404) return undefined;
    if (headers.location !== undefined) return { location: headers.location };
    if (statusCode !== 200) throw new Error(`the page of the API answers with the status ${statusCode}`);
    const document = createDocumentBytes(rawPayload, String(headers['content-type']));
    return { document, policy: String(headers['content-security-policy']) };
  }
  return async (path) => {
    const reading = files.get(path) ?? read(path);
    files.set(path, reading);
    let found: Found;
    try {
      found = await reading;
      return found;
    } finally {
      // Of paths without a file there is no end, and whoever meets an error asks again.
      if (found === undefined) files.delete(path);
    }
  };
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
