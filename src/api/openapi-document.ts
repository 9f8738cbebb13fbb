import fastifySwagger from '@fastify/swagger';
import fastifySwaggerUi from '@fastify/swagger-ui';
import { errorResponses } from './error-body.ts';
import type { Server } from './http-server.ts';

const METHODS = ['get', 'post'] as const;
/** Paths below which keys and rate limits count. */
const LIMITED_PATH = /^\/(v1|ext)\//;

/** In the order of the page; what has no entry here comes after. */
const TAGS = [
  { name: 'Signature aggregation', description: 'Validators sign a Warp message, until the quorum is reached' },
  { name: 'Primary network', description: 'What happened on the P-, X- and C-Chain; passed on to the data API' },
  { name: 'EVM chains', description: 'Blocks, transactions, tokens and NFTs; passed on to the data API' },
  { name: 'Metrics', description: 'Figures of chains; passed on to the metrics service' },
  { name: 'Node RPC', description: 'JSON-RPC, passed on to a node' },
  { name: 'Health', description: 'Needs no key and costs nothing' },
];

/** Headers of answers, each with what it says. */
const HEADERS = {
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

/** Everything comes from this service. The page needs nothing inline, and may ask nobody else. */
const CONTENT_SECURITY_POLICY = {
  'default-src': ["'none'"],
  'script-src': ["'self'"],
  'style-src': ["'self'"],
  'img-src': ["'self'", 'data:'],
  'connect-src': ["'self'"],
  'base-uri': ["'none'"],
  'form-action': ["'none'"],
  'frame-ancestors': ["'none'"],
};

interface Operation {
  parameters?: readonly { readonly in: string }[];
  security?: object[];
  responses: Record<string, Response>;
}

interface Response {
  description?: string | undefined;
  content?: object;
  headers?: Record<string, object>;
}

interface Document {
  components?: { securitySchemes?: Record<string, object>; headers?: Record<string, object> };
  paths?: Record<string, Partial<Record<(typeof METHODS)[number], Operation>>>;
}

/**
 * The OpenAPI document of all routes that are registered after it, and a page to read it.
 *
 * @param isLimited whether keys and rate limits count
 */
export async function registerOpenApi(server: Server, isLimited: boolean): Promise<void> {
  await server.register(fastifySwagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Warp signature aggregator',
        description:
          'Turns Avalanche Warp messages into signed ones, and passes on what else the chain data API, the metrics service ' +
          'and the node RPC offer.\n\nErrors are `{message, statusCode, error}`. An API key is not needed; one in ' +
          '`x-service-api-key` raises the limits. A path that is there for another method is a 404, as the API knows no 405.',
        version: '1',
      },
      tags: TAGS,
    },
    transformObject(object) {
      const complete = 'openapiObject' in object ? object.openapiObject : object.swaggerObject;
      const document = complete as Document;
      for (const operation of operationsOf(document)) {
        sortParameters(operation);
        describeHeaders(operation);
      }
      document.components = { ...document.components, headers: HEADERS };
      if (isLimited) describeAccess(document);
      return complete;
    },
  });
  await server.register(fastifySwaggerUi, {
    routePrefix: '/docs',
    staticCSP: CONTENT_SECURITY_POLICY,
    theme: { title: 'Warp signature aggregator' },
    // The plain layout has no bar with a field for documents of other hosts. Limits are shown with each parameter.
    uiConfig: { layout: 'BaseLayout', deepLinking: true, showCommonExtensions: true },
  });
  server.get('/openapi.json', { schema: { hide: true } }, async () => server.swagger());
}

function operationsOf({ paths = {} }: Document, path = /./): Operation[] {
  return Object.entries(paths)
    .filter(([name]) => path.test(name))
    .flatMap(([, operations]) => METHODS.flatMap((method) => operations[method] ?? []));
}

/** Those of the path first, as they are read. */
function sortParameters(operation: Operation): void {
  if (operation.parameters === undefined) return;
  const inPath = operation.parameters.filter((parameter) => parameter.in === 'path');
  operation.parameters = [...inPath, ...operation.parameters.filter((parameter) => parameter.in !== 'path')];
}

/** What may be answered by 304 may be kept, and what is answered by 503 may be asked for again. */
function describeHeaders(operation: Operation): void {
  const { responses } = operation;
  addHeaders(responses['503'], ['retry-after']);
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

/** Adds to each operation that keys and rate limits count for what they may answer. */
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
  for (const operation of operationsOf(document, LIMITED_PATH)) {
    operation.security = [{}, { serviceApiKey: [] }, { glacierApiKey: [] }];
    for (const [status, schema] of Object.entries(errorResponses(401, 403, 429))) {
      const {
        description,
        examples: [example] = [],
        ...body
      } = schema as { description?: string; examples?: object[] };
      operation.responses[status] = { description, content: { 'application/json': { schema: body, example } } };
    }
    for (const response of Object.values(operation.responses)) addHeaders(response, LIMIT_HEADERS);
    addHeaders(operation.responses['429'], ['retry-after']);
  }
}
