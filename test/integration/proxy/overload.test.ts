import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { describe, expect, test } from 'vitest';
import { FakeClock } from '../../support/fake-clock.ts';
import { sendJson } from './stand-in.ts';
import { startUpstreamService, type UpstreamService } from './upstream-service.ts';

const CONNECTIONS = 64;
const STREAMS = 48;
const WAITING = 1_024;
/** Requests for many chains: a few chains cannot take all connections. */
const target = (name: number | string) => `/v1/chains/${1 + (Number(name) % CONNECTIONS)}/blocks/${name}`;

/** Requests that the upstream holds until the test releases them. */
function holdBack({ standIn }: UpstreamService): ServerResponse[] {
  const held: ServerResponse[] = [];
  standIn.behaviour = (_request, response) => held.push(response);
  return held;
}

test('uses 64 connections; waiting requests get them in turn', async () => {
  await using service = await startUpstreamService({ settings: { timeoutMs: 60_000 } });
  const held = holdBack(service);
  const asked = Array.from({ length: CONNECTIONS + 3 }, (_, index) => service.get(target(index)));
  await expect.poll(() => service.received()).toBe(CONNECTIONS + 3);
  await expect.poll(() => held.length).toBe(CONNECTIONS);
  const arrivals = () => service.standIn.arrivals.slice(CONNECTIONS).map((arrival) => arrival.target);
  for (let freed = 0; freed < 3; freed += 1) {
    sendJson(held[freed] as ServerResponse, 200, {});
    await expect.poll(() => arrivals().length).toBe(freed + 1);
  }
  expect(new Set(arrivals()).size).toBe(3);
  for (const response of held.slice(3)) sendJson(response, 200, {});
  expect((await Promise.all(asked)).map(({ status }) => status)).toEqual(Array(CONNECTIONS + 3).fill(200));
});

test('a request without a connection in time fails, and the circuit stays closed', async () => {
  await using service = await startUpstreamService({ settings: { timeoutMs: 400 } });
  const held = holdBack(service);
  const first = Array.from({ length: CONNECTIONS }, (_, index) =>
    service.upstreams.request(
      'fuji',
      {
        method: 'GET',
        target: `/held/${index}`,
        requestID: 'held',
        subject: `${index}`,
        timeoutMs: 60_000,
        signal: new AbortController().signal,
      },
      undefined,
    ),
  );
  await expect.poll(() => held.length).toBe(CONNECTIONS);
  const waiting = await Promise.all(
    Array.from({ length: 30 }, (_, index) => service.get(`/v1/networks/fuji/validators?n=${index}`)),
  );
  for (const { status, headers, body } of waiting) {
    expect([status, headers.get('retry-after'), body['message']]).toEqual([
      503,
      '1',
      'the data API of fuji had no connection free within 400 ms',
    ]);
  }
  expect(held).toHaveLength(CONNECTIONS);
  expect(await service.metric('upstream_requests_total{upstream="fuji",outcome="upstream_overloaded"}')).toBe(30);
  expect(await service.metric('upstream_circuit_open{upstream="fuji"}')).toBe(0);
  for (const response of held) sendJson(response, 200, {});
  await Promise.all(first);
});

test('a chain that hangs leaves connections to the others, and is served when it answers again', async () => {
  const clock = new FakeClock();
  await using service = await startUpstreamService({ clock, settings: { timeoutMs: 10_000 } });
  service.standIn.behaviour = (request, response) => {
    if (request.url?.includes('/chains/666/') !== true) sendJson(response, 200, {});
  };
  const hanging = (index: number) => `/v1/chains/666/blocks/${index}`;
  const hung = Array.from({ length: 100 }, (_, index) => service.get(hanging(index)));
  await expect.poll(() => service.received()).toBe(100);
  for (let index = 0; index < 10; index += 1) expect((await service.get(target(index))).status).toBe(200);
  await clock.advance(10_000);
  expect(new Set((await Promise.all(hung)).map(({ status }) => status))).toEqual(new Set([503]));
  expect(await service.metric('upstream_circuit_open{upstream="evm"}')).toBe(0);
  service.standIn.behaviour = (_request, response) => sendJson(response, 200, {});
  const healed = await Promise.all(Array.from({ length: 50 }, (_, index) => service.get(hanging(index))));
  expect(new Set(healed.map(({ status }) => status))).toEqual(new Set([200]));
});

test('clients that leave free their places in the queue', async () => {
  await using service = await startUpstreamService({ settings: { timeoutMs: 60_000 } });
  const held = holdBack(service);
  const first = Array.from({ length: CONNECTIONS }, (_, index) => service.get(target(index)));
  await expect.poll(() => held.length).toBe(CONNECTIONS);
  const left = 'upstream_requests_total{upstream="evm",outcome="left"}';
  for (let round = 1; round <= 3; round += 1) {
    const sockets = await Promise.all(Array.from({ length: WAITING / 2 }, (_, index) => ask(service, target(index))));
    await expect.poll(() => service.received()).toBe(CONNECTIONS + (round * WAITING) / 2);
    for (const socket of sockets) socket.destroy();
    await expect.poll(() => service.metric(left)).toBe((round * WAITING) / 2);
  }
  const next = service.get(target('777'));
  await expect.poll(() => service.received()).toBe(CONNECTIONS + (3 * WAITING) / 2 + 1);
  // A client that has left gets no permit.
  for (const response of held.splice(0)) sendJson(response, 200, {});
  await expect.poll(() => held.length).toBe(1);
  expect(service.standIn.arrivals.at(-1)?.target).toBe(target('777'));
  sendJson(held[0] as ServerResponse, 200, {});
  expect((await next).status).toBe(200);
  await Promise.all(first);
});

// Any address of 127.0.0.0/8 can be one's own only there.
describe.runIf(process.platform === 'linux')('of several clients', () => {
  test('a client with few waiting requests is served before the rest of a client with many', async () => {
    await using service = await startUpstreamService({ settings: { timeoutMs: 60_000 } });
    const held = holdBack(service);
    const flood = await Promise.all(
      Array.from({ length: CONNECTIONS + WAITING / 2 }, (_, index) => ask(service, target(index), '127.0.0.2')),
    );
    await expect.poll(() => service.received()).toBe(CONNECTIONS + WAITING / 2);
    await expect.poll(() => held.length).toBe(CONNECTIONS);
    const path = '/v1/chains/7777/blocks/1';
    const next = service.get(path);
    await expect.poll(() => service.received()).toBe(CONNECTIONS + WAITING / 2 + 1);
    for (const response of held.slice(0, 2)) sendJson(response, 200, {});
    await expect.poll(() => held.length).toBe(CONNECTIONS + 2);
    expect(service.standIn.arrivals.slice(CONNECTIONS).map((arrival) => arrival.target)).toContain(path);
    for (const response of held.slice(2)) sendJson(response, 200, {});
    expect((await next).status).toBe(200);
    for (const socket of flood) socket.destroy();
  });

  test('beyond 768 of one that wait, and 1,024 of all, the next one is refused at once', async () => {
    await using service = await startUpstreamService({ settings: { timeoutMs: 60_000 } });
    const held = holdBack(service);
    const askAll = async (from: string, first: number, count: number) =>
      Promise.all(Array.from({ length: count }, (_, index) => ask(service, target(first + index), from)));
    const sockets = await askAll('127.0.0.2', 0, CONNECTIONS + 768);
    await expect.poll(() => service.received()).toBe(CONNECTIONS + 768);
    await expect.poll(() => held.length).toBe(CONNECTIONS);
    const refused = await ask(service, target(7_776), '127.0.0.2');
    await once(refused, 'readable');
    expect(String(refused.read())).toContain('503 Service Unavailable');
    sockets.push(...(await askAll('127.0.0.3', CONNECTIONS + 768, WAITING - 768)));
    await expect.poll(() => service.received()).toBe(CONNECTIONS + WAITING + 1);
    const { status, body, headers } = await service.get(target('7777'));
    expect([status, headers.get('retry-after'), body['message']]).toEqual([
      503,
      '1',
      'the data API of EVM chains has too many requests waiting for a connection',
    ]);
    for (const socket of sockets) socket.destroy();
  });
});

test.runIf(process.platform === 'linux').each([0, 1_000_000])(
  'long answers leave connections to others, and one client’s leave some to others, however slow their readers (cache %i)',
  async (cacheBytes) => {
    await using service = await startUpstreamService({ settings: { timeoutMs: 60_000, cacheBytes } });
    let closed = 0;
    service.standIn.behaviour = (request, response) => {
      if (request.url?.includes('long') !== true) return sendJson(response, 200, {});
      // Endless, as fast as it is taken.
      const chunk = 'x'.repeat(100_000);
      const write = (): void => {
        while (!response.destroyed && response.write(chunk));
      };
      response.on('drain', write).on('close', () => {
        closed += 1;
      });
      response.writeHead(200, { 'content-type': 'application/json' });
      write();
    };
    const long = (index: number) => `${target(index)}?long=${index}`;
    const readers: Socket[] = [];
    const read = async (from: string, count: number): Promise<void> => {
      for (let index = 0; index < count; index += 1) {
        const reader = await ask(service, long(readers.length), from);
        await once(reader, 'readable');
        readers.push(reader);
      }
    };
    const refused = async (from: string): Promise<string> => {
      const further = await ask(service, long(98), from);
      await once(further, 'readable');
      return String(further.read());
    };
    // One client gets half of all streams, the next one half of the rest.
    await read('127.0.0.2', STREAMS / 2);
    expect(await refused('127.0.0.2')).toContain('503 Service Unavailable');
    await read('127.0.0.3', STREAMS / 4);
    expect(await refused('127.0.0.3')).toContain('has too many long answers under way, of this client or of all');
    // Too long to be parsed, and short enough to be no stream.
    const medium = { text: 'x'.repeat(200_000) };
    service.standIn.behaviour = (_request, response) => sendJson(response, 200, medium);
    expect((await service.get(target(7))).body).toEqual(medium);
    service.standIn.behaviour = (_request, response) => sendJson(response, 200, {});
    const short = await Promise.all(Array.from({ length: 100 }, (_, index) => service.get(target(index))));
    expect(new Set(short.map((answer) => answer.status))).toEqual(new Set([200]));
    const before = closed;
    for (const reader of readers) reader.destroy();
    await expect.poll(() => closed - before).toBe((3 * STREAMS) / 4);
    const next = await ask(service, long(99));
    await once(next, 'readable');
    expect(String(next.read())).toContain('200 OK');
    next.destroy();
  },
);

/** Sends a request and reads nothing. */
async function ask(service: UpstreamService, path: string, localAddress?: string): Promise<Socket> {
  const { hostname, port } = new URL(service.url);
  const socket = connect({ host: hostname, port: Number(port), ...(localAddress && { localAddress }) });
  await once(socket, 'connect');
  socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`);
  return socket;
}
