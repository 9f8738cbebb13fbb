import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import fastify from 'fastify';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Devnet, startDevnet } from '../../../src/devnet/devnet.ts';
import { registerDevnetRoutes } from '../../../src/devnet/node/devnet-routes.ts';
import { parseHex } from '../../../src/lib/encoding/bytes.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';
import { parseUnsignedMessage } from '../../../src/warp/unsigned-message.ts';
import { FakeClock } from '../../support/fake-clock.ts';

// As the service's own server is set up: nothing is mended silently.
const server = fastify({ ajv: { customOptions: { removeAdditional: false, coerceTypes: false, useDefaults: false } } });
const typed = server.withTypeProvider<TypeBoxTypeProvider>();
let devnet: Devnet;
beforeAll(async () => {
  devnet = await startDevnet({ validators: 3, clock: new FakeClock(), logger: createLogger('silent') });
  registerDevnetRoutes(typed, () => devnet, 'fuji');
});
afterAll(async () => {
  await server.close();
  await devnet[Symbol.asyncDispose]();
});

test('lists the examples with all their fields', async () => {
  const response = await server.inject('/devnet/examples');
  expect(response.statusCode).toBe(200);
  expect(response.json()).toEqual(JSON.parse(JSON.stringify(devnet.examples('fuji'))));
});

test('describes the network', async () => {
  const response = await server.inject('/devnet/network');
  expect(response.statusCode).toBe(200);
  expect(response.json()).toEqual(JSON.parse(JSON.stringify(devnet.network())));
  expect(response.json()).toMatchObject({ apiUrl: devnet.apiUrl, networkID: 1337, nodeIDs: [...devnet.nodeIDs] });
});

test.each([1, 10_000])('emits %i messages', async (count) => {
  const response = await server.inject({ method: 'POST', url: '/devnet/messages', payload: { count } });
  expect(response.statusCode).toBe(200);
  const { messages } = response.json<{ messages: string[] }>();
  expect(new Set(messages).size).toBe(count);
  const last = parseUnsignedMessage(parseHex(messages.at(-1) ?? '', 'message'));
  expect(last).toMatchObject({ networkID: 1337, sourceChainID: devnet.subnets.primary.cChainID });
});

test.each([{}, { count: 0 }, { count: 10_001 }, { count: 1.5 }, { count: '5' }, { count: 1, more: true }, [1], 'x'])(
  'refuses %j',
  async (payload) => {
    const response = await server.inject({
      method: 'POST',
      url: '/devnet/messages',
      headers: { 'content-type': 'application/json' },
      payload: JSON.stringify(payload),
    });
    expect(response.statusCode).toBe(400);
  },
);

test.each([
  ['GET', '/devnet/examples'],
  ['GET', '/devnet/network'],
  ['POST', '/devnet/messages'],
] as const)('%s %s says that the network is starting until it has', async (method, url) => {
  await using starting = fastify();
  const failures: unknown[] = [];
  starting.setErrorHandler((error, _request, reply) => {
    failures.push(error);
    return reply.status(503).send();
  });
  registerDevnetRoutes(starting.withTypeProvider<TypeBoxTypeProvider>(), () => undefined, 'fuji');
  await starting.inject({ method, url, ...(method === 'POST' && { payload: { count: 1 } }) });
  expect(failures).toEqual([expect.objectContaining({ name: 'AggregatorError', code: 'network_unavailable' })]);
});
