import fastify, { type RouteOptions } from 'fastify';
import { once } from '../primitives/once.ts';
import { registerDocsPage } from './docs-page.ts';
import { createDocumentBytes, type DocumentBytes, sendDocument } from './document-bytes.ts';
import { addExamples, addServedExamples, operationsOf } from './document-examples.ts';
import { plainErrorResponses } from './error-body.ts';
import type { ErrorStatus } from './error-codes.ts';
import type { AggregationExamples } from './example-request.ts';
import type { Server } from './http-server.ts';
import type { Document, Operation, Response } from './openapi-shape.ts';
import { describeForReading } from './reading-document.ts';
import { REQUEST_ID_HEADER } from './request-id.ts';
import { MAX_UNITS_OF_SIGNERS, OPERATIONS_ACCESS, type RouteAccess } from './route-access.ts';
import { LAZY_COMPILERS } from './schema-compilers.ts';

/** In the order of the page; what has no entry here comes after. */
const TAGS = [
  { name: 'Signature aggregation', description: 'Validators sign a Warp message, until the quorum is reached' },
  { name: 'Go aggregator', description: 'The same for clients of the Go signature aggregator, in its words' },
  { name: 'Primary network', description: 'What happened on the P-, X- and C-Chain; passed on to the data API' },
  { name: 'EVM chains', description: 'Blocks, transactions, tokens and NFTs; passed on to the data API' },
  { name: 'Metrics', description: 'Figures of chains; passed on to the metrics service' },
  { name: 'Node RPC', description: 'JSON-RPC, passed on to a node' },
  { name: 'Health', description: 'Needs no key and costs nothing' },
];

/** Headers of answers, each with what it says. */
const HEADERS = {
  [REQUEST_ID_HEADER]: header('string', "The request's name in the service's log: the client's own, or one made here"),
  'retry-after': header('integer', 'Seconds until the same request may be made again; missing where nobody knows'),
  etag: header('string', 'Names this answer: sent as If-None-Match, it makes an answer that is still the same a 304'),
  age: header('integer', 'Seconds since the upstream gave this answer'),
  'cache-control': header('string', 'How long this answer may be kept; no-store where the service keeps none itself'),
  'x-ratelimit-limit': header('integer', 'Units in a minute'),
  'x-ratelimit-remaining': header('integer', 'Units that are left'),
  'x-ratelimit-reset': header('integer', 'Seconds until all units are there again'),
};
type HeaderName = keyof typeof HEADERS;
const CACHE_HEADERS: readonly HeaderName[] = ['etag', 'age', 'cache-control'];
const LIMIT_HEADERS: readonly HeaderName[] = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'];

function header(type: 'integer' | 'string', description: string) {
  return { description, schema: { type } };
}

export interface OpenApiOptions {
  /** Whether keys and rate limits count. */
  readonly isLimited: boolean;
  /** Requests that can be tried; undefined while, or where, there are none. */
  readonly example: () => AggregationExamples | undefined;
}

/** The OpenAPI document of all routes that are registered after it, and a page to read it. */
export function registerOpenApi(server: Server, { isLimited, example }: OpenApiOptions): void {
  const routes: RouteOptions[] = [];
  server.addHook('onRoute', (route) => void routes.push(route));
  const document = createDocument(() => describeRoutes(routes, isLimited), example);
  registerDocsPage(server, document);
  server.get(
    '/openapi.json',
    { config: { access: OPERATIONS_ACCESS }, schema: { hide: true } },
    async (request, reply) => sendDocument(request, reply, await document.json()),
  );
}

/** Loads what makes the document, and makes it. That belongs to a server, and to one that does not listen: so it has one of its own. */
async function describeRoutes(routes: readonly RouteOptions[], isLimited: boolean): Promise<Document> {
  const { default: fastifySwagger } = await import('@fastify/swagger');
  const described = fastify({ exposeHeadRoutes: false, schemaController: { compilersFactory: LAZY_COMPILERS } });
  await described.register(fastifySwagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Warp signature aggregator',
        description:
          'Turns Avalanche Warp messages into signed ones, and passes on what else the chain data API, the metrics service ' +
          'and the node RPC offer.\n\nErrors are `{message, statusCode, error, code}`, some with `details`; programs decide by ' +
          '`code`, whose values and meanings stand with each response. Every answer has an `x-request-id`, under which the ' +
          "service's log has more; a request may bring its own.\n\nAn API key is not needed; one in `x-service-api-key` " +
          'raises the limits. A path that exists for another method only is a 404: there is no 405.',
        version: '1',
      },
      tags: TAGS,
    },
    transform: ({ schema, url, route }) => {
      const access = route.config?.access;
      return { schema: access === undefined ? schema : { ...schema, 'x-access': access }, url };
    },
    transformObject(object) {
      const complete = 'openapiObject' in object ? object.openapiObject : object.swaggerObject;
      completeDocument(complete as Document, isLimited);
      return complete;
    },
  });
  for (const { method, url, schema, config } of routes) {
    if (method === 'HEAD') continue;
    described.route({ method, url, ...(schema && { schema }), ...(config && { config }), handler: () => undefined });
  }
  await described.ready();
  return described.swagger() as Document;
}

/** The document in bytes, made when it is first asked for, and once more when there is an example for it. */
function createDocument(describe: () => Promise<Document>, example: OpenApiOptions['example']) {
  const described = once(describe);
  let made: { json?: DocumentBytes; yaml?: DocumentBytes; page?: DocumentBytes } = {};
  let hasExample = false;

  async function current(): Promise<{ readonly document: Document; readonly known: typeof made }> {
    const document = await described();
    const found = hasExample ? undefined : example();
    if (found !== undefined) {
      hasExample = true;
      addServedExamples(document, found);
      made = {};
    }
    return { document, known: made };
  }
  return {
    async json(): Promise<DocumentBytes> {
      const { document, known } = await current();
      known.json ??= createDocumentBytes(JSON.stringify(document), 'application/json; charset=utf-8');
      return known.json;
    },
    /** For people, on the page. */
    async page(): Promise<DocumentBytes> {
      const { document, known } = await current();
      const shown = (): Document => describeForReading(structuredClone(document));
      known.page ??= createDocumentBytes(JSON.stringify(shown()), 'application/json; charset=utf-8');
      return known.page;
    },
    async yaml(): Promise<DocumentBytes> {
      const { document, known } = await current();
      // Any JSON is YAML, too.
      known.yaml ??= createDocumentBytes(JSON.stringify(document, null, 2), 'application/x-yaml');
      return known.yaml;
    },
  };
}

function completeDocument(document: Document, isLimited: boolean): void {
  for (const operation of operationsOf(document)) {
    sortParameters(operation);
    // A route that says itself what may be wrong with its body is in another form, and takes any media type.
    const isBodyOpen = operation.requestBody !== undefined && operation.responses['413'] === undefined;
    addResponses(operation, plainErrorResponses(400, 408, 431, ...(isBodyOpen ? BODY_ERRORS : [])));
  }
  addExamples(document);
  document.components = { ...document.components, headers: HEADERS };
  if (isLimited) describeAccess(document);
  // Last, as every answer has its headers, those added above too.
  for (const operation of operationsOf(document)) describeHeaders(operation);
  shareSchemas(document);
}

/** What any route with a body may answer. */
const BODY_ERRORS: readonly ErrorStatus[] = [413, 415];

/** Adds answers that the route does not list itself, as they do not come from it. */
function addResponses({ responses }: Operation, added: Readonly<Record<string, object>>): void {
  for (const [status, schema] of Object.entries(added)) {
    const { description, examples: [example] = [], ...body } = schema as { description?: string; examples?: object[] };
    responses[status] ??= {
      description,
      content: { 'application/json': { schema: body, ...(example && { example }) } },
    };
  }
}

/** Schemas of answers that have a title stand once in the document: those of errors are the same on every route. */
function shareSchemas(document: Document): void {
  const schemas: Record<string, object> = {};
  const share = (schema: unknown): unknown => {
    if (typeof schema !== 'object' || schema === null) return schema;
    if (Array.isArray(schema)) return schema.map(share);
    const shared = Object.fromEntries(
      Object.entries(schema).map(([name, value]) => [name, name === 'examples' ? value : share(value)]),
    );
    const { title } = shared;
    if (typeof title !== 'string') return shared;
    schemas[title] = shared;
    return { $ref: `#/components/schemas/${title}` };
  };
  for (const { responses } of operationsOf(document)) {
    for (const media of Object.values(responses).flatMap(({ content = {} }) => Object.values(content))) {
      if (media.schema !== undefined) media.schema = share(media.schema) as object;
    }
  }
  document.components = { ...document.components, schemas: { ...document.components?.schemas, ...schemas } };
}

/** Those of the path first, as they are read. */
function sortParameters(operation: Operation): void {
  if (operation.parameters === undefined) return;
  const inPath = operation.parameters.filter((parameter) => parameter.in === 'path');
  operation.parameters = [...inPath, ...operation.parameters.filter((parameter) => parameter.in !== 'path')];
}

/** What may be answered by 304 may be kept, and what failed here may be asked for again. */
function describeHeaders(operation: Operation): void {
  const { responses } = operation;
  for (const [status, response] of Object.entries(responses)) {
    addHeaders(response, [REQUEST_ID_HEADER, ...(Number(status) >= 500 ? ['retry-after' as const] : [])]);
  }
  if (responses['304'] === undefined) return;
  for (const status of ['200', '304']) addHeaders(responses[status], CACHE_HEADERS);
  const ifNoneMatch = {
    name: 'if-none-match',
    in: 'header',
    required: false,
    schema: { type: 'string' },
    description: 'ETags of answers that the client has',
  };
  operation.parameters = [...(operation.parameters ?? []), ifNoneMatch];
}

function addHeaders(response: Response | undefined, names: readonly HeaderName[]): void {
  if (response === undefined) return;
  const references = names.map((name) => [name, { $ref: `#/components/headers/${name}` }] as const);
  response.headers = { ...response.headers, ...Object.fromEntries(references) };
}

/** Adds to each operation that is not free its price, its keys, and what they may answer. */
function describeAccess(document: Document): void {
  document.components = {
    ...document.components,
    securitySchemes: {
      serviceApiKey: { type: 'apiKey', in: 'header', name: 'x-service-api-key', description: 'Raises the rate limits' },
      glacierApiKey: {
        type: 'apiKey',
        in: 'header',
        name: 'x-glacier-api-key',
        description: 'The same by its other name',
      },
    },
  };
  for (const operation of operationsOf(document)) {
    const { 'x-access': access } = operation;
    if (access === undefined || access.group === 'operations') continue;
    operation.security = [{}, { serviceApiKey: [] }, { glacierApiKey: [] }];
    const price = `Costs ${describePrice(access)} of those that a client has in a minute.`;
    operation.description = operation.description === undefined ? price : `${operation.description}\n\n${price}`;
    addResponses(operation, plainErrorResponses(401, 403, 429));
    for (const response of Object.values(operation.responses)) addHeaders(response, LIMIT_HEADERS);
    addHeaders(operation.responses['429'], ['retry-after']);
  }
}

function describePrice({ units, unitsPerKiB, unitsPer100Signers }: RouteAccess): string {
  const more = [
    ...(unitsPerKiB === undefined ? [] : [`${unitsPerKiB} for each full KiB of message and justification together`]),
    ...(unitsPer100Signers === undefined
      ? []
      : [`${unitsPer100Signers} for each full 100 validators of the set that signs (${MAX_UNITS_OF_SIGNERS} at most)`]),
  ];
  const price = `${units} ${units === 1 ? 'unit' : 'units'}`;
  return more.length === 0 ? price : `${price}, and on top of it ${more.join(' and ')},`;
}
