import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createClaimStore } from '../../../src/store/local/claim-store.ts';
import { createMemoryLimitCounters } from '../../../src/store/local/limit-counters.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { holdClosedPort } from '../closed-port.ts';
import { shareUpstreamService } from './shared-service.ts';
import { type Behaviour, BREAK, reply, SILENCE } from './stand-in.ts';
import { startUpstreamService } from './upstream-service.ts';

const TIMEOUT_MS = 10_000;
/** The C-Chain of mainnet by each of its names: its number, its ID in cb58, and the same 32 bytes in hex. */
const C_CHAIN = '0427d4b22a2a78bcddd456742caf91b56badbff985ee19aef14573e7343fd652';
const MAINNET = [
  '43114',
  '2q9e4r6Mu3U68nU1fYjgbR6JvwrRx36CohpAX5UQxse55x1Q5',
  C_CHAIN,
  `0x${C_CHAIN}`,
  C_CHAIN.toUpperCase(),
];
const FUJI = ['yH8D7ThNJkxmtkuv2jgBa4P1Rn3Qpr4pPr7QYNfcdoS6k6HWp', '43113'];
const COLLECTION = `0x${'aB'.repeat(20)}`;

let tokens = 0;
/** Returns the target of a token; by default of one that no test has asked for. */
function targetOf({ chain = '43114', collection = COLLECTION, token = `${(tokens += 1)}` } = {}): string {
  return `/v1/chains/${chain}/nfts/collections/${collection}/tokens/${token}:reindex`;
}

const clock = new FakeClock();
const service = await shareUpstreamService({ clock, settings: { timeoutMs: TIMEOUT_MS } });
const { standIn } = service;

async function statusesOf(target: string, count: number, asked = service): Promise<number[]> {
  const statuses: number[] = [];
  for (let index = 0; index < count; index += 1) statuses.push((await asked.post(target)).status);
  return statuses;
}

test.each<[string, Behaviour]>([
  ['200 with a body', reply(200, { indexed: true })],
  ['200 with a long body', reply(200, { text: 'x'.repeat(600_000) })],
  ['201 with JSON', reply(201)],
  ['202 without a body', reply(202, '', { 'content-type': 'text/plain' })],
  ['204', reply(204, '')],
])('%s of the upstream is answered as documented: 201 without a body', async (_name, behaviour) => {
  standIn.behaviour = behaviour;
  const target = targetOf();
  const answer = await service.post(target);
  expect([answer.status, answer.text, answer.headers.get('content-type')]).toEqual([201, '', null]);
  expect(await statusesOf(target, 1)).toEqual([429]);
});

test('one token is one, by whatever names of its chain, its collection and itself', async () => {
  for (const chain of MAINNET) {
    for (const collection of [COLLECTION, COLLECTION.toLowerCase()]) {
      for (const token of ['145', '0145', '0x91', '0x0091']) await service.post(targetOf({ chain, collection, token }));
    }
  }
  expect(standIn.arrivals).toHaveLength(1);
  for (const chain of FUJI) await service.post(targetOf({ chain, token: '145' }));
  expect(standIn.arrivals).toHaveLength(2);
});

test('tokens of another chain or collection, and other numbers, are others', async () => {
  const token = '500';
  const others = [
    ...['43114', '43113', '1', '2oYMBNV4eNHyqk2fjjV5nVQLDbtmNJzq5s3qs3Lo6ftnC6FByM'].map((chain) => ({ chain, token })),
    { collection: `0x${'aC'.repeat(20)}`, token },
    { token: '501' },
  ].map(targetOf);
  for (const target of others) expect((await service.post(target)).status).toBe(201);
  expect(standIn.arrivals.map(({ target }) => target)).toEqual(others);
});

test('a token may be reindexed again after an hour, and not a second before', async () => {
  const target = targetOf();
  for (let hours = 0; hours < 3; hours += 1) {
    expect((await service.post(target)).status).toBe(201);
    await clock.advance(3_599_000);
    const early = await service.post(target);
    expect([early.status, early.headers.get('retry-after')]).toEqual([429, '1']);
    await clock.advance(999);
    expect((await service.post(target)).status).toBe(429);
    await clock.advance(1);
  }
  expect(standIn.arrivals).toHaveLength(3);
});

test('a token has up to 256 bits', async () => {
  const greatest = 2n ** 256n - 1n;
  expect(await statusesOf(targetOf({ token: `${greatest}` }), 1)).toEqual([201]);
  expect(await statusesOf(targetOf({ token: `0x${greatest.toString(16)}` }), 1)).toEqual([429]);
  const wrong = [`${greatest + 1n}`, `0x1${'0'.repeat(64)}`, '9'.repeat(78), '9'.repeat(1_000), 'x', '-1', '1.5'];
  for (const token of wrong) {
    const { status, body } = await service.post(targetOf({ token }));
    expect([status, body['message']]).toEqual([400, expect.stringMatching(/^tokenId must be /)]);
  }
  expect(standIn.arrivals).toHaveLength(1);
});

test.each([400, 404, 429, 500, 503])('a %d of the upstream does not count', async (status) => {
  const target = targetOf();
  standIn.behaviour = reply(status);
  expect(await statusesOf(target, 3)).toEqual([status, status, status]);
  standIn.behaviour = undefined;
  expect(await statusesOf(target, 2)).toEqual([201, 429]);
});

test('what never reached an upstream does not count: not connected, suspended, not configured', async () => {
  await using closed = await holdClosedPort();
  const baseUrl = `http://127.0.0.1:${closed.port}`;
  await using dead = await startUpstreamService({ settings: { dataApi: { evm: { baseUrl } } } });
  expect(await statusesOf(targetOf({}), 12, dead)).toEqual([...Array<number>(10).fill(502), 503, 503]);
  await using none = await startUpstreamService({ settings: { dataApi: {} } });
  expect(await statusesOf(targetOf(), 2, none)).toEqual([503, 503]);
});

test.each<[string, number, Behaviour]>([
  ['is not there in time', 503, SILENCE],
  ['breaks off', 502, BREAK],
  ['cannot be passed on', 502, reply(201, '<p>', { 'content-type': 'text/html' })],
])('an answer that %s counts: the upstream may have accepted the request', async (_name, status, behaviour) => {
  const target = targetOf();
  standIn.behaviour = behaviour;
  const first = service.post(target);
  if (behaviour === SILENCE) {
    await expect.poll(() => standIn.arrivals.length).toBe(1);
    expect(await statusesOf(target, 1)).toEqual([429]);
    await clock.advance(TIMEOUT_MS);
  }
  expect((await first).status).toBe(status);
  standIn.behaviour = undefined;
  expect(await statusesOf(target, 2)).toEqual([429, 429]);
  expect(standIn.arrivals).toHaveLength(1);
  await clock.advance(3_600_000);
  expect(await statusesOf(target, 1)).toEqual([201]);
});

test('the hour of a token survives a restart with a folder for it', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'claims-'));
  using stack = new DisposableStack();
  stack.defer(() => rmSync(folder, { recursive: true }));
  const target = targetOf();
  const statuses: number[] = [];
  let counters = createMemoryLimitCounters(clock);
  const limits = { ...counters, claim: (...of: Parameters<typeof counters.claim>) => counters.claim(...of) };
  await using restarted = await startUpstreamService({ clock, limits });
  for (const advanceMs of [0, 3_599_000, 1_000]) {
    await clock.advance(advanceMs);
    using claims = createClaimStore(folder, clock, createLogger('silent'));
    counters = createMemoryLimitCounters(clock, claims);
    statuses.push(...(await statusesOf(target, 1, restarted)));
  }
  expect(statuses).toEqual([201, 429, 201]);
});

test.each([
  [201, 429],
  [503, 201],
])(
  'a client that leaves cannot repeat what the upstream accepts: after a %d of the upstream, %d',
  async (...[accepted, next]) => {
    const target = targetOf();
    const held = standIn.hold();
    const client = service.send(`POST ${target}`);
    const response = await held;
    client.destroy();
    const asked = () =>
      service.metric(`upstream_requests_total{upstream="evm",outcome="${accepted < 400 ? 'ok' : 'failed'}"}`);
    const before = await asked();
    expect(await statusesOf(target, 1)).toEqual([429]);
    response.writeHead(accepted).end();
    await expect.poll(asked).toBe(before + 1);
    standIn.behaviour = undefined;
    expect(await statusesOf(target, 1)).toEqual([next]);
  },
);

test('a client that leaves before its request has gone out does, and nothing goes out', async () => {
  const target = targetOf();
  const own = createMemoryLimitCounters(clock);
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
  await using slow = await startUpstreamService({ limits });
  const client = slow.send(`POST ${target}`);
  await asked.promise;
  client.resetAndDestroy();
  // By now the service has heard of it.
  await slow.get('/health/live');
  answered.resolve();
  await slow.get('/health/live');
  expect(slow.standIn.arrivals).toHaveLength(0);
  expect(await statusesOf(target, 2, slow)).toEqual([201, 429]);
});

test('of many at the same time one is passed on', async () => {
  const target = targetOf();
  const answers = await Promise.all(Array.from({ length: 10 }, () => service.post(target)));
  expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, ...Array<number>(9).fill(429)]);
  expect(standIn.arrivals).toHaveLength(1);
});
