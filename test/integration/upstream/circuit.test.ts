import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { Writable } from 'node:stream';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { movableClock } from './movable-clock.ts';
import { sendJson } from './stand-in.ts';
import { startUpstreamService } from './upstream-service.ts';

const TIMEOUT_MS = 50;
const block = (height: number) => `/v1/chains/43114/blocks/${height}`;
const OPEN = 'upstream_circuit_open{upstream="evm"}';

async function start(settings: object = {}) {
  const clock = movableClock();
  const lines: Record<string, unknown>[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      lines.push(JSON.parse(chunk.toString('utf8')) as Record<string, unknown>);
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

test('opens after ten failures, says when to come again, lets one try, and closes after one success', async () => {
  await using started = await start();
  const { clock, service, standIn, lines } = started;
  standIn.behaviour = (_request, response) => sendJson(response, 503, {});
  for (let count = 0; count < 10; count += 1) expect((await service.get(block(count))).status).toBe(503);
  expect([standIn.arrivals.length, await service.metric(OPEN)]).toEqual([10, 1]);
  const { status, body, headers } = await service.get(block(10));
  expect([status, headers.get('retry-after'), body['message']]).toEqual([
    503,
    '5',
    'the data API of EVM chains failed repeatedly and is left alone for a moment',
  ]);
  expect(standIn.arrivals).toHaveLength(10);
  // The other upstreams are not concerned.
  standIn.behaviour = undefined;
  expect((await service.get('/v1/avg_tps/1')).status).toBe(200);

  clock.move(5_000);
  standIn.behaviour = (_request, response) => sendJson(response, 503, {});
  standIn.arrivals.length = 0;
  const trial = await Promise.all(Array.from({ length: 20 }, (_, index) => service.get(block(index))));
  expect(trial.map((answer) => answer.status)).toEqual(Array(20).fill(503));
  expect(standIn.arrivals).toHaveLength(1);
  clock.move(5_000);
  standIn.behaviour = undefined;
  for (let count = 0; count < 3; count += 1) expect((await service.get(block(count))).status).toBe(200);
  expect(await service.metric(OPEN)).toBe(0);
  expect(lines.filter(({ msg }) => /left alone|answers again/.test(String(msg)))).toEqual([
    expect.objectContaining({ level: 40, upstream: 'evm' }),
    expect.objectContaining({ level: 30, upstream: 'evm' }),
  ]);
});

test.each([
  ['silence', () => undefined, 503],
  ['a broken connection', (request: { socket: { destroy(): void } }) => request.socket.destroy(), 502],
])('opens for %s, of different targets', async (_name, behaviour, status) => {
  await using started = await start();
  const { service, standIn } = started;
  standIn.behaviour = behaviour as never;
  const answers = await Promise.all(Array.from({ length: 10 }, (_, index) => service.get(block(index))));
  expect(answers.map((answer) => answer.status)).toEqual(Array(10).fill(status));
  expect(await service.metric(OPEN)).toBe(1);
});

test('opens where nobody listens, whatever was asked for', async () => {
  const closed = createServer();
  await new Promise<void>((resolve) => closed.listen(0, '127.0.0.1', resolve));
  const { port } = closed.address() as AddressInfo;
  await new Promise((resolve) => closed.close(resolve));
  await using started = await start({ dataApi: { evm: { baseUrl: `http://127.0.0.1:${port}` } } });
  for (let count = 0; count < 10; count += 1) expect((await started.service.get(block(1))).status).toBe(502);
  expect((await started.service.get(block(1))).status).toBe(503);
});

test('one target that always fails keeps nobody from the others', async () => {
  await using started = await start();
  const { service, standIn } = started;
  for (const fail of [
    (_request: unknown, response: never) => sendJson(response, 503, {}),
    (request: { socket: { destroy(): void } }) => request.socket.destroy(),
    () => undefined,
  ]) {
    standIn.behaviour = fail as never;
    await Promise.all(Array.from({ length: 15 }, (_, index) => service.get(`${block(1)}?n=${index}`)));
    standIn.behaviour = undefined;
    expect((await service.get(block(2))).status).toBe(200);
  }
});

test.each<[string, (height: number) => string, Parameters<typeof sendJson>[1], string]>([
  ['what it says of single targets', block, 500, 'application/json'],
  ['answers in a wrong form', block, 200, 'text/html'],
  ['redirects', block, 302, 'application/json'],
  ['paths that no document names', (height) => `/v1/unheard/of/${height}`, 503, 'application/json'],
])('%s do not open it', async (_name, target, status, type) => {
  await using started = await start();
  const { service, standIn } = started;
  standIn.behaviour = (_request, response) => response.writeHead(status, { 'content-type': type }).end('{}');
  for (let count = 0; count < 30; count += 1) await service.get(target(count));
  expect(standIn.arrivals).toHaveLength(30);
  expect(await service.metric(OPEN)).toBe(0);
});

test('stays closed while something succeeds', async () => {
  await using started = await start();
  const { service, standIn } = started;
  let count = 0;
  standIn.behaviour = (_request, response) => sendJson(response, (count += 1) % 5 === 0 ? 200 : 503, {});
  for (let index = 0; index < 40; index += 1) await service.get(block(index));
  expect(count).toBe(40);
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
  clock.move(60_000);
  await service.get(block(8));
  expect(lines.slice(2)).toEqual([expect.objectContaining({ outcome: 'failed', omitted: 4 })]);
  standIn.behaviour = (_request, response) => sendJson(response, 404, {});
  await service.get(block(9));
  expect(lines).toHaveLength(3);
  expect(JSON.stringify(lines)).not.toContain('private');
});

test('a client that leaves is no line in the log, and counted as such', async () => {
  await using started = await start({ timeoutMs: 30_000 });
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
