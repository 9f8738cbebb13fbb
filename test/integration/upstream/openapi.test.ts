import { bech32 } from '@scure/base';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { UPSTREAM_ENDPOINTS } from '../../../src/api/upstream-endpoints.ts';
import { ANSWERS, NODE_ID, TX_ID } from './stand-in-records.ts';
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
  readonly format?: string;
}

interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query';
  readonly required?: boolean;
  readonly schema: Schema;
}

interface Operation {
  readonly operationId: string;
  readonly parameters?: readonly Parameter[];
  readonly responses: Readonly<
    Record<string, { readonly content?: { readonly 'application/json': { readonly schema: Schema } } }>
  >;
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

/** Good values of parameters that are not given by an enumeration or a range. */
const EVM_ADDRESS = `0x${'ab'.repeat(20)}`;
const ADDRESS = bech32.encode('avax', bech32.toWords(new Uint8Array(20)));
const EXAMPLES: Readonly<Record<string, readonly [good: string, bad: string]>> = {
  'primary-network-id': [TX_ID, 'x'],
  'evm-chain-id': ['43114', 'x'],
  'evm-address': [EVM_ADDRESS, '0x1'],
  'evm-hash': [`0x${'ab'.repeat(32)}`, '0x1'],
  'evm-block-id': ['7', 'x'],
  'token-id': ['7', 'x'],
  'node-id': [NODE_ID, 'x'],
  'node-id-list': [NODE_ID, 'x'],
  'node-id-part-list': ['abc', '%20'],
  'address-list': [ADDRESS, 'x'],
  'transaction-type': ['AddValidatorTx', 'x'],
  'delegation-capacity': ['720000000000000000', '720000000000000001'],
};

function valuesOf({ name, schema }: Parameter): { good: string[]; bad: string[] } {
  if (schema.enum !== undefined) return { good: [...schema.enum], bad: ['x'] };
  const { minimum, maximum } = schema;
  if (minimum !== undefined && maximum !== undefined) {
    const above = maximum === Number.MAX_SAFE_INTEGER ? '9007199254740992' : String(maximum + 1);
    return { good: [String(minimum), String(maximum)], bad: [String(minimum - 1), above, 'x'] };
  }
  const example = EXAMPLES[schema.items?.format ?? schema.format ?? ''];
  if (example === undefined) {
    expect(name).toBe('pageToken');
    return { good: ['abc'], bad: [] };
  }
  return { good: [example[0]], bad: [example[1]] };
}

/** What a filter needs beside it. */
function besides(name: string, value: string, operationId: string): string {
  if (operationId === 'listPrimaryNetworkTransactions' && /^(txTypes|startTimestamp|endTimestamp)$/.test(name)) {
    return `&addresses=${ADDRESS}`;
  }
  return value === 'delegationFee' ? '&subnetId=11111111111111111111111111111111LpoYY' : '';
}

describe('/openapi.json', () => {
  test('is OpenAPI 3.1 and has every route, each once', () => {
    expect(document.openapi).toBe('3.1.0');
    const ids = operations().map(({ operation }) => operation.operationId);
    expect(ids.toSorted()).toEqual(
      [
        ...UPSTREAM_ENDPOINTS.map(({ operationId }) => operationId),
        ...['aggregateSignatures', 'aggregateSignaturesOfTransaction', 'reindexNftToken', 'callNode', 'live', 'ready'],
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
      if (path.startsWith('/health')) continue;
      const errors = Object.entries(operation.responses).filter(([status]) => Number(status) >= 400);
      expect(errors.map(([status]) => Number(status))).toEqual([400, 401, 403, 404, 429, 500, 502, 503]);
      for (const [, { content }] of errors) {
        expect(Object.keys(content?.['application/json'].schema.properties ?? {})).toEqual(
          expect.arrayContaining(['message', 'statusCode', 'error']),
        );
      }
      expect(operation.security).toEqual([{}, { serviceApiKey: [] }, { glacierApiKey: [] }]);
    }
    expect(document.components).toHaveProperty('securitySchemes.glacierApiKey.name', 'x-glacier-api-key');
  });

  test('says of every parameter what the service does: good values pass, bad ones are 400', async () => {
    let checked = 0;
    for (const { path, method, operation } of operations()) {
      if (method !== 'get' || !(operation.operationId in ANSWERS)) continue;
      const { parameters = [] } = operation;
      const target = (values: Readonly<Record<string, string>>, more = ''): string => {
        const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => {
          const parameter = parameters.find((candidate) => candidate.name === name);
          return values[name] ?? valuesOf(parameter!).good[0]!;
        });
        const query = parameters
          .filter((parameter) => parameter.in === 'query' && (parameter.required === true || parameter.name in values))
          .map((parameter) => `${parameter.name}=${values[parameter.name] ?? valuesOf(parameter).good[0]}`);
        return `${filled}?${query.join('&')}${more}`;
      };
      for (const parameter of parameters) {
        const { good, bad } = valuesOf(parameter);
        for (const value of good) {
          const isForeign = parameter.name === 'network' && value !== 'mainnet' && path.includes('addresses:');
          if (isForeign) continue;
          const good200 = target({ [parameter.name]: value }, besides(parameter.name, value, operation.operationId));
          expect({ good200, status: (await service.get(good200)).status }).toEqual({ good200, status: 200 });
        }
        for (const value of bad) {
          const bad400 = target({ [parameter.name]: value }, besides(parameter.name, value, operation.operationId));
          const { status, body } = await service.get(bad400);
          expect({ bad400, status }).toEqual({ bad400, status: 400 });
          expect(String(body['message']).startsWith(`${parameter.name} `)).toBe(true);
          checked += 1;
        }
      }
    }
    expect(checked).toBeGreaterThan(100);
  });

  test('has the page sizes of the specification', () => {
    const sizes = operations().flatMap(({ operation: { operationId, parameters = [] } }) =>
      parameters.flatMap(({ name, schema }) =>
        name === 'pageSize' ? [[operationId, schema.default, schema.minimum, schema.maximum]] : [],
      ),
    );
    const special = { listBlockchains: [100, 1, 10_000], listBlockTransactions: [0, 0, 100] };
    expect(sizes).toHaveLength(12);
    for (const [operationId, ...size] of sizes) {
      expect([operationId, size]).toEqual([operationId, special[operationId as keyof typeof special] ?? [10, 1, 100]]);
    }
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
  expect(await (await fetch(`${service.url}/docs/json`)).json()).toEqual(document);
});
