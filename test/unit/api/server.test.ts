import { connect } from 'node:net';
import { describe, expect, test } from 'vitest';
import type { AggregationExamples } from '../../../src/api/openapi/example-request.ts';
import { OPERATIONS_ACCESS } from '../../../src/http/access/route-access.ts';
import type { Server } from '../../../src/http/request/http-server.ts';
import { parseHex } from '../../../src/lib/encoding/bytes.ts';
import { FUJI, MAINNET } from '../../../src/warp/networks.ts';
import { parseUnsignedMessage } from '../../../src/warp/unsigned-message.ts';
import { createTestServer, expectError, PATH, portOf, scriptedAggregator, scriptedNetwork } from './api-fixture.ts';

const POST_PATH = '/v1/signatureAggregator/{network}/aggregateSignatures';

test.each(['/health/live', '/health/ready', '/metrics'])('%s is not for caches to keep', async (path) => {
  const server = await createTestServer();
  const response = await server.inject(path);
  expect([response.statusCode, response.headers['cache-control']]).toEqual([200, 'no-store']);
});

describe('several networks', () => {
  test('have all their names in paths', async () => {
    const fuji = scriptedAggregator();
    const local = scriptedAggregator();
    const server = await createTestServer({
      networks: [
        scriptedNetwork({ pathNames: ['fuji', 'testnet'], aggregator: fuji.aggregator }),
        scriptedNetwork({ pathNames: ['local'], aggregator: local.aggregator }),
      ],
    });
    for (const name of ['fuji', 'testnet', 'local']) {
      const url = PATH.replace('fuji', name);
      const response = await server.inject({ method: 'POST', url, payload: { justification: '0a' } });
      expect(response.statusCode).toBe(201);
    }
    expect([fuji.asked.length, local.asked.length]).toEqual([2, 1]);
    const url = PATH.replace('fuji', 'mainnet');
    const expected = 'network "mainnet" is not served here; served: fuji, testnet, local';
    expectError(await server.inject({ method: 'POST', url }), 404, expected, 'unknown_network');
  });
});

describe('/', () => {
  test('links for programs', async () => {
    const server = await createTestServer();
    const response = await server.inject('/');
    expect(response.headers).toMatchObject({ 'content-type': 'application/json', vary: 'Accept' });
    expect(response.json()).toEqual({
      name: 'Warp signature aggregator',
      version: '1.2.3',
      networks: ['fuji', 'testnet'],
      links: { docs: '/docs', openapi: '/openapi.json', ready: '/health/ready' },
    });
    for (const path of Object.values(response.json().links as Record<string, string>)) {
      expect((await server.inject(path)).statusCode).toBe(200);
    }
  });
});

test.each([
  '/',
  '/health/live',
  '/health/ready',
  '/health/ready/fuji',
  '/metrics',
  '/openapi.json',
  '/docs/',
  '/docs/json',
])('HEAD %s answers as GET does, without the body', async (url) => {
  const server = await createTestServer();
  const get = await server.inject(url);
  const head = await server.inject({ method: 'HEAD', url });
  expect([head.statusCode, head.body]).toEqual([200, '']);
  expect(head.headers['content-type']).toBe(get.headers['content-type']);
});

describe('the OpenAPI document', () => {
  const load = async (server: Server) => (await server.inject('/openapi.json')).json();

  test('describes the error codes of each status', async () => {
    const { paths, components } = await load(await createTestServer());
    const schemaOf = (status: number) => {
      const { $ref } = paths[POST_PATH].post.responses[status].content['application/json'].schema;
      return components.schemas[$ref.replace('#/components/schemas/', '')];
    };
    const { required, properties } = schemaOf(503);
    expect(required).toEqual(['message', 'statusCode', 'error', 'code']);
    expect(properties.code.enum).toEqual([
      'justification_pending',
      'no_validators_yet',
      'not_connected',
      'p_chain_unavailable',
      'chain_rpc_unavailable',
      'overloaded',
      'network_unavailable',
    ]);
    expect(properties.code.description).toContain('- `not_connected`: The connected validators have too little weight');
    const [ofValidators] = properties.details.anyOf;
    expect(ofValidators.properties.missing.items.properties).toHaveProperty('nodeId');
    expect(schemaOf(413).properties.code.enum).toEqual(['body_too_large']);
    expect(schemaOf(415).properties.code.enum).toEqual(['unsupported_media_type']);
    expect(schemaOf(431).properties.code.enum).toEqual(['headers_too_large']);
  });

  test.each([
    [['fuji', 'testnet'], 'fuji', FUJI],
    [['mainnet'], 'mainnet', MAINNET],
    [['local', 'testnet'], 'testnet', FUJI],
  ])(
    'served as %j, preselects %s and has a message of it to try',
    async (pathNames, preselected, { networkID, cChainID }) => {
      const server = await createTestServer({ networks: [scriptedNetwork({ pathNames })] });
      const { post } = (await load(server)).paths[POST_PATH];
      const { examples } = post.requestBody.content['application/json'];
      const example = examples.example1.value;
      expect(parseUnsignedMessage(parseHex(example.message, 'example'))).toMatchObject({
        networkID,
        sourceChainID: cChainID,
      });
      expect(post.parameters[0]).toMatchObject({ name: 'network', example: preselected });
      const url = PATH.replace('fuji', preselected);
      expect((await server.inject({ method: 'POST', url, body: example })).statusCode).toBe(201);
    },
  );

  test('has no example for a local network until there is one, and then keeps it', async () => {
    let example: AggregationExamples | undefined;
    const server = await createTestServer({
      networks: [scriptedNetwork({ pathNames: ['local'] })],
      examples: () => example,
    });
    const before = await server.inject('/openapi.json');
    expect(before.json().paths[POST_PATH].post.requestBody.content['application/json']).not.toHaveProperty('examples');
    const requests = [{ name: 'one', value: { message: '0x00', quorumPercentage: 67 } }];
    example = { network: 'local', requests, transactions: [{ name: 'two', value: '11' }] };
    const after = await server.inject('/openapi.json');
    const { paths } = after.json();
    const { post } = paths[POST_PATH];
    expect(post.requestBody.content['application/json'].examples).toEqual({
      example1: { summary: 'one', value: requests[0]?.value },
    });
    const { parameters } = paths[`${POST_PATH}/{txHash}`].get;
    const find = (name: string) => parameters.find((parameter: { name: string }) => parameter.name === name);
    expect([find('network').example, find('txHash').examples]).toEqual([
      'local',
      { example1: { summary: 'two', value: '11' } },
    ]);
    expect(post.parameters[0].example).toBe('local');
    expect(after.headers['etag']).not.toBe(before.headers['etag']);
    example = undefined;
    expect((await server.inject('/openapi.json')).body).toBe(after.body);
  });

  test('has further routes too, and they have the same errors', async () => {
    const server = await createTestServer({
      registerMore: (more) => {
        more.get('/more', { config: { access: OPERATIONS_ACCESS }, schema: { summary: 'More' } }, async () => {
          throw new Error('inside');
        });
      },
    });
    expect((await load(server)).paths['/more'].get.summary).toBe('More');
    expectError(await server.inject('/more'), 500, /^internal error: /, 'internal_error');
  });

  test.each(['/openapi.json', '/docs/json', '/docs/yaml'])('%s has an ETag', async (url) => {
    const server = await createTestServer();
    const first = await server.inject(url);
    const { etag } = first.headers;
    expect(first.statusCode).toBe(200);
    expect(etag).toMatch(/^"[\w-]{22}"$/);
    expect((await server.inject(url)).body).toBe(first.body);
    for (const names of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const known = await server.inject({ url, headers: { 'if-none-match': String(names) } });
      expect([known.statusCode, known.body, known.headers['etag']]).toEqual([304, '', etag]);
    }
    expect((await server.inject({ url, headers: { 'if-none-match': '"other"' } })).statusCode).toBe(200);
  });
});

describe('a route that does not declare its access', () => {
  test('stops the start, hidden or not, and every such route is named', async () => {
    const starting = createTestServer({
      registerMore: (server) => {
        server.get('/shown', async () => 'x');
        server.post('/hidden', { schema: { hide: true } }, async () => 'x');
      },
    });
    await expect(starting).rejects.toThrow(
      'routes without an access declaration (config: { access }): GET /shown; HEAD /shown; POST /hidden',
    );
  });

  test('in a plugin, too', async () => {
    const starting = createTestServer({
      registerMore: (server) => {
        server.register(async (scope: Server) => {
          scope.get('/scoped', async () => 'x');
        });
      },
    });
    await expect(starting).rejects.toThrow('GET /scoped');
  });
});

/** What the server writes back to these bytes, until it ends the connection. */
async function talk(server: Server, ...pieces: string[]): Promise<string> {
  const client = connect(portOf(server), '127.0.0.1').setEncoding('utf8');
  for (const piece of pieces) client.write(piece);
  let answer = '';
  for await (const text of client) answer += text;
  return answer;
}

describe('what is not quite HTTP', () => {
  test('gets an error of the one form, which pages can read', async () => {
    const server = await createTestServer({ corsOrigins: ['*'] });
    await server.listen({ host: '127.0.0.1', port: 0 });
    const [head = '', body = ''] = (await talk(server, 'no HTTP at all\r\n\r\n')).toLowerCase().split('\r\n\r\n');
    expect(head).toMatch(/^http\/1\.1 400 bad request\r\n/);
    expect(head).toMatch(/\r\nx-request-id: \S+/);
    const common = ['x-content-type-options: nosniff', 'content-type: application/json'];
    for (const header of [...common, 'access-control-allow-origin: *']) expect(head).toContain(header);
    expect(JSON.parse(body)).toMatchObject({ statuscode: 400, code: 'invalid_request' });
    await server.close();
  });

  test('HTTP/1.0 needs no Host, and 100-continue is answered', async () => {
    const server = await createTestServer();
    await server.listen({ host: '127.0.0.1', port: 0 });
    expect(await talk(server, 'GET /health/live HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1\.1 200 OK/);
    const expecting = 'GET /health/live HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\nconnection: close\r\n\r\n';
    expect(await talk(server, expecting)).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK/);
    await server.close();
  });

  test('after an answer that has begun nothing is written into it', async () => {
    const begun = Promise.withResolvers<void>();
    const server = await createTestServer({
      registerMore: (more) => {
        more.get('/long', { config: { access: OPERATIONS_ACCESS }, schema: { hide: true } }, (_request, reply) => {
          reply.hijack();
          reply.raw.writeHead(200, { 'content-length': 100 });
          reply.raw.write('the beginning', () => begun.resolve());
        });
      },
    });
    await server.listen({ host: '127.0.0.1', port: 0 });
    const client = connect(portOf(server), '127.0.0.1').setEncoding('utf8');
    client.on('error', () => undefined);
    let answer = '';
    client.on('data', (text) => {
      answer += String(text);
    });
    const ended = new Promise((resolve) => client.once('close', resolve));
    client.write('GET /long HTTP/1.1\r\nhost: x\r\n\r\n');
    await begun.promise;
    client.write('no HTTP at all\r\n\r\n');
    await ended;
    expect(answer).not.toContain('400');
    await server.close();
  });
});
