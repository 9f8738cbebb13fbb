import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { systemClock } from '../../../src/lib/concurrency/clock.ts';
import { createMemoryLimitCounters } from '../../../src/store/local/limit-counters.ts';
import { movableClock } from './movable-clock.ts';
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

/** Sends a request on a new connection, which the test may close. */
function send(service: UpstreamService): Socket {
  const { hostname, port } = new URL(service.url);
  const socket = connect(Number(port), hostname);
  socket.write(`POST ${TARGET} HTTP/1.1\r\nhost: ${hostname}\r\ncontent-length: 0\r\n\r\n`);
  return socket;
}

test.each([
  [200, 'application/json', '{"indexed":true}'],
  [201, 'application/json', '{}'],
  [202, 'text/plain', ''],
  [204, 'text/plain', ''],
])('an upstream that answers %i %s is answered on as documented: 201 and no body', async (status, type, body) => {
  await using service = await start();
  service.standIn.behaviour = (_request, response) => {
    response.writeHead(status, { 'content-type': type }).end(body === '' ? undefined : body);
  };
  const answer = await service.post(TARGET);
  expect([answer.status, answer.text, answer.headers.get('content-type')]).toEqual([201, '', null]);
});

test('an upstream that answers a reindexing with a long body has its connection back', async () => {
  await using service = await start();
  service.standIn.behaviour = (_request, response) => sendJson(response, 200, { text: 'x'.repeat(600_000) });
  expect((await service.post(TARGET)).status).toBe(201);
  expect(await statusesOf(service, 1)).toEqual([429]);
});

/** The C-Chain of mainnet by each of its names: its ID in cb58, and the same 32 bytes in hex. */
const C_CHAIN = '0427d4b22a2a78bcddd456742caf91b56badbff985ee19aef14573e7343fd652';
const C_CHAINS = [
  ['43114', '2q9e4r6Mu3U68nU1fYjgbR6JvwrRx36CohpAX5UQxse55x1Q5', C_CHAIN, `0x${C_CHAIN}`, C_CHAIN.toUpperCase()],
  ['43113', 'yH8D7ThNJkxmtkuv2jgBa4P1Rn3Qpr4pPr7QYNfcdoS6k6HWp'],
] as const;
const COLLECTION = `0x${'aB'.repeat(20)}`;
function targetOf({ chain = '43114', collection = COLLECTION, token = '145' }): string {
  return `/v1/chains/${chain}/nfts/collections/${collection}/tokens/${token}:reindex`;
}

test('one token is one, by whatever names of its chain, its collection and itself', async () => {
  await using service = await start();
  expect((await service.post(targetOf({}))).status).toBe(201);
  for (const chain of C_CHAINS[0]) {
    for (const collection of [COLLECTION, COLLECTION.toLowerCase()]) {
      for (const token of ['145', '0145', '0x91', '0x0091']) {
        const target = targetOf({ chain, collection, token });
        expect({ target, status: (await service.post(target)).status }).toEqual({ target, status: 429 });
      }
    }
  }
  expect(service.standIn.arrivals).toHaveLength(1);
});

test('tokens of another chain or collection, and other numbers, are others', async () => {
  await using service = await start();
  const others = [
    {},
    { chain: '43113' },
    { chain: '1' },
    { chain: '2oYMBNV4eNHyqk2fjjV5nVQLDbtmNJzq5s3qs3Lo6ftnC6FByM' },
    { collection: `0x${'aC'.repeat(20)}` },
    { token: '146' },
  ].map(targetOf);
  for (const target of others) expect((await service.post(target)).status).toBe(201);
  expect(service.standIn.arrivals.map(({ target }) => target)).toEqual(others);
});

test('the C-Chain of fuji is one by its number and its ID, and not that of mainnet', async () => {
  await using service = await start();
  const [number, id] = C_CHAINS[1];
  const statuses: number[] = [];
  for (const chain of [id, number, ...C_CHAINS[0]]) statuses.push((await service.post(targetOf({ chain }))).status);
  expect(statuses).toEqual([201, 429, 201, 429, 429, 429, 429]);
});

test('a token may be reindexed again after an hour, and not a second before', async () => {
  const clock = movableClock();
  await using service = await start({ clock });
  for (let hours = 0; hours < 3; hours += 1) {
    expect((await service.post(TARGET)).status).toBe(201);
    clock.move(3_599_000);
    const early = await service.post(TARGET);
    expect([early.status, early.headers.get('retry-after')]).toEqual([429, '1']);
    clock.move(999);
    expect((await service.post(TARGET)).status).toBe(429);
    clock.move(1);
  }
  expect(service.standIn.arrivals).toHaveLength(3);
});

test('a token has up to 256 bits', async () => {
  await using service = await start();
  const greatest = 2n ** 256n - 1n;
  expect((await service.post(targetOf({ token: `${greatest}` }))).status).toBe(201);
  expect((await service.post(targetOf({ token: `0x${greatest.toString(16)}` }))).status).toBe(429);
  for (const token of [
    `${greatest + 1n}`,
    `0x1${'0'.repeat(64)}`,
    '9'.repeat(78),
    '9'.repeat(1_000),
    'x',
    '-1',
    '1.5',
  ]) {
    const { status, body } = await service.post(targetOf({ token }));
    expect([status, body['message']]).toEqual([400, 'tokenId must be a number of up to 256 bits']);
  }
  expect(service.standIn.arrivals).toHaveLength(1);
});

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
