import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { expect, test } from 'vitest';
import { FakeClock } from '../../support/fake-clock.ts';
import { createLogLines } from '../../support/log-lines.ts';
import { type Behaviour, BREAK, reply, SILENCE, sendJson } from './stand-in.ts';
import { startUpstreamService } from './upstream-service.ts';

const TIMEOUT_MS = 10_000;
const block = (height: number) => `/v1/chains/43114/blocks/${height}`;
const OPEN = 'upstream_circuit_open{upstream="evm"}';

async function start(settings: object = {}) {
  const clock = new FakeClock();
  const { logger, records } = createLogLines();
  const service = await startUpstreamService({ settings: { timeoutMs: TIMEOUT_MS, ...settings }, clock, logger });
  return {
    clock,
    service,
    standIn: service.standIn,
    /** The log without the lines of each request and of the start. */
    lines: () => records().filter(({ msg }) => msg.includes('upstream')),
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
  };
}

test('without a listener: opens after ten requests, rejects with Retry-After, and closes when a trial is answered', async () => {
  // Below the ports that a system gives to connections: no process takes it before the test listens there.
  const port = randomInt(10_000, 32_000);
  await using started = await start({ dataApi: { evm: { baseUrl: `http://127.0.0.1:${port}` } } });
  const { clock, service, lines } = started;
  for (let count = 0; count < 10; count += 1) {
    const { status, text } = await service.get(block(1));
    expect([status, text.includes(String(port))]).toEqual([502, false]);
  }
  expect(await service.metric(OPEN)).toBe(1);
  const { status, body, headers } = await service.get(block(10));
  expect([status, headers.get('retry-after'), body['code']]).toEqual([503, '5', 'upstream_failing']);
  // The other upstreams are not concerned.
  expect((await service.get('/v1/avg_tps/1')).status).toBe(200);

  await clock.advance(5_000);
  const trial = await Promise.all(Array.from({ length: 20 }, (_, index) => service.get(block(index))));
  expect(trial.map((answer) => answer.status).toSorted((a, b) => a - b)).toEqual([502, ...Array<number>(19).fill(503)]);
  await clock.advance(5_000);
  await using server = createServer((_request, response) => sendJson(response, 200, {}));
  await once(server.listen(port, '127.0.0.1'), 'listening');
  for (let count = 0; count < 3; count += 1) expect((await service.get(block(count))).status).toBe(200);
  expect(await service.metric(OPEN)).toBe(0);
  const changes = lines().filter(({ msg }) => /circuit is open|answers again/.test(msg));
  expect(changes).toMatchObject([
    { level: 'warn', upstream: 'evm' },
    { level: 'info', upstream: 'evm' },
  ]);
});

test.each<[string, Behaviour, number]>([
  ['is silent', SILENCE, 503],
  ['breaks each connection', BREAK, 502],
])(
  'a host that %s keeps the circuit closed: clients can choose requests that fail',
  async (_name, behaviour, status) => {
    await using started = await start();
    const { service, standIn, clock } = started;
    standIn.behaviour = behaviour;
    const answers = Promise.all(Array.from({ length: 20 }, (_, index) => service.get(block(index))));
    if (behaviour === SILENCE) {
      await expect.poll(() => standIn.arrivals.length).toBe(20);
      await clock.advance(TIMEOUT_MS);
    }
    expect((await answers).map((answer) => answer.status)).toEqual(Array(20).fill(status));
    expect(await service.metric(OPEN)).toBe(0);
    standIn.behaviour = undefined;
    expect((await service.get(block(1))).status).toBe(200);
  },
);

test.each<[string, Behaviour]>([
  ['is silent about', SILENCE],
  ['breaks each connection that asks for', BREAK],
  ['fails for', reply(503)],
])('a host that %s broken chains serves the others, however often those are asked for', async (_name, fail) => {
  await using started = await start();
  const { service, standIn, clock } = started;
  const broken = /^\/v1\/(chains|avg_tps)\/66\d|subnets/;
  standIn.behaviour = (...exchange) => (broken.test(exchange[2].target) ? fail : reply(200))(...exchange);
  const targets = [0, 1, 2, 3].flatMap((chain) => [
    `/v1/chains/66${chain}/blocks/1`,
    `/v1/chains/66${chain}/blocks/1/transactions`,
    `/v1/chains/66${chain}/tokens/0x${'ab'.repeat(20)}/transfers`,
    `/v1/subnets/${chain}`,
  ]);
  for (let round = 0; round < 2; round += 1) {
    standIn.arrivals.length = 0;
    let settled = 0;
    const asked = targets.map((target) =>
      service.get(target).finally(() => {
        settled += 1;
      }),
    );
    if (fail === SILENCE) {
      await expect.poll(() => settled + standIn.arrivals.length).toBe(targets.length);
      await clock.advance(TIMEOUT_MS);
    }
    for (const { status } of await Promise.all(asked)) expect([502, 503]).toContain(status);
    for (const other of [block(round), '/v1/chains/1/blocks/1', '/v1/anything']) {
      expect([other, (await service.get(other)).status]).toEqual([other, 200]);
    }
    expect(await service.metric(OPEN)).toBe(0);
  }
});

test('whatever is answered keeps it closed, and so do some answers among many failures', async () => {
  await using started = await start();
  const { service, standIn } = started;
  const ask = async (target: (height: number) => string, behaviour: Behaviour) => {
    standIn.behaviour = behaviour;
    for (let height = 0; height < 20; height += 1) await service.get(target(height));
    expect(await service.metric(OPEN)).toBe(0);
  };
  for (const answer of [reply(500), reply(503), reply(200, '<p>', { 'content-type': 'text/html' }), reply(302)]) {
    await ask(block, answer);
  }
  await ask((height) => `/v1/unheard/of/${height}`, reply(503));
  for (const rare of [reply(404), reply(200, '<p>', { 'content-type': 'text/html' })]) {
    let count = 0;
    await ask(block, (...exchange) => {
      count += 1;
      (count % 5 === 0 ? rare : BREAK)(...exchange);
    });
  }
});

test('the log has one line a minute for each kind of failure, with the path and without the query', async () => {
  await using started = await start();
  const { clock, service, standIn, lines } = started;
  const list = (height: number) => `${block(height)}/transactions`;
  standIn.behaviour = (_request, response, { target }) => sendJson(response, target.includes('/7') ? 401 : 500, {});
  for (let count = 0; count < 5; count += 1) {
    await service.get(`${list(7)}?pageToken=private`);
    await service.get(`${list(8)}?pageToken=private`);
  }
  const failures = [
    { level: 'warn', upstream: 'evm', outcome: 'refused', reason: 'status 401', path: list(7) },
    { level: 'warn', upstream: 'evm', outcome: 'failed', reason: 'status 500', path: list(8) },
  ];
  expect(lines()).toMatchObject(failures);
  await clock.advance(60_000);
  await service.get(block(8));
  expect(lines()).toMatchObject([...failures, { outcome: 'failed', omitted: 4 }]);
  standIn.behaviour = reply(404);
  await service.get(block(9));
  const held = standIn.hold();
  const client = service.begin(block(1));
  await held;
  client.abort();
  await expect.poll(() => service.metric('upstream_requests_total{upstream="evm",outcome="left"}')).toBe(1);
  // Neither a 404 nor a client that leaves is a failure.
  expect(lines()).toHaveLength(3);
  expect(JSON.stringify(lines())).not.toContain('private');
});
