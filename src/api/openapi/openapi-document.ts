import type { SwaggerOptions } from '@fastify/swagger';
import { plainErrorResponses } from '../../http/errors/error-body.ts';
import type { ErrorStatus } from '../../http/errors/error-codes.ts';
import { REQUEST_ID_HEADER } from '../../http/request/request-id.ts';
import { MAX_UNITS_OF_SIGNERS, type RouteAccess } from '../../http/request/route-access.ts';
import { describeEventStream, shareSchemas } from './named-schemas.ts';
import { type Document, type Operation, operationsOf, type Response } from './openapi-shape.ts';

/** Tags in the order of the page; tags that are missing here follow. */
const TAGS = [
  { name: 'Signature aggregation', description: 'Validators sign a Warp message, until the quorum is reached' },
  { name: 'Go aggregator', description: 'The same for clients of the Go signature aggregator, in its words' },
  { name: 'Primary network', description: 'What happened on the P-, X- and C-Chain; passed on to the data API' },
  { name: 'EVM chains', description: 'Blocks, transactions, tokens and NFTs; passed on to the data API' },
  { name: 'Metrics', description: 'Figures of chains; passed on to the metrics service' },
  { name: 'Node RPC', description: 'JSON-RPC, passed on to a node' },
  { name: 'Requests', description: 'What happened to requests for signatures' },
  { name: 'Health', description: 'Needs no key and costs nothing' },
];

/** Response headers. */
const HEADERS = {
  [REQUEST_ID_HEADER]: header('string', "The request's name in the service's log: the client's own, or one made here"),
  'retry-after': header(
    'integer',
    'Seconds until the same request may be made again; missing where that is not known. With the code `upstream_error` it is ' +
      "the upstream's",
  ),
  etag: header('string', 'Names this answer: sent as If-None-Match, it makes an answer that is still the same a 304'),
  age: header('integer', 'Seconds since the upstream gave this answer'),
  'cache-control': header('string', 'How long this answer may be kept; no-store where the service keeps none itself'),
  'x-ratelimit-limit': limitHeader('Units in a minute, which may be used at once and come back evenly'),
  'x-ratelimit-remaining': limitHeader('Units that may be used now'),
  'x-ratelimit-reset': limitHeader(
    'Seconds until all units are there again: 60 at most, and more only after work that cost more than was left',
  ),
  deprecation: header('string', "The upstream's: since when the route is deprecated"),
  sunset: header('string', "The upstream's: when the route ends"),
};
type HeaderName = keyof typeof HEADERS;
const CACHE_HEADERS: readonly HeaderName[] = ['etag', 'age', 'cache-control'];
const LIMIT_HEADERS: readonly HeaderName[] = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'];

function header(type: string, description: string) {
  return { description, schema: { type } };
}

function limitHeader(ofService: string) {
  const ofUpstream =
    "as the upstream sends it about this service's key, in its own unit, and missing where it does not";
  return {
    description: `${ofService}, for the client of this service. A 429 with the code \`upstream_error\` has it ${ofUpstream}`,
    schema: { type: 'integer', minimum: 0 },
  };
}

/** Options of `@fastify/swagger`: the routes' schemas are the source, and what no single route states is added. */
export function describeDocument(addExamples: (document: Document) => void): SwaggerOptions {
  return {
    // Generators make a type of each enum, also of one value.
    convertConstToEnum: false,
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
      const { access, eventStream } = route.config ?? {};
      const extensions = {
        ...(access && { 'x-access': access }),
        ...(eventStream && describeEventStream(eventStream)),
      };
      return { schema: { ...schema, ...extensions }, url };
    },
    transformObject(object) {
      const complete = 'openapiObject' in object ? object.openapiObject : object.swaggerObject;
      completeDocument(complete as Document);
      addExamples(complete as Document);
      return complete;
    },
  };
}

function completeDocument(document: Document): void {
  for (const operation of operationsOf(document)) {
    const stream = operation['x-event-stream'];
    if (stream !== undefined) addSentence(operation, stream.description);
    // A route that describes its own 413 accepts any media type.
    const isBodyOpen = operation.requestBody !== undefined && operation.responses['413'] === undefined;
    addResponses(operation, plainErrorResponses(400, 408, 431, ...(isBodyOpen ? BODY_ERRORS : [])));
    describeAccess(operation);
    // After all responses have been added.
    describeHeaders(operation);
  }
  document.components = { ...document.components, headers: HEADERS, securitySchemes: SECURITY_SCHEMES };
  shareSchemas(document);
}

const SECURITY_SCHEMES = {
  serviceApiKey: { type: 'apiKey', in: 'header', name: 'x-service-api-key', description: 'Raises the rate limits' },
  glacierApiKey: { type: 'apiKey', in: 'header', name: 'x-glacier-api-key', description: 'Alias of the other' },
};

/** Errors of every route with a body. */
const BODY_ERRORS: readonly ErrorStatus[] = [413, 415, 501];

interface AddedSchema {
  readonly 'x-response-description'?: string;
  readonly examples?: readonly object[];
}

/** Adds responses that do not come from the route's handler. */
function addResponses({ responses }: Operation, added: Readonly<Record<string, object>>): void {
  for (const [status, schema] of Object.entries(added)) {
    const { 'x-response-description': description, examples: [example] = [], ...body } = schema as AddedSchema;
    responses[status] ??= {
      description,
      content: { 'application/json': { schema: body, ...(example && { example }) } },
    };
  }
}

/** Adds the headers that depend on the status: an upstream's refusal keeps its `retry-after`, and its limits if it is a 429. */
function describeHeaders(operation: Operation): void {
  const { responses, 'x-access': access } = operation;
  const isPassedOn = access?.group === 'data' || access?.group === 'rpc';
  for (const [status, response] of Object.entries(responses)) {
    const hasRetry = Number(status) >= (isPassedOn ? 400 : 500);
    addHeaders(response, [REQUEST_ID_HEADER, ...(hasRetry ? ['retry-after' as const] : [])]);
  }
  if (isPassedOn) {
    addHeaders(responses['429'], LIMIT_HEADERS);
    addHeaders(responses['200'], ['deprecation', 'sunset']);
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

/** Adds price, API keys and their errors to an operation that is not free. */
function describeAccess(operation: Operation): void {
  const { 'x-access': access } = operation;
  if (access === undefined || access.group === 'operations') return;
  operation.security = [{}, { serviceApiKey: [] }, { glacierApiKey: [] }];
  addSentence(operation, `Costs ${describePrice(access)} of those that a client has in a minute.`);
  addResponses(operation, plainErrorResponses(401, 403, 429));
  for (const response of Object.values(operation.responses)) addHeaders(response, LIMIT_HEADERS);
  addHeaders(operation.responses['429'], ['retry-after']);
}

function addSentence(operation: Operation, sentence: string): void {
  operation.description = operation.description === undefined ? sentence : `${operation.description}\n\n${sentence}`;
}

function describePrice(access: RouteAccess): string {
  const { units, unitsIfCached, unitsPerKiB, unitsPer100Signers, unitsPer100Messages, unitsPerValidator, stream } =
    access;
  const more = [
    ...(unitsPer100Messages === undefined ? [] : [`${unitsPer100Messages} for each full 100 messages`]),
    ...(stream === undefined
      ? []
      : [`for a stream ${stream.units - units} and ${stream.unitsPerMinute} for each minute`]),
    ...(unitsPerKiB === undefined ? [] : [`${unitsPerKiB} for each full KiB of message and justification together`]),
    ...(unitsPerValidator === undefined ? [] : [`${unitsPerValidator} for each validator of the page`]),
    ...(unitsPer100Signers === undefined
      ? []
      : [`${unitsPer100Signers} for each full 100 validators of the set that signs (${MAX_UNITS_OF_SIGNERS} at most)`]),
  ];
  const cached = unitsIfCached === undefined ? '' : `, or ${unitsIfCached} where the answer is cached`;
  const price = `${units} ${units === 1 ? 'unit' : 'units'}${cached}`;
  return more.length === 0 ? price : `${price}, and on top of it ${more.join(' and ')},`;
}
