import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { systemClock } from '../../../src/primitives/clock.ts';
import { createMemoryLimitCounters } from '../../../src/store/limit-counters.ts';
import { sendJson } from './stand-in.ts';
import { startUpstreamService, type UpstreamService, type UpstreamServiceOptions } from './upstream-service.ts';

/** What of a reindexing's fate makes the next one wait for an hour. */

const TARGET = `/v1/chains/43114/nfts/collections/0x${'ab'.repeat(20)}/tokens/145:reindex`;
const TIMEOUT_MS = 300;

function start(options: UpstreamServiceOptions = {}): Promise<UpstreamService> {
  return startUpstreamService({ ...options, settings: { timeoutMs: TIMEOUT_MS, ...options.settings } });
}

async function statusesOf(service: UpstreamService, count: number): Promise<number[]> {
  const statuses: number[] = [];
  for (let index = 0; index < count; index += 1) statuses.push((await service.post(TARGET)).status);
  return statuses;
}

/** Sends a request on a connection of its own, which the test may break off. */
function send(service: UpstreamService): Socket {
  const { hostname, port } = new URL(service.url);
  const socket = connect(Number(port), hostname);
  socket.write(`POST ${TARGET} HTTP/1.1\r\nhost: ${hostname}\r\ncontent-length: 0\r\n\r\n`);
  return socket;
}

test.each([400, 404, 429, 500, 503])('a %d of the upstream does not count', async (status) => {
  await using service = await start();
  service.standIn.behaviour = (_request, response) => sendJson(response, status, {});
  expect(await statusesOf(service, 3)).toEqual([status, status, status]);
  service.standIn.behaviour = undefined;
  expect(await statusesOf(service, 2)).toEqual([201, 429]);
});

test('what never reached an upstream does not count: refused, left alone, not configured', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  await using dead = await start({ settings: { dataApi: { evm: { baseUrl: `http://127.0.0.1:${port}` } } } });
  expect(await statusesOf(dead, 12)).toEqual([...Array<number>(10).fill(502), 503, 503]);
  await using none = await start({ settings: { dataApi: {} } });
  expect(await statusesOf(none, 2)).toEqual([503, 503]);
});

test.each<[string, number, NonNullable<UpstreamService['standIn']['behaviour']>]>([
  ['is not there in time', 503, () => undefined],
  ['breaks off', 502, (request) => void request.socket.destroy()],
  [
    'is nothing to pass on',
    502,
    (_request, response) => void response.writeHead(201, { 'content-type': 'text/html' }).end('<p>'),
  ],
])('an answer that %s counts: the token may be reindexed for all that', async (_, status, behaviour) => {
  await using service = await start();
  service.standIn.behaviour = behaviour;
  const first = await service.post(TARGET);
  const second = await service.post(TARGET);
  expect([first.status, second.status]).toEqual([status, 429]);
  expect(Number(second.headers.get('retry-after'))).toBeGreaterThan(3_500);
  expect(service.standIn.arrivals).toHaveLength(1);
});

test('a client that leaves when its request has gone out does not free the token', async () => {
  await using service = await start();
  const arrived = Promise.withResolvers<void>();
  const left = Promise.withResolvers<void>();
  service.standIn.behaviour = (request) => {
    request.socket.once('close', () => left.resolve());
    arrived.resolve();
  };
  const client = send(service);
  await arrived.promise;
  client.destroy();
  await left.promise;
  service.standIn.behaviour = undefined;
  expect(await statusesOf(service, 1)).toEqual([429]);
  expect(service.standIn.arrivals).toHaveLength(1);
});

test('a client that leaves before its request has gone out does, and nothing goes out', async () => {
  const own = createMemoryLimitCounters(systemClock);
  const asked = Promise.withResolvers<void>();
  const answered = Promise.withResolvers<void>();
  const limits: typeof own = {
    ...own,
    async claim(...claim) {
      asked.resolve();
      await answered.promise;
      return own.claim(...claim);
    },
  };
  await using service = await start({ limits });
  const client = send(service);
  await asked.promise;
  client.resetAndDestroy();
  // By now the service has heard of it.
  await service.get('/health/live');
  answered.resolve();
  await service.get('/health/live');
  expect(service.standIn.arrivals).toHaveLength(0);
  expect(await statusesOf(service, 2)).toEqual([201, 429]);
  expect(service.standIn.arrivals).toHaveLength(1);
});

test('of many at the same time one is passed on', async () => {
  await using service = await start();
  const answers = await Promise.all(Array.from({ length: 10 }, () => service.post(TARGET)));
  expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, ...Array<number>(9).fill(429)]);
  expect(service.standIn.arrivals).toHaveLength(1);
});
