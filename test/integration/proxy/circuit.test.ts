import { createServer as createHttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { Writable } from 'node:stream';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { FakeClock } from '../../support/fake-clock.ts';
import { sendJson } from './stand-in.ts';
import { startUpstreamService } from './upstream-service.ts';

const TIMEOUT_MS = 10_000;
const PROBE_TIMEOUT_MS = 3_000;
const block = (height: number) => `/v1/chains/43114/blocks/${height}`;
const OPEN = 'upstream_circuit_open{upstream="evm"}';

async function start(settings: object = {}) {
  const clock = new FakeClock();
  const lines: Record<string, unknown>[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      const line = JSON.parse(chunk.toString('utf8')) as Record<string, unknown>;
      // Those of each request say nothing of upstreams.
      if (line['msg'] !== 'request') lines.push(line);
      done();
    },
  });
  const service = await startUpstreamService({
    settings: { timeoutMs: TIMEOUT_MS, ...settings },
    clock,
    logger: pino({ level: 'info', base: null }, stream),
  });
  lines.length = 0; // that it listens
  return {
    clock,
    service,
    lines,
    standIn: service.standIn,
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
  };
}

/** Listens nowhere, until it does. */
async function startUnreachable() {
  const closed = createServer();
  await new Promise<void>((resolve) => closed.listen(0, '127.0.0.1', resolve));
  const { port } = closed.address() as AddressInfo;
  await new Promise((resolve) => closed.close(resolve));
  const started = await start({ dataApi: { evm: { baseUrl: `http://127.0.0.1:${port}` } } });
  return {
    ...started,
    async listen() {
      const server = createHttpServer((_request, response) => sendJson(response, 200, {}));
      await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
      return {
        async [Symbol.asyncDispose]() {
          server.closeAllConnections();
          await new Promise((resolve) => server.close(resolve));
        },
      };
    },
  };
}

test('without a listener: opens after ten requests, rejects with Retry-After, admits one trial, and closes when that is answered', async () => {
  await using started = await startUnreachable();
  const { clock, service, lines } = started;
  // Whatever was asked for.
  for (let count = 0; count < 10; count += 1) expect((await service.get(block(1))).status).toBe(502);
  expect(await service.metric(OPEN)).toBe(1);
  const { status, body, headers } = await service.get(block(10));
  expect([status, headers.get('retry-after'), body['message'], body['code']]).toEqual([
    503,
    '5',
    'the data API of EVM chains failed repeatedly and is not asked for a few seconds',
    'upstream_failing',
  ]);
  // The other upstreams are not concerned.
  expect((await service.get('/v1/avg_tps/1')).status).toBe(200);

  await clock.advance(5_000);
  const trial = await Promise.all(Array.from({ length: 20 }, (_, index) => service.get(block(index))));
  expect(trial.map((answer) => answer.status).toSorted((a, b) => a - b)).toEqual([502, ...Array<number>(19).fill(503)]);
  await clock.advance(5_000);
  await using _server = await started.listen();
  for (let count = 0; count < 3; count += 1) expect((await service.get(block(count))).status).toBe(200);
  expect(await service.metric(OPEN)).toBe(0);
  expect(lines.filter(({ msg }) => /circuit is open|answers again/.test(String(msg)))).toEqual([
    expect.objectContaining({ level: 40, upstream: 'evm' }),
    expect.objectContaining({ level: 30, upstream: 'evm' }),
  ]);
});

const SILENCE = () => undefined;
const BREAK = (request: { socket: { destroy(): void } }) => request.socket.destroy();
const PROBE = '/';

test.each<[string, unknown, number]>([
  ['is silent', SILENCE, 503],
  ['breaks each connection', BREAK, 502],
])(
  'a host that %s is asked a question of our own, and left alone where it does not answer that either',
  async (_name, behaviour, status) => {
    await using started = await start();
    const { service, standIn, clock } = started;
    standIn.behaviour = behaviour as never;
    const answers = Promise.all(Array.from({ length: 10 }, (_, index) => service.get(block(index))));
    if (behaviour === SILENCE) {
      await expect.poll(() => standIn.arrivals.length).toBe(10);
      await clock.advance(TIMEOUT_MS);
    }
    expect((await answers).map((answer) => answer.status)).toEqual(Array(10).fill(status));
    const probes = () => standIn.arrivals.filter(({ target }) => target === PROBE).length;
    await expect.poll(probes).toBe(1);
    await clock.advance(PROBE_TIMEOUT_MS);
    await expect.poll(() => service.metric(OPEN)).toBe(1);
    standIn.arrivals.length = 0;
    expect((await service.get(block(1))).body['code']).toBe('upstream_failing');
    expect(standIn.arrivals).toHaveLength(0);
    await clock.advance(5_000);
    standIn.behaviour = undefined;
    expect((await service.get(block(1))).status).toBe(200);
    expect(await service.metric(OPEN)).toBe(0);
  },
);

test.each<[string, unknown]>([
  ['is silent about', SILENCE],
  ['breaks each connection that asks for', BREAK],
  ['fails for', (_request: unknown, response: never) => sendJson(response, 503, {})],
])('a host that %s broken chains serves the others, however often those are asked for', async (_name, fail) => {
  await using started = await start();
  const { service, standIn, clock } = started;
  const broken = /^\/v1\/(chains|avg_tps)\/66\d|subnets/;
  standIn.behaviour = (request, response) => {
    if (broken.test(request.url ?? ''))
      (fail as NonNullable<typeof standIn.behaviour>)(request, response, undefined as never);
    else sendJson(response, 200, {});
  };
  const targets = [0, 1, 2, 3].flatMap((chain) => [
    `/v1/chains/66${chain}/blocks/1`,
    `/v1/chains/66${chain}/blocks/1/transactions`,
    `/v1/chains/66${chain}/transactions/0x${'0f'.repeat(32)}`,
    `/v1/chains/66${chain}/tokens/0x${'ab'.repeat(20)}/transfers`,
    `/v1/subnets/${chain}`,
  ]);
  for (let round = 0; round < 4; round += 1) {
    let settled = 0;
    const asked = targets.map((target) =>
      service.get(`${target}?n=${round}`).finally(() => {
        settled += 1;
      }),
    );
    if (fail === SILENCE) {
      const arrived = () => standIn.arrivals.filter(({ target }) => target.endsWith(`?n=${round}`)).length;
      await expect.poll(() => settled + arrived()).toBe(targets.length);
      await clock.advance(TIMEOUT_MS);
    }
    for (const { status } of await Promise.all(asked)) expect([502, 503]).toContain(status);
    for (const other of [block(round), '/v1/chains/1/blocks/1', '/v1/anything']) {
      expect([other, (await service.get(other)).status]).toEqual([other, 200]);
    }
    expect(await service.metric(OPEN)).toBe(0);
  }
});

test.each<[string, (height: number) => string, Parameters<typeof sendJson>[1], string]>([
  ['errors', block, 500, 'application/json'],
  ['gateway errors', block, 503, 'application/json'],
  ['answers in a wrong form', block, 200, 'text/html'],
  ['redirects', block, 302, 'application/json'],
  [
    'gateway errors of paths that the specification does not name',
    (height) => `/v1/unheard/of/${height}`,
    503,
    'application/json',
  ],
])('%s do not open it: each is an answer', async (_name, target, status, type) => {
  await using started = await start();
  const { service, standIn } = started;
  standIn.behaviour = (_request, response) => response.writeHead(status, { 'content-type': type }).end('{}');
  for (let count = 0; count < 30; count += 1) await service.get(target(count));
  expect(standIn.arrivals).toHaveLength(30);
  expect(await service.metric(OPEN)).toBe(0);
});

test('stays closed while some requests are answered, and sends no probe', async () => {
  await using started = await start();
  const { service, standIn } = started;
  let count = 0;
  standIn.behaviour = (request, response) => {
    count += 1;
    if (count % 5 === 0) sendJson(response, 404, {});
    else BREAK(request);
  };
  for (let index = 0; index < 40; index += 1) await service.get(block(index));
  expect(standIn.arrivals.filter(({ target }) => target === PROBE)).toEqual([]);
});

test('the log has one line a minute for each kind of failure, with the path and without the query', async () => {
  await using started = await start();
  const { clock, service, standIn, lines } = started;
  standIn.behaviour = (request, response) => sendJson(response, request.url?.includes('/7') === true ? 401 : 500, {});
  for (let count = 0; count < 5; count += 1) {
    await service.get(`${block(7)}?q=private`);
    await service.get(`${block(8)}?q=private`);
  }
  const failure = (outcome: string, reason: string, height: number) =>
    expect.objectContaining({ level: 40, upstream: 'evm', outcome, reason, path: block(height) });
  expect(lines).toEqual([failure('refused', 'status 401', 7), failure('failed', 'status 500', 8)]);
  await clock.advance(60_000);
  await service.get(block(8));
  expect(lines.slice(2)).toEqual([expect.objectContaining({ outcome: 'failed', omitted: 4 })]);
  standIn.behaviour = (_request, response) => sendJson(response, 404, {});
  await service.get(block(9));
  expect(lines).toHaveLength(3);
  expect(JSON.stringify(lines)).not.toContain('private');
});

test('a client that leaves is no line in the log, and counted as such', async () => {
  await using started = await start();
  const { service, standIn, lines } = started;
  const arrived = Promise.withResolvers<void>();
  standIn.behaviour = () => arrived.resolve();
  const leaving = new AbortController();
  const left = fetch(`${service.url}${block(1)}`, { signal: leaving.signal });
  left.catch(() => undefined);
  await arrived.promise;
  leaving.abort();
  await expect.poll(() => service.metric('upstream_requests_total{upstream="evm",outcome="left"}')).toBe(1);
  expect(lines).toEqual([]);
});
