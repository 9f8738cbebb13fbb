import { connect } from 'node:net';
import { Counter, Registry } from 'prom-client';
import { describe, expect, test } from 'vitest';
import type { Readiness } from '../../../src/aggregator/validator-connections.ts';
import { PRIMARY_NETWORK_ID } from '../../../src/primitives/ids.ts';
import { createTestServer, expectError, NODE_ID, PATH, portOf } from './api-fixture.ts';

const READY: Readiness = {
  isReady: true,
  subnets: [
    { subnetID: PRIMARY_NETWORK_ID, connected: { weight: 2n ** 60n, totalWeight: 2n ** 60n + 1n, isEnough: true } },
  ],
};

describe('/health', () => {
  test('live while the process answers, connected or not', async () => {
    const server = await createTestServer({ readiness: () => ({ isReady: false, subnets: [] }) });
    const response = await server.inject('/health/live');
    expect([response.statusCode, response.body]).toEqual([200, '{"status":"up"}']);
  });

  test('ready says what is connected', async () => {
    const server = await createTestServer({ readiness: () => READY });
    const response = await server.inject('/health/ready');
    expect(response.statusCode).toBe(200);
    expect(response.json()).toEqual({
      status: 'up',
      nodeId: NODE_ID,
      subnets: [
        {
          subnetId: PRIMARY_NETWORK_ID,
          status: 'up',
          connectedWeight: '1152921504606846976',
          totalWeight: '1152921504606846977',
        },
      ],
    });
  });

  test('not ready is 503 with a time to try again, and names what is missing', async () => {
    const readiness = (): Readiness => ({
      isReady: false,
      subnets: [
        { subnetID: PRIMARY_NETWORK_ID, connected: undefined },
        { subnetID: PRIMARY_NETWORK_ID, connected: { weight: 1n, totalWeight: 3n, isEnough: false } },
      ],
    });
    const server = await createTestServer({ readiness });
    const response = await server.inject('/health/ready');
    expect(response.statusCode).toBe(503);
    expect(response.headers['retry-after']).toBe('2');
    expect(response.json()).toEqual({
      status: 'down',
      nodeId: NODE_ID,
      subnets: [
        { subnetId: PRIMARY_NETWORK_ID, status: 'down' },
        { subnetId: PRIMARY_NETWORK_ID, status: 'down', connectedWeight: '1', totalWeight: '3' },
      ],
    });
  });
});

test('/metrics are those of the registry, with the readiness of the moment', async () => {
  const registry = new Registry();
  const reads = new Counter({ name: 'reads_total', help: 'x', registers: [registry] });
  const readiness = (): Readiness => {
    reads.inc();
    return READY;
  };
  const server = await createTestServer({ registry, readiness });
  const response = await server.inject('/metrics');
  expect(response.headers['content-type']).toContain('text/plain; version=0.0.4');
  expect(response.body).toContain('reads_total 1');
});

describe('/openapi.json', () => {
  test('has the route, with the limits of its fields and all its answers', async () => {
    const server = await createTestServer();
    const document = (await server.inject('/openapi.json')).json();
    expect(document.openapi).toBe('3.1.0');
    expect(Object.keys(document.paths)).toEqual(expect.arrayContaining(['/health/live', '/health/ready']));
    const { post } = document.paths['/v1/signatureAggregator/{network}/aggregateSignatures'];
    const { schema } = post.requestBody.content['application/json'];
    expect(schema.additionalProperties).toBe(false);
    expect(schema.properties).toMatchObject({
      message: { type: 'string' },
      justification: { type: 'string' },
      signingSubnetId: { type: 'string' },
      quorumPercentage: { type: 'integer', minimum: 0, maximum: 100, default: 67 },
      quorumPercentageBuffer: { type: 'integer', minimum: 0, maximum: 100, default: 0 },
      pChainHeight: { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER, default: 0 },
    });
    expect(Object.keys(post.responses)).toEqual(['201', '400', '404', '500', '502', '503']);
    expect(post.responses[503].content['application/json'].schema.required).toEqual(['message', 'statusCode', 'error']);
    expect(post.parameters).toMatchObject([{ name: 'network', in: 'path', schema: { enum: ['fuji', 'testnet'] } }]);
  });

  test('has an example of a request that is well-formed', async () => {
    const server = await createTestServer();
    const { paths } = (await server.inject('/openapi.json')).json();
    const { example } =
      paths['/v1/signatureAggregator/{network}/aggregateSignatures'].post.requestBody.content['application/json'];
    expect((await server.inject({ method: 'POST', url: PATH, body: example })).statusCode).toBe(201);
  });

  test('has further routes too, and they have the same errors', async () => {
    const server = await createTestServer({
      registerMore: (server) => {
        server.get('/more', { schema: { summary: 'More' } }, async () => {
          throw new Error('inside');
        });
      },
    });
    expect((await server.inject('/openapi.json')).json().paths['/more'].get.summary).toBe('More');
    expectError(await server.inject('/more'), 500, 'internal error: see the log of the service');
  });
});

test('what is no HTTP gets an answer of JSON, and the service goes on', async () => {
  const server = await createTestServer();
  await server.listen({ host: '127.0.0.1', port: 0 });
  const client = connect(portOf(server), '127.0.0.1').setEncoding('utf8');
  client.write('no HTTP at all\r\n\r\n');
  let answer = '';
  for await (const text of client) answer += text;
  expect(answer).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
  expect(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n')))).toMatchObject({ statusCode: 400, error: 'Bad Request' });
  expect((await server.inject('/health/live')).statusCode).toBe(200);
  await server.close();
});
