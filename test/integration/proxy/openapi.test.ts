import type { TSchema } from 'typebox';
import Schema from 'typebox/schema';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { UPSTREAM_ENDPOINTS } from '../../../src/proxy/catalogue/upstream-endpoints.ts';
import { sendJson } from './stand-in.ts';
import { ANSWERS } from './stand-in-records.ts';
import { startUpstreamService, type UpstreamService } from './upstream-service.ts';

interface Schema {
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly default?: unknown;
  readonly enum?: readonly string[];
  readonly deprecated?: boolean;
  readonly $ref?: string;
  readonly description?: string;
}

interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required?: boolean;
  readonly description?: string;
  readonly schema: Schema;
}

interface Content {
  readonly content?: { readonly 'application/json': { readonly schema: Schema } };
}

interface Operation {
  readonly operationId: string;
  readonly description?: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: Content;
  readonly responses: Readonly<Record<string, Content & { readonly headers?: Readonly<Record<string, object>> }>>;
  readonly security?: readonly object[];
}

let service: UpstreamService;
let document: { openapi: string; paths: Record<string, Record<string, Operation>>; components: object };
beforeAll(async () => {
  service = await startUpstreamService({
    access: { apiKeys: [], unitsPerMinute: undefined, trustedProxies: [] },
  });
  document = (await service.get('/openapi.json')).body as unknown as typeof document;
});
afterAll(async () => {
  await service[Symbol.asyncDispose]();
});

function operations(): { path: string; method: string; operation: Operation }[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
}

/** Schemas that stand once in the document. */
function resolve(schema: Schema | undefined): Schema {
  const name = schema?.$ref?.split('/').at(-1);
  const { schemas } = document.components as { readonly schemas: Readonly<Record<string, Schema>> };
  return (name === undefined ? schema : schemas[name]) ?? {};
}

function operationOf(operationId: string): Operation {
  return operations().find(({ operation }) => operation.operationId === operationId)!.operation;
}

function parametersOf(operationId: string): readonly Parameter[] {
  return operationOf(operationId).parameters ?? [];
}

const EVM_ADDRESS = `0x${'ab'.repeat(20)}`;

/**
 * The ranges and defaults of all numbers, from the tables of the specification: least, greatest, default. Where it says "0 or more",
 * and of blocks, there is no greatest.
 */
const UNBOUNDED = undefined;
type Range = readonly [minimum: number, maximum: number | undefined, byDefault?: number];
const PAGE: Readonly<Record<string, Range>> = { pageSize: [1, 100, 10] };
const TIMES: Readonly<Record<string, Range>> = { startTimestamp: [0, UNBOUNDED], endTimestamp: [0, UNBOUNDED] };
const BLOCKS: Readonly<Record<string, Range>> = { startBlock: [0, UNBOUNDED], endBlock: [0, UNBOUNDED] };
const RANGES: Readonly<Record<keyof typeof ANSWERS, Readonly<Record<string, Range>>>> = {
  listPrimaryNetworkTransactions: { ...PAGE, ...TIMES },
  getPrimaryNetworkTransaction: {},
  listBlockchains: { pageSize: [1, 10_000, 100] },
  listValidators: {
    ...PAGE,
    minTimeRemaining: [0, 2_147_483_647],
    maxTimeRemaining: [0, 2_147_483_647],
    minFeePercentage: [2, 100, 2],
    maxFeePercentage: [2, 100, 100],
    minUptimePerformance: [0, 100, 90],
    maxUptimePerformance: [0, 100, 100],
  },
  listDelegators: PAGE,
  listVertices: PAGE,
  listVerticesByHeight: { ...PAGE, vertexHeight: [0, UNBOUNDED] },
  listBlocksOfNode: { ...PAGE, ...TIMES },
  listChainIdsOfAddresses: {},
  listErc20Transfers: { ...PAGE, ...BLOCKS },
  listInternalTransactions: { ...PAGE, ...BLOCKS },
  listTokenTransfers: { ...PAGE, ...BLOCKS },
  getEvmBlock: {},
  listBlockTransactions: { pageSize: [0, 100, 0] },
  getEvmTransaction: {},
  listNftTokens: PAGE,
  getAverageTps: {},
};

/** All other parameters of queries that the documents name. */
const FILTERS: Readonly<Partial<Record<keyof typeof ANSWERS, string>>> = {
  listPrimaryNetworkTransactions: 'pageToken sortOrder addresses l1ValidationId txTypes',
  listBlockchains: 'pageToken sortOrder',
  listValidators:
    'pageToken sortOrder nodeIds sortBy validationStatus minDelegationCapacity maxDelegationCapacity subnetId',
  listDelegators: 'pageToken sortOrder rewardAddresses delegationStatus nodeIds',
  listVertices: 'pageToken',
  listVerticesByHeight: 'pageToken sortOrder',
  listBlocksOfNode: 'pageToken',
  listChainIdsOfAddresses: 'addresses',
  listErc20Transfers: 'pageToken',
  listInternalTransactions: 'pageToken',
  listTokenTransfers: 'pageToken',
  listBlockTransactions: 'pageToken',
  listNftTokens: 'pageToken',
  getAverageTps: 'pageToken',
};

describe('/openapi.json', () => {
  test('is OpenAPI 3.1 and has every route, each once', () => {
    expect(document.openapi).toBe('3.1.0');
    const ids = operations().map(({ operation }) => operation.operationId);
    expect(ids.toSorted()).toEqual(
      [
        ...UPSTREAM_ENDPOINTS.map(({ operationId }) => operationId),
        ...[
          'aggregateSignatures',
          'aggregateSignaturesOfTransaction',
          'listSubnets',
          'getSubnet',
          'verifySignedMessage',
          'decodeMessage',
          'proveUptime',
          'goAggregateSignatures',
          'goAggregateSignaturesOfNetwork',
          'reindexNftToken',
          'callNode',
          ...['getRequest', 'listRequests'],
          'live',
          'ready',
          'readyNetwork',
        ],
      ].toSorted(),
    );
    expect(Object.keys(document.paths)).toEqual(
      expect.arrayContaining([
        '/v1/networks/{network}/addresses:listChainIds',
        '/v1/networks/{network}/blockchains/{blockchainId}/vertices:listByHeight',
        '/v1/chains/{chainId}/nfts/collections/{address}/tokens/{tokenId}:reindex',
        '/ext/bc/{chain}',
      ]),
    );
  });

  test('names the parameters of each path, and all errors with their body', () => {
    for (const { path, operation } of operations()) {
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      const described = (operation.parameters ?? []).filter((parameter) => parameter.in === 'path');
      expect(described.map(({ name }) => name)).toEqual(inPath);
      expect(described.every(({ required }) => required)).toBe(true);
      if (/^\/(?:health|console)/.test(path)) continue;
      const errors = Object.entries(operation.responses).filter(([status]) => Number(status) >= 400);
      if (path.endsWith('/aggregate-signatures')) {
        // The Go aggregator's statuses, in its form but for what is answered before there is a route.
        const ofPath = path.includes('{') ? [404] : [];
        const statuses = [400, 401, 403, ...ofPath, 408, 413, 429, 431, 500];
        expect(errors.map(([status]) => Number(status))).toEqual(statuses);
        for (const [status, { content }] of errors.filter(([code]) => code !== '408' && code !== '431')) {
          const { properties = {} } = resolve(content?.['application/json'].schema);
          expect([status, Object.keys(properties)]).toEqual([status, ['error']]);
        }
        continue;
      }
      const withBody = operation.requestBody === undefined ? [] : [413, 415, 501];
      // Decoding needs no other service; a large body may be rejected for lack of memory.
      const ofOthers = operation.operationId === 'decodeMessage' ? [500, 503] : [500, 502, 503];
      const ofHandler = path.startsWith('/v1/requests') ? [] : ofOthers;
      const ofPath = path === '/v1/requests' ? [] : [404];
      expect(errors.map(([status]) => Number(status))).toEqual(
        [400, 401, 403, ...ofPath, 408, 429, 431, ...ofHandler, ...withBody].toSorted((a, b) => a - b),
      );
      for (const [, { content }] of errors) {
        const schema = resolve(content?.['application/json'].schema);
        // A JSON-RPC call that is wrong is answered in JSON-RPC.
        const forms = schema.anyOf?.map(resolve) ?? [schema];
        expect(forms.map(({ properties = {} }) => Object.keys(properties))).toContainEqual(
          expect.arrayContaining(['message', 'statusCode', 'error', 'code']),
        );
        expect(forms).toHaveLength(operation.operationId === 'callNode' && schema.anyOf !== undefined ? 2 : 1);
      }
      expect(operation.security).toEqual([{}, { serviceApiKey: [] }, { glacierApiKey: [] }]);
    }
    expect(document.components).toHaveProperty('securitySchemes.glacierApiKey.name', 'x-glacier-api-key');
  });

  test.each(Object.keys(ANSWERS) as (keyof typeof ANSWERS)[])(
    'has the parameters, ranges and defaults of the specification: %s',
    (operationId) => {
      const inQuery = parametersOf(operationId).filter((parameter) => parameter.in === 'query');
      const isNumber = ({ schema }: Parameter) => ['integer', 'number'].includes(String(schema.type));
      const ranges = inQuery.filter(isNumber).map(({ name, schema }) => {
        const { minimum, maximum, default: byDefault } = schema;
        return [name, byDefault === undefined ? [minimum, maximum] : [minimum, maximum, byDefault]];
      });
      expect(Object.fromEntries(ranges)).toEqual(RANGES[operationId]);
      const filters = inQuery.filter((parameter) => !isNumber(parameter)).map(({ name }) => name);
      expect(filters.toSorted()).toEqual((FILTERS[operationId]?.split(' ') ?? []).toSorted());
      const required = inQuery.filter((parameter) => parameter.required).map(({ name }) => name);
      const needed = { listVerticesByHeight: ['vertexHeight'], listChainIdsOfAddresses: ['addresses'] };
      expect(required).toEqual(needed[operationId as keyof typeof needed] ?? []);
    },
  );

  test('names the methods of the node that are let through, and the form of the chain', async () => {
    const operation = operationOf('callNode');
    const body = operation.requestBody?.content?.['application/json'].schema;
    const calls = (body?.anyOf?.[0]?.anyOf ?? []).map(resolve);
    const methods = calls.flatMap(({ properties }) => properties?.['method']?.enum ?? []);
    expect(methods).toContain('platform.getCurrentValidators');
    // By the specification's table.
    const deprecated = calls.filter((each) => each.deprecated);
    expect(deprecated.map(({ properties, description }) => [properties?.['method']?.enum?.[0], description])).toEqual([
      ['avm.getAllBalances', 'Deprecated as of avalanchego v1.9.12'],
      ['avm.getBalance', 'Deprecated as of avalanchego v1.9.12'],
      ['avm.getTxStatus', 'Deprecated as of avalanchego v1.10.0'],
      ['platform.getBalance', 'Deprecated as of avalanchego v1.9.12'],
      ['platform.getBlockchains', 'Deprecated as of avalanchego v1.9.12'],
    ]);
    // One call or a list of them, and the same for the answer.
    expect(body?.anyOf?.[1]).toMatchObject({ type: 'array', items: body?.anyOf?.[0] });
    const answer = operation.responses['200']?.content?.['application/json'].schema;
    expect(answer?.anyOf?.map((one) => resolve(one).type)).toEqual(['object', 'array']);
    expect(Object.keys(resolve(answer?.anyOf?.[0]).properties ?? {})).toEqual(['jsonrpc', 'id', 'result', 'error']);
    const call = (method: string, chain = 'P') => service.post(`/ext/bc/${chain}`, { jsonrpc: '2.0', id: 1, method });
    for (const method of methods) expect([method, (await call(method)).status]).toEqual([method, 200]);
    expect((await call('platform.exportKey')).status).toBe(400);
    const wrongChain = await call('platform.getHeight', 'C');
    expect([wrongChain.status, wrongChain.body['message']]).toEqual([400, expect.stringMatching(/^chain must be /)]);
    expect(operation.description).toMatch(/at most 20 calls.*at most 102400 bytes/);
  });

  test('describes the headers of answers: of caching, of limits, and when to come again', () => {
    const limits = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'];
    const caching = ['age', 'cache-control', 'etag'];
    for (const { path, operation } of operations()) {
      const isCached = operation.operationId in ANSWERS;
      const isPassedOn = isCached || ['reindexNftToken', 'callNode'].includes(operation.operationId);
      expect([operation.operationId, '304' in operation.responses]).toEqual([operation.operationId, isCached]);
      expect((operation.parameters ?? []).some(({ name }) => name === 'if-none-match')).toBe(isCached);
      for (const [status, { headers = {} }] of Object.entries(operation.responses)) {
        const expected = [
          ...(/^\/(?:health|console)/.test(path) ? [] : limits),
          ...(isCached && ['200', '304'].includes(status) ? caching : []),
          ...(status === '429' || Number(status) >= (isPassedOn ? 400 : 500) ? ['retry-after'] : []),
          ...(isPassedOn && status === '200' ? ['deprecation', 'sunset'] : []),
          'x-request-id',
        ];
        expect([operation.operationId, status, Object.keys(headers).toSorted()]).toEqual([
          operation.operationId,
          status,
          expected.toSorted(),
        ]);
        for (const [name, reference] of Object.entries(headers)) {
          expect(reference).toEqual({ $ref: `#/components/headers/${name}` });
          expect(document.components).toHaveProperty(['headers', name, 'schema', 'type']);
        }
      }
    }
  });

  test('describes the headers of a refusal by the upstream, with and without limits of our own', async () => {
    const described = { ...document.components } as {
      headers: Record<string, { schema: TSchema; description: string }>;
    };
    for (const name of ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset']) {
      expect(described.headers[name]?.description).toMatch(/client of this service.*upstream_error.*the upstream/);
    }
    await using unlimited = await startUpstreamService();
    const bare = (await unlimited.get('/openapi.json')).body as unknown as typeof document;
    for (const [asked, { paths }] of [
      [service, document],
      [unlimited, bare],
    ] as const) {
      asked.standIn.behaviour = (_request, response) => {
        for (const name of ['limit', 'remaining', 'reset']) response.setHeader(`x-ratelimit-${name}`, '99');
        response.setHeader('retry-after', 'Sun, 30 Jun 2030 23:59:59 GMT');
        sendJson(response, 429, { message: 'slow down' });
      };
      for (const [target, path] of [
        ['/v1/networks/fuji/validators', '/v1/networks/{network}/validators'],
        ['/v1/avg_tps/1', '/v1/avg_tps/{chainId}'],
      ] as const) {
        const { status, headers, body } = await asked.get(target);
        expect([status, body['code']]).toEqual([429, 'upstream_error']);
        const names = Object.keys(paths[path]?.['get']?.responses['429']?.headers ?? {});
        const sent = [...headers.keys()].filter((name) => /^x-ratelimit|^retry-after$|^x-request-id$/.test(name));
        expect(sent.toSorted()).toEqual(names.toSorted());
        for (const name of names) {
          const text = headers.get(name) ?? '';
          const value = /^\d+$/.test(text) ? Number(text) : text;
          expect([name, Schema.Compile(described.headers[name]!.schema).Check(value)]).toEqual([name, true]);
        }
      }
      asked.standIn.behaviour = undefined;
    }
  });

  test('describes the errors of the metrics service with a list, and those of others with a text too', async () => {
    for (const [target, operationId] of [
      ['/v1/avg_tps/foo', 'getAverageTps'],
      ['/v1/networks/fuji/validators?pageSize=x', 'listValidators'],
    ] as const) {
      const { status, body } = await service.get(target);
      const schema = resolve(operationOf(operationId).responses[status]?.content?.['application/json'].schema);
      expect([operationId, Schema.Compile(schema as TSchema).Errors(body)]).toEqual([operationId, [true, []]]);
    }
    const { properties } = resolve(operationOf('getAverageTps').responses['400']?.content?.['application/json'].schema);
    expect(properties?.['message']).toMatchObject({ type: 'array', items: { type: 'string' } });
  });

  test('describes of a reindexing what is answered: 201, no body', async () => {
    const token = `/v1/chains/43114/nfts/collections/${EVM_ADDRESS}/tokens/1:reindex`;
    service.standIn.behaviour = (_request, response) => sendJson(response, 200, {});
    const { status, text } = await service.post(token);
    service.standIn.behaviour = undefined;
    expect([status, text]).toEqual([201, '']);
    const { responses } = operationOf('reindexNftToken');
    expect(Object.keys(responses).filter((each) => Number(each) < 400)).toEqual(['201']);
    expect(responses['201']?.content).toBeUndefined();
  });

  test.each(Object.entries(ANSWERS))('describes each field of %s, and no other', (operationId, answer) => {
    const found = operations().find(({ operation }) => operation.operationId === operationId);
    const schema = found?.operation.responses['200']?.content?.['application/json'].schema;
    expect(fieldsOfSchema(schema!)).toEqual(fieldsOfValue(answer));
  });
});

/** `{a: [{b: 1}]}` has `.a`, `.a[]`, `.a[].b`, each with its type. */
function fieldsOfValue(value: unknown, at = ''): string[] {
  const fields = new Set<string>();
  const walk = (part: unknown, path: string): void => {
    if (Array.isArray(part)) {
      for (const item of part) walk(item, `${path}[]`);
    } else if (typeof part === 'object' && part !== null) {
      const isMap = /\.(alloc|storage)$/.test(path);
      for (const [name, field] of Object.entries(part)) walk(field, `${path}.${isMap ? '*' : name}`);
    } else {
      const type = typeof part === 'number' && !path.endsWith('results[].value') ? 'integer' : typeof part;
      fields.add(`${path}: ${part === null ? 'nullable' : type}`);
    }
  };
  walk(value, at);
  return [...fields].toSorted();
}

function fieldsOfSchema(schema: Schema): string[] {
  const fields = new Set<string>();
  const walk = ({ type, properties, additionalProperties, items, anyOf }: Schema, path: string): void => {
    for (const part of anyOf ?? []) walk(part, path);
    for (const [name, part] of Object.entries(properties ?? {})) walk(part, `${path}.${name}`);
    if (additionalProperties !== undefined) walk(additionalProperties, `${path}.*`);
    if (items !== undefined) walk(items, `${path}[]`);
    if (Array.isArray(type)) fields.add(`${path}: nullable`);
    else if (type !== undefined && type !== 'object' && type !== 'array') fields.add(`${path}: ${String(type)}`);
  };
  walk(schema, '');
  return [...fields].toSorted();
}

test('/docs is a page that needs no other host', async () => {
  const page = await fetch(`${service.url}/docs/`);
  expect(page.status).toBe(200);
  expect(page.headers.get('content-type')).toContain('text/html');
  const html = await page.text();
  const references = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, reference]) => String(reference));
  expect(references.length).toBeGreaterThan(2);
  for (const reference of references) {
    const { origin, href } = new URL(reference, `${service.url}/docs/`);
    expect(origin).toBe(service.url);
    const answer = await fetch(href);
    expect(answer.status).toBe(200);
    // Unread, it would hold its connection.
    await answer.arrayBuffer();
  }
  // The page has the same operations.
  const shown = (await (await fetch(`${service.url}/docs/json`)).json()) as typeof document;
  expect(Object.keys(shown.paths)).toEqual(Object.keys(document.paths));
});
