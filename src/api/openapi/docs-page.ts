import { readFileSync } from 'node:fs';
import { posix } from 'node:path';
import fastify, { type FastifyInstance, type RouteOptions } from 'fastify';
import { LRUCache } from 'lru-cache';
import { splitTarget } from '../../http/request/canonical-target.ts';
import type { Server } from '../../http/request/http-server.ts';
import { PLAIN_SERIALIZER } from '../../http/request/json-type.ts';
import { OPERATIONS_ACCESS } from '../../http/request/route-access.ts';
import { createDocumentBytes, type DocumentBytes, sendDocument } from '../../http/server/document-bytes.ts';
import { once } from '../../lib/concurrency/once.ts';
import { addExamples } from './document-examples.ts';
import type { AggregationExamples } from './example-request.ts';
import { describeDocument } from './openapi-document.ts';
import { type Document, operationsOf } from './openapi-shape.ts';

/** The page loads from this service only. The hash is that of the logo's inline style. */
const CONTENT_SECURITY_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'sha256-RL3ie0nH+Lzz2YNqQN83mnU0J1ot4QL7b99vMdIX99w='; " +
  "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const DOCUMENT = '/openapi.json';
const PREFIX = '/docs';
/** Excludes other spellings of a file's path. */
const FILE_PATH = /^(?:\/[\w-]+(?:\.[\w-]+)*)+\/?$/;
const MAX_FILES = 64;
const HIDDEN = { schema: { hide: true } };

/**
 * Serves the OpenAPI document of all routes that are registered after this call, and Swagger UI.
 *
 * @param example returns requests to try; undefined until, or unless, there are any
 */
export function registerOpenApi(server: Server, example: () => AggregationExamples | undefined): void {
  const routes: RouteOptions[] = [];
  server.addHook('onRoute', (route) => void routes.push(route));
  let examples: AggregationExamples | undefined;
  let files: LRUCache<string, File> | undefined;
  for (const url of [DOCUMENT, PREFIX, `${PREFIX}/*`]) {
    server.get(url, { config: { access: OPERATIONS_ACCESS }, ...HIDDEN }, async (request, reply) => {
      const found = examples === undefined ? example() : undefined;
      if (files === undefined || found !== undefined) {
        examples = found;
        files = createFileCache(once(() => openSite(routes, found)));
      }
      const { path } = splitTarget(request.url);
      const file = FILE_PATH.test(path) ? await files.fetch(path) : undefined;
      if (file === undefined) return reply.callNotFound();
      if ('location' in file) return reply.redirect(file.location);
      if (file.policy !== undefined) reply.header('content-security-policy', file.policy);
      return sendDocument(request, reply, file.document);
    });
  }
}

type File = { readonly document: DocumentBytes; readonly policy: string | undefined } | { readonly location: string };

/** Reads each file once and keeps it: about 20 files with 5 MB together. */
function createFileCache(open: () => Promise<FastifyInstance>): LRUCache<string, File> {
  return new LRUCache({ max: MAX_FILES, fetchMethod: async (path) => readFile(await open(), path) });
}

/** Locations are relative, because a proxy may serve the page below a path of its own. */
async function readFile(site: FastifyInstance, url: string): Promise<File | undefined> {
  // The links of the page are relative to the path with a slash at its end.
  if (url === PREFIX) return { location: `${posix.basename(PREFIX)}/` };
  const { statusCode, headers, rawPayload } = await site.inject({ method: 'GET', url });
  if (statusCode === 404) return undefined;
  if (headers.location !== undefined) return { location: `${posix.relative(posix.dirname(url), headers.location)}/` };
  if (statusCode !== 200) throw new Error(`the page of the API answers with the status ${statusCode}`);
  const policy = headers['content-security-policy'] as string | undefined;
  // JSON has no charset.
  const type = String(headers['content-type']).replace('application/json; charset=utf-8', 'application/json');
  return { document: createDocumentBytes(rawPayload, type), policy };
}

/** The OpenAPI document of a release, which no running service serves: `network` is any text, and there is nothing to try. */
export async function describeRelease(routes: readonly RouteOptions[]): Promise<Document> {
  const site = await openSite(routes, undefined);
  try {
    const document = site.swagger() as Document;
    for (const { parameters = [] } of operationsOf(document)) {
      for (const parameter of parameters) if (parameter.name === 'network') parameter.schema = { type: 'string' };
    }
    return document;
  } finally {
    await site.close();
  }
}

/** Creates a server that never listens, so that the plugins are loaded at the first request for the page, not at the start. */
async function openSite(
  routes: readonly RouteOptions[],
  examples: AggregationExamples | undefined,
): Promise<FastifyInstance> {
  const [{ default: swagger }, { default: swaggerUi }] = await Promise.all([
    import('@fastify/swagger'),
    import('@fastify/swagger-ui'),
  ]);
  const site = fastify({ exposeHeadRoutes: false });
  site.setValidatorCompiler(() => () => true).setSerializerCompiler(PLAIN_SERIALIZER);
  await site.register(
    swagger,
    describeDocument((document) => addExamples(document, examples)),
  );
  for (const { method, url, schema, config } of routes) {
    if (method === 'HEAD' || schema?.hide === true) continue;
    site.route({ method, url, ...(schema && { schema }), ...(config && { config }), handler: () => undefined });
  }
  site.get(DOCUMENT, HIDDEN, () => site.swagger());
  const [css, icon] = ['docs.css', 'icon.svg'].map((name) => readFileSync(new URL(name, import.meta.url), 'utf8'));
  await site.register(swaggerUi, {
    routePrefix: PREFIX,
    staticCSP: CONTENT_SECURITY_POLICY,
    // Relative to the document of the page.
    transformSpecification: (document) => ({ ...document, servers: [{ url: '../', description: 'This service' }] }),
    theme: {
      title: 'Warp signature aggregator',
      css: [{ filename: 'page.css', content: css ?? '' }],
      favicon: [{ filename: 'icon.svg', rel: 'icon', type: 'image/svg+xml', sizes: 'any', content: icon ?? '' }],
    },
    logo: { type: 'image/svg+xml', content: icon ?? '', href: '/', target: '_self' },
    // Limits are shown with each parameter, schemas with each operation.
    uiConfig: { deepLinking: true, showCommonExtensions: true, defaultModelsExpandDepth: -1 },
  });
  await site.ready();
  return site;
}
