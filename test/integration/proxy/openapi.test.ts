import type { TSchema } from 'typebox';
import Schema from 'typebox/schema';
import { describe, expect, test } from 'vitest';
import { UPSTREAM_ENDPOINTS } from '../../../src/proxy/catalogue/upstream-endpoints.ts';
import { type Described, readDocument } from './document-reader.ts';
import { shareUpstreamService } from './shared-service.ts';
import { reply } from './stand-in.ts';
import { ANSWERS } from './stand-in-records.ts';
import { startUpstreamService } from './upstream-service.ts';

const service = await shareUpstreamService({
  access: { apiKeys: [], unitsPerMinute: undefined, trustedProxies: [] },
});
const { document, operations, resolve, operationOf, schemaOf, methods, describedMethods } = await readDocument(service);

/** Defaults of the specification, of numbers; the values that are allowed are tested by requests. */
const DEFAULTS: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  listBlockchains: { pageSize: 100 },
  listBlockTransactions: { pageSize: 0 },
  listValidators: {
    pageSize: 10,
    minFeePercentage: 2,
    maxFeePercentage: 100,
    minUptimePerformance: 90,
    maxUptimePerformance: 100,
  },
};

describe('/openapi.json', () => {
  test('is OpenAPI 3.1 and has every route, each once', () => {
    expect(document.openapi).toBe('3.1.0');
    const ids = operations.map(({ operation }) => operation.operationId);
    expect(ids.toSorted()).toEqual(
      [
        ...UPSTREAM_ENDPOINTS.map(({ operationId }) => operationId),
        'aggregateSignatures',
        'aggregateSignaturesOfTransaction',
        'listSubnets',
        'getSubnet',
        'getSubnetHistory',
        'getValidatorHistory',
        'getDestination',
        'verifySignedMessage',
        'decodeMessage',
        'proveUptime',
        'getValidation',
        'listUptimes',
        'listMessages',
        'getMessage',
        'replayMessages',
        'forgetChain',
        'goAggregateSignatures',
        'goAggregateSignaturesOfNetwork',
        'reindexNftToken',
        'callNode',
        'getRequest',
        'listRequests',
        'live',
        'ready',
        'readyNetwork',
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

  test('names the parameters of each path, and the errors with their bodies', () => {
    for (const { path, operation } of operations) {
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      const described = (operation.parameters ?? []).filter((parameter) => parameter.in === 'path');
      expect(described.map(({ name }) => name)).toEqual(inPath);
      expect(described.every(({ required }) => required)).toBe(true);
      if (path.startsWith('/health')) continue;
      const isGo = path.endsWith('/aggregate-signatures');
      const ofBody = operation.requestBody === undefined ? [] : [413, ...(isGo ? [500] : [415, 501])];
      const statuses = [400, 401, 403, 408, 429, 431, ...(inPath.length > 0 ? [404] : []), ...ofBody];
      const errors = Object.entries(operation.responses).filter(([status]) => Number(status) >= 400);
      expect([path, errors.map(([status]) => Number(status))]).toEqual([path, expect.arrayContaining(statuses)]);
      for (const [status, { content }] of errors) {
        const schema = resolve(content?.['application/json'].schema);
        // A JSON-RPC call that is wrong is answered in JSON-RPC.
        const forms = schema.oneOf ?? [schema];
        const isOfGo = isGo && status !== '408' && status !== '431';
        const fields = isOfGo ? ['error'] : ['message', 'statusCode', 'error', 'code'];
        expect(forms.map(({ properties = {} }) => Object.keys(properties))).toContainEqual(
          expect.arrayContaining(fields),
        );
      }
      if (!isGo) expect(operation.security).toEqual([{}, { serviceApiKey: [] }, { glacierApiKey: [] }]);
    }
    const { properties } = schemaOf('getAverageTps', 400);
    expect(properties?.['message']).toMatchObject({ type: 'array', items: { type: 'string' } });
    expect(document.components).toHaveProperty('securitySchemes.glacierApiKey.name', 'x-glacier-api-key');
  });

  test('has the defaults and the required parameters of the specification', () => {
    for (const operationId of Object.keys(ANSWERS)) {
      const inQuery = (operationOf(operationId).parameters ?? []).filter((parameter) => parameter.in === 'query');
      const defaults = inQuery.flatMap(({ name, schema }) =>
        schema.default === undefined ? [] : [[name, schema.default] as const],
      );
      const isPaged = inQuery.some(({ name }) => name === 'pageSize');
      const expected = DEFAULTS[operationId] ?? (isPaged ? { pageSize: 10 } : {});
      expect([operationId, Object.fromEntries(defaults)]).toEqual([operationId, expected]);
      const required = inQuery.filter((parameter) => parameter.required).map(({ name }) => name);
      const needed = { listVerticesByHeight: ['vertexHeight'], listChainIdsOfAddresses: ['addresses'] };
      expect(required).toEqual(needed[operationId as keyof typeof needed] ?? []);
    }
  });

  test('names the methods of the node that are let through', async () => {
    const { description = '', requestBody } = operationOf('callNode');
    const body = resolve(requestBody?.content?.['application/json'].schema);
    expect(methods()).toContain('platform.getCurrentValidators');
    for (const method of methods()) expect(description).toContain(`\n| \`${method}\``);
    // By the specification's table.
    const deprecated = Object.entries(describedMethods()).map(([method, each]) => [method, each.deprecatedSince]);
    expect(deprecated.filter(([, since]) => since !== undefined)).toEqual([
      ['avm.getAllBalances', 'v1.9.12'],
      ['avm.getBalance', 'v1.9.12'],
      ['avm.getTxStatus', 'v1.10.0'],
      ['platform.getBalance', 'v1.9.12'],
      ['platform.getBlockchains', 'v1.9.12'],
    ]);
    // One call or a list of them, and the same for the answer.
    const { properties: ofCall } = body.oneOf?.[0] ?? {};
    expect(body.oneOf?.[1]).toMatchObject({ type: 'array', items: { properties: ofCall } });
    const answer = schemaOf('callNode', 200);
    expect(answer.oneOf?.map(({ type }) => type)).toEqual(['object', 'array']);
    expect(Object.keys(answer.oneOf?.[0]?.properties ?? {})).toEqual(['jsonrpc', 'id', 'result', 'error']);
    for (const method of methods()) {
      const { status } = await service.post('/ext/bc/P', { jsonrpc: '2.0', id: 1, method });
      expect([method, status]).toEqual([method, 200]);
    }
  });

  test('describes the headers of answers: of caching, of limits, and when to come again', () => {
    const limits = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'];
    const caching = ['age', 'cache-control', 'etag'];
    for (const { path, operation } of operations) {
      const isCached = operation.operationId in ANSWERS;
      const isPassedOn = isCached || ['reindexNftToken', 'callNode'].includes(operation.operationId);
      expect([operation.operationId, '304' in operation.responses]).toEqual([operation.operationId, isCached]);
      expect((operation.parameters ?? []).some(({ name }) => name === 'if-none-match')).toBe(isCached);
      for (const [status, { headers = {} }] of Object.entries(operation.responses)) {
        const expected = [
          ...(path.startsWith('/health') ? [] : limits),
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

  test('describes the limits of a refusal by the upstream also where there are none of our own', async () => {
    await using unlimited = await startUpstreamService();
    const limits = ['limit', 'remaining', 'reset'].map((name) => [`x-ratelimit-${name}`, '99'] as const);
    unlimited.standIn.behaviour = reply(429, {}, { ...Object.fromEntries(limits), 'retry-after': '9' });
    const { headers } = await unlimited.get('/v1/networks/fuji/validators');
    const sent = [...headers.keys()].filter((name) => /^x-ratelimit|^retry-after$|^x-request-id$/.test(name));
    const described = (await readDocument(unlimited)).operationOf('listValidators').responses['429']?.headers ?? {};
    expect(sent.toSorted()).toEqual(Object.keys(described).toSorted());
  });

  test('names the values that the specification names', () => {
    const named =
      `AddValidatorTx AddDelegatorTx ConvertSubnetToL1Tx IncreaseL1ValidatorBalanceTx VALIDATOR STAKE secp256k1
      completed active pending removed CONTRACT_CALL ERC-20 UNKNOWN indexed SOURCE_TRANSACTION 1`.split(/\s+/);
    const { txTypes, schemas } = {
      txTypes: operationOf('listPrimaryNetworkTransactions').parameters?.find(({ name }) => name === 'txTypes'),
      schemas: JSON.stringify(document.components),
    };
    for (const value of named) expect(schemas).toContain(`\`${value}\``);
    for (const type of named.slice(0, 4)) expect(JSON.stringify(txTypes)).toContain(`\`${type}\``);
  });

  test('describes of a reindexing a 201 without a body', () => {
    const { responses } = operationOf('reindexNftToken');
    expect(Object.keys(responses).filter((each) => Number(each) < 400)).toEqual(['201']);
    expect(responses['201']?.content).toBeUndefined();
  });

  test.each(Object.entries(ANSWERS))('describes each field of %s, and no other', (operationId, answer) => {
    const errors = Schema.Compile(complete(schemaOf(operationId, 200))).Errors(answer);
    expect(errors).toEqual([true, []]);
  });
});

/** Makes all fields required, and refuses others. */
function complete(schema: Described): TSchema {
  return JSON.parse(JSON.stringify(schema), (key, part: Described) =>
    // A record has a field with the name of the keyword.
    part.properties === undefined || key === 'properties'
      ? part
      : { ...part, required: Object.keys(part.properties), additionalProperties: false },
  ) as TSchema;
}
