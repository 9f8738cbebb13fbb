import fastify, { type FastifyInstance, type RouteOptions } from 'fastify';
import { OPERATIONS_ACCESS } from '../../http/access/route-access.ts';
import { splitTarget } from '../../http/request/canonical-target.ts';
import type { Server } from '../../http/request/http-server.ts';
import { PLAIN_SERIALIZER } from '../../http/request/json-type.ts';
import { once } from '../../lib/concurrency/once.ts';
import { DOCS_ICON, DOCS_STYLE } from './docs-style.ts';
import { createDocumentBytes, type DocumentBytes, sendDocument } from './document-bytes.ts';
import type { AggregationExamples } from './example-request.ts';
import { readGuides } from './guides.ts';
import { describeDocument } from './openapi-document.ts';
import type { Document } from './openapi-shape.ts';

/** Everything comes from this service. The page needs nothing inline but the style of its logo, and may ask no other host. */
const CONTENT_SECURITY_POLICY = {
  'default-src': ["'none'"],
  'script-src': ["'self'"],
  'style-src': ["'self'", "'sha256-RL3ie0nH+Lzz2YNqQN83mnU0J1ot4QL7b99vMdIX99w='"],
  'img-src': ["'self'", 'data:'],
  'connect-src': ["'self'"],
  'base-uri': ["'none'"],
  'form-action': ["'none'"],
  'frame-ancestors': ["'none'"],
};

const DOCUMENT = '/openapi.json';
const PREFIX = '/docs';
/** Any other path is a second name of a file, or the name of none. */
const FILE_PATH = /^(?:\/[\w-]+(?:\.[\w-]+)*)+\/?$/;
const HIDDEN = { schema: { hide: true } };

export interface OpenApiOptions {
  /** Whether keys and rate limits count. */
  readonly isLimited: boolean;
  /** Requests that can be tried; undefined while, or where, there are none. */
  readonly example: () => AggregationExamples | undefined;
}

/** Serves the OpenAPI document of all routes that are registered after it, and a page to read it and the guides. */
export function registerOpenApi(server: Server, { isLimited, example }: OpenApiOptions): void {
  const routes: RouteOptions[] = [];
  server.addHook('onRoute', (route) => void routes.push(route));
  let hasExample = false;
  let find: FindFile | undefined;
  for (const url of [DOCUMENT, PREFIX, `${PREFIX}/*`]) {
    server.get(url, { config: { access: OPERATIONS_ACCESS }, ...HIDDEN }, async (request, reply) => {
      const found = hasExample ? undefined : example();
      hasExample ||= found !== undefined;
      if (find === undefined || found !== undefined) {
        find = createFileFinder(once(() => openSite(routes, describeDocument(isLimited, found))));
      }
      const { path } = splitTarget(request.url);
      const file = FILE_PATH.test(path) ? await find(path) : undefined;
      if (file === undefined) return reply.callNotFound();
      if ('location' in file) return reply.redirect(file.location);
      if (file.policy !== undefined) reply.header('content-security-policy', file.policy);
      return sendDocument(request, reply, file.document);
    });
  }
}

type File = { readonly document: DocumentBytes; readonly policy: string | undefined } | { readonly location: string };
type FindFile = (path: string) => Promise<File | undefined>;

/** Reads each file once and keeps it: some 20 files of 5 MB together, which would be made anew for each request. */
function createFileFinder(open: () => Promise<FastifyInstance>): FindFile {
  const files = new Map<string, ReturnType<FindFile>>();
  return async (path) => {
    const reading = files.get(path) ?? open().then((site) => readFile(site, path));
    files.set(path, reading);
    // Paths without a file are without number, and an error may pass.
    const forget = (): void => void files.delete(path);
    reading.then((file) => file ?? forget(), forget);
    return reading;
  };
}

async function readFile(site: FastifyInstance, url: string): Promise<File | undefined> {
  const { statusCode, headers, rawPayload } = await site.inject({ method: 'GET', url });
  if (statusCode === 404) return undefined;
  if (headers.location !== undefined) return { location: headers.location };
  if (statusCode !== 200) throw new Error(`the page of the API answers with the status ${statusCode}`);
  const policy = headers['content-security-policy'] as string | undefined;
  // JSON has no charset.
  const type = String(headers['content-type']).replace('application/json; charset=utf-8', 'application/json');
  return { document: createDocumentBytes(rawPayload, type), policy };
}

/** A server that never listens, as the plugins are loaded only when the first request for the page comes. */
async function openSite(
  routes: readonly RouteOptions[],
  description: ReturnType<typeof describeDocument>,
): Promise<FastifyInstance> {
  const [{ default: swagger }, { default: swaggerUi }] = await Promise.all([
    import('@fastify/swagger'),
    import('@fastify/swagger-ui'),
  ]);
  const site = fastify({ exposeHeadRoutes: false });
  // The routes are described, not called.
  site.setValidatorCompiler(() => () => true).setSerializerCompiler(PLAIN_SERIALIZER);
  await site.register(swagger, description);
  for (const { method, url, schema, config } of routes) {
    if (method === 'HEAD' || schema?.hide === true) continue;
    site.route({ method, url, ...(schema && { schema }), ...(config && { config }), handler: () => undefined });
  }
  site.get(DOCUMENT, HIDDEN, () => site.swagger());
  const guides = readGuides().map(({ name, slug, document }) => {
    const url = `${PREFIX}/guides/${slug}.json`;
    site.get(url, HIDDEN, () => document);
    return { name, url };
  });
  await site.register(swaggerUi, {
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
    transformSpecification: (document) => preferPlainAnswer(document as Document) as typeof document,
  });
  await site.ready();
  return site;
}

/** The page asks for the first answer that is described: that is to be the plain one, not the stream of events. */
function preferPlainAnswer(document: Document): Document {
  for (const operation of Object.values(document.paths ?? {}).flatMap((operations) => Object.values(operations))) {
    const { '200': stream, ...others } = operation.responses;
    if (stream?.content?.['text/event-stream'] !== undefined) operation.responses = { ...others, '2XX': stream };
  }
  return document;
}
