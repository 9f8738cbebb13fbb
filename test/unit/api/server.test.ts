import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { AggregationExamples } from '../../../src/api/openapi/example-request.ts';
import { ERROR_CODES } from '../../../src/http/errors/error-codes.ts';
import type { Server } from '../../../src/http/request/http-server.ts';
import { OPERATIONS_ACCESS } from '../../../src/http/request/route-access.ts';
import { parseHex } from '../../../src/lib/encoding/bytes.ts';
import { FUJI, MAINNET } from '../../../src/warp/networks.ts';
import { parseUnsignedMessage } from '../../../src/warp/unsigned-message.ts';
import { createTestServer, expectError, PATH, portOf, scriptedNetwork } from './api-fixture.ts';

const POST_PATH = '/v1/signatureAggregator/{network}/aggregateSignatures';

const server = await createTestServer();

test.each([
  '/',
  '/health/live',
  '/health/ready',
  '/health/ready/fuji',
  '/metrics',
  '/openapi.json',
  '/docs/',
  '/docs/json',
])('HEAD %s answers as GET does, without the body, and no cache keeps a state', async (url) => {
  const get = await server.inject(url);
  const head = await server.inject({ method: 'HEAD', url });
  expect([head.statusCode, head.body]).toEqual([200, '']);
  expect(head.headers['content-type']).toBe(get.headers['content-type']);
  if (/health|metrics/.test(url)) expect(get.headers['cache-control']).toBe('no-store');
});

test('/ has links for programs', async () => {
  const response = await server.inject('/');
  expect(response.headers).toMatchObject({ 'content-type': 'application/json', vary: 'Accept' });
  const links = { docs: '/docs/', openapi: '/openapi.json', ready: '/health/ready' };
  const named = { name: 'Warp signature aggregator', version: '1.2.3', networks: ['fuji', 'testnet'] };
  expect(response.json()).toEqual({ ...named, links });
  for (const path of Object.values(links)) expect((await server.inject(path)).statusCode).toBe(200);
});

test.each([
  ['POST', 'verify', { signedMessage: '0x00' }],
  ['POST', 'decode', { data: '0x00' }],
  ['GET', `destinations/${FUJI.cChainID}`, undefined],
  ['POST', `messages/${FUJI.cChainID}/forget`, undefined],
] as const)('%s %s names a parameter of the query, as it has none', async (method, path, payload) => {
  const url = `/v1/signatureAggregator/fuji/${path}?wait=3`;
  const response = await server.inject({ method, url, ...(payload && { payload }) });
  expectError(response, 400, 'unknown parameter wait; there is none here', 'invalid_request');
});

describe('the OpenAPI document', () => {
  const load = async (from: Server) => (await from.inject('/openapi.json')).json();

  test('describes the error codes of each status', async () => {
    const { paths, components } = await load(server);
    const { responses } = paths[POST_PATH].post;
    const refs = (status: number) => responses[status].content['application/json'].schema.$ref;
    expect([503, 413].map(refs)).toEqual(['#/components/schemas/AggregationError', '#/components/schemas/Error']);
    const { AggregationError, ErrorCode } = components.schemas;
    expect(AggregationError.required).toEqual(['message', 'statusCode', 'error', 'code']);
    expect(AggregationError.properties.code).toEqual({ $ref: '#/components/schemas/ErrorCode' });
    expect(ErrorCode.enum).toEqual(Object.keys(ERROR_CODES));
    const { 'x-error-codes': codes, description } = responses[503];
    const ofStatus = Object.entries(ERROR_CODES).filter(([, { status }]) => status === 503);
    for (const code of codes) expect(ofStatus.map(([name]) => name)).toContain(code);
    expect(codes).toEqual(expect.arrayContaining(['not_connected', 'overloaded']));
    expect(description).toContain(ERROR_CODES.not_connected.meaning);
    expect(responses[413]['x-error-codes']).toEqual(['body_too_large']);
    expect(responses[415]['x-error-codes']).toEqual(['unsupported_media_type']);
    expect(responses[431]['x-error-codes']).toEqual(['headers_too_large']);
  });

  test.each([
    [['fuji', 'testnet'], 'fuji', FUJI],
    [['local', 'mainnet'], 'mainnet', MAINNET],
  ])('served as %j, preselects %s and has a message of it to try', async (pathNames, preselected, known) => {
    const named = await createTestServer({ networks: [scriptedNetwork({ pathNames })] });
    const { post } = (await load(named)).paths[POST_PATH];
    const example = post.requestBody.content['application/json'].examples.example1.value;
    const { networkID, cChainID: sourceChainID } = known;
    expect(parseUnsignedMessage(parseHex(example.message, 'example'))).toMatchObject({ networkID, sourceChainID });
    expect(networkOf(post)).toMatchObject({ example: preselected });
    const url = PATH.replace('fuji', preselected);
    expect((await named.inject({ method: 'POST', url, body: example })).statusCode).toBe(201);
  });

  test('has no example for a local network until there is one, and then keeps it', async () => {
    let example: AggregationExamples | undefined;
    const ofLocal = await createTestServer({
      networks: [scriptedNetwork({ pathNames: ['local'] })],
      examples: () => example,
    });
    const before = await ofLocal.inject('/openapi.json');
    expect(before.json().paths[POST_PATH].post.requestBody.content['application/json']).not.toHaveProperty('examples');
    const requests = [{ name: 'one', value: { message: '0x00', quorumPercentage: 67 } }];
    example = { network: 'local', requests, transactions: [{ name: 'two', value: '11' }] };
    const after = await ofLocal.inject('/openapi.json');
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
    expect(networkOf(post).example).toBe('local');
    expect(after.headers['etag']).not.toBe(before.headers['etag']);
    example = undefined;
    expect((await ofLocal.inject('/openapi.json')).body).toBe(after.body);
  });

  test('has further routes too, and they have the same errors', async () => {
    const other = await createTestServer({
      registerMore: (more) => {
        more.get('/more', { config: { access: OPERATIONS_ACCESS }, schema: { summary: 'More' } }, async () => {
          throw new Error('inside');
        });
      },
    });
    expect((await load(other)).paths['/more'].get.summary).toBe('More');
    expectError(await other.inject('/more'), 500, /^internal error: /, 'internal_error');
  });

  test.each(['/openapi.json', '/docs/json', '/docs/yaml'])('%s has an ETag', async (url) => {
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

test.each<[string, (server: Server) => void]>([
  ['GET /shown', (server) => void server.get('/shown', async () => 'x')],
  ['POST /hidden', (server) => void server.post('/hidden', { schema: { hide: true } }, async () => 'x')],
  ['GET /scoped', (server) => void server.register(async (scope) => void scope.get('/scoped', async () => 'x'))],
])('a route that does not declare its access stops the start: %s', async (route, registerMore) => {
  await expect(createTestServer({ registerMore })).rejects.toThrow(
    `a route without an access declaration (config: { access }): ${route}`,
  );
});

/** What the server writes back to these bytes, until it ends the connection. */
async function talk(to: Server, bytes: string): Promise<string> {
  const client = connect(portOf(to), '127.0.0.1').setEncoding('utf8');
  client.write(bytes);
  return text(client);
}

describe('what is not quite HTTP', () => {
  const begun = Promise.withResolvers<void>();
  let listening: Server;
  beforeAll(async () => {
    listening = await createTestServer({
      corsOrigins: ['*'],
      registerMore: (more) => {
        more.get('/long', { config: { access: OPERATIONS_ACCESS }, schema: { hide: true } }, (_request, reply) => {
          reply.hijack();
          reply.raw.writeHead(200, { 'content-length': 100 });
          reply.raw.write('the beginning', () => begun.resolve());
        });
      },
    });
    await listening.listen({ host: '127.0.0.1', port: 0 });
  });
  afterAll(() => listening.close());

  test('gets an error of the one form, which pages can read', async () => {
    const [head = '', body = ''] = (await talk(listening, 'no HTTP at all\r\n\r\n')).toLowerCase().split('\r\n\r\n');
    expect(head).toMatch(/^http\/1\.1 400 bad request\r\n/);
    expect(head).toMatch(/\r\nx-request-id: \S+/);
    const common = ['x-content-type-options: nosniff', 'content-type: application/json'];
    for (const header of [...common, 'access-control-allow-origin: *']) expect(head).toContain(header);
    expect(JSON.parse(body)).toMatchObject({ statuscode: 400, code: 'invalid_request' });
  });

  test('of version 1.0 needs no Host', async () => {
    expect(await talk(listening, 'GET /health/live HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1\.1 200 OK/);
  });

  test('after an answer that has begun nothing is written into it', async () => {
    const client = connect(portOf(listening), '127.0.0.1').setEncoding('utf8');
    client.on('error', () => undefined);
    let answer = '';
    client.on('data', (part) => {
      answer += String(part);
    });
    const ended = new Promise((resolve) => client.once('close', resolve));
    client.write('GET /long HTTP/1.1\r\nhost: x\r\n\r\n');
    await begun.promise;
    client.write('no HTTP at all\r\n\r\n');
    await ended;
    expect(answer).not.toContain('400');
  });
});

function networkOf({ parameters }: { parameters: { name: string; example?: string }[] }) {
  return parameters.find(({ name }) => name === 'network') ?? expect.fail('the operation has no network');
}
