import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { NO_SPAN } from '../../../src/telemetry/spans.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { shareUpstreamService } from './shared-service.ts';
import { reply, sendJson } from './stand-in.ts';
import { startUpstreamService } from './upstream-service.ts';

const CONNECTIONS = 64;
/** Connections of one client: three quarters of all; a second one has three quarters of the rest. */
const OF_ONE = 48;
const WAITING = 1_024;
/** Requests for many chains: a few chains cannot take all connections. */
const target = (name: number) => `/v1/chains/${1 + (name % CONNECTIONS)}/blocks/${name}`;
const TIMEOUT_MS = 60_000;
const isLinux = process.platform === 'linux';

async function headOf(socket: Socket): Promise<string> {
  await once(socket, 'readable');
  return String(socket.read());
}

describe('requests to an upstream', async () => {
  const clock = new FakeClock();
  const service = await shareUpstreamService({ clock, settings: { timeoutMs: TIMEOUT_MS } });
  const { standIn } = service;
  /** Requests that the upstream holds until the test answers them. */
  let held: ServerResponse[];
  let receivedBefore: number;
  beforeEach(() => {
    held = [];
    receivedBefore = service.received();
    standIn.behaviour = (_request, response) => held.push(response);
  });
  afterEach(async () => {
    release();
    await vi.waitUntil(() => clock.pendingTimers === 0, { timeout: 20_000 });
  });

  /** @param count all by default; then later ones are answered, too */
  function release(count?: number): void {
    if (count === undefined) standIn.behaviour = reply(200);
    for (const response of held.splice(0, count ?? held.length)) sendJson(response, 200, {});
  }
  const untilReceived = (count: number) => expect.poll(() => service.received() - receivedBefore).toBe(count);
  const untilHeld = (count: number) => expect.poll(() => held.length).toBe(count);
  const sendAll = (first: number, count: number, from?: string) =>
    Array.from({ length: count }, (_, index) => service.send(`GET ${target(first + index)}`, from));
  const arrivedLater = () => standIn.arrivals.slice(OF_ONE).map((arrival) => arrival.target);

  test('of a client use 48 connections; waiting ones get them in turn', async () => {
    const asked = Array.from({ length: OF_ONE + 3 }, (_, index) => service.get(target(index)));
    await untilReceived(OF_ONE + 3);
    await untilHeld(OF_ONE);
    for (let freed = 1; freed <= 3; freed += 1) {
      release(1);
      await untilHeld(OF_ONE);
      expect(arrivedLater()).toHaveLength(freed);
    }
    release();
    expect((await Promise.all(asked)).map(({ status }) => status)).toEqual(Array(OF_ONE + 3).fill(200));
  });

  test('fail without a connection in time, and the circuit stays closed', async () => {
    const first = Array.from({ length: CONNECTIONS }, (_, index) =>
      service.upstreams.request(
        'fuji',
        {
          method: 'GET',
          target: '/held',
          requestID: 'held',
          subject: `${index}`,
          timeoutMs: 2 * TIMEOUT_MS,
          signal: new AbortController().signal,
          client: `client ${index}`,
          span: NO_SPAN,
        },
        undefined,
      ),
    );
    await untilHeld(CONNECTIONS);
    const waiting = Array.from({ length: 30 }, (_, index) =>
      service.get(`/v1/networks/fuji/validators?pageToken=${index}`),
    );
    await untilReceived(30);
    await clock.advance(TIMEOUT_MS);
    for (const { status, headers, body } of await Promise.all(waiting)) {
      expect([status, headers.get('retry-after'), body['code']]).toEqual([503, '1', 'upstream_overloaded']);
    }
    expect(held).toHaveLength(CONNECTIONS);
    expect(await service.metric('upstream_requests_total{upstream="fuji",outcome="upstream_overloaded"}')).toBe(30);
    expect(await service.metric('upstream_circuit_open{upstream="fuji"}')).toBe(0);
    release();
    await Promise.all(first);
  });

  test('for a chain that hangs leave connections to others, and are served when it answers again', async () => {
    const hanging = (index: number) => `/v1/chains/666/blocks/${index}`;
    standIn.behaviour = (_request, response, arrival) => {
      if (!arrival.target.includes('/chains/666/')) sendJson(response, 200, {});
    };
    const hung = Array.from({ length: 100 }, (_, index) => service.get(hanging(index)));
    await untilReceived(100);
    for (let index = 0; index < 10; index += 1) expect((await service.get(target(index))).status).toBe(200);
    await clock.advance(TIMEOUT_MS);
    expect(new Set((await Promise.all(hung)).map(({ status }) => status))).toEqual(new Set([503]));
    expect(await service.metric('upstream_circuit_open{upstream="evm"}')).toBe(0);
    standIn.behaviour = reply(200);
    const healed = await Promise.all(Array.from({ length: 50 }, (_, index) => service.get(hanging(index))));
    expect(new Set(healed.map(({ status }) => status))).toEqual(new Set([200]));
  });

  test('free their places in the queue when their clients leave', async () => {
    const first = Array.from({ length: OF_ONE }, (_, index) => service.get(target(index)));
    await untilHeld(OF_ONE);
    const left = 'upstream_requests_total{upstream="evm",outcome="left"}';
    for (let round = 1; round <= 3; round += 1) {
      const sockets = sendAll(0, WAITING / 2);
      await untilReceived(OF_ONE + (round * WAITING) / 2);
      for (const socket of sockets) socket.destroy();
      await expect.poll(() => service.metric(left)).toBe((round * WAITING) / 2);
    }
    const next = service.get(target(777));
    await untilReceived(OF_ONE + (3 * WAITING) / 2 + 1);
    // A client that has left gets no permit.
    release(OF_ONE);
    await untilHeld(1);
    expect(arrivedLater()).toEqual([target(777)]);
    release();
    expect((await next).status).toBe(200);
    await Promise.all(first);
  });

  // Any address of 127.0.0.0/8 can be one's own only there.
  test.runIf(isLinux)('of a client with few are served before the rest of one with many', async () => {
    const flood = sendAll(0, OF_ONE + 100, '127.0.0.2');
    await untilReceived(OF_ONE + 100);
    await untilHeld(OF_ONE);
    const path = '/v1/chains/7777/blocks/1';
    const next = service.get(path);
    await untilHeld(OF_ONE + 1);
    expect(arrivedLater()).toEqual([path]);
    release();
    expect((await next).status).toBe(200);
    await expect.poll(() => standIn.arrivals.length).toBe(OF_ONE + 101);
    for (const socket of flood) socket.destroy();
  });

  test.runIf(isLinux)('are refused at once beyond 768 waiting ones of a client, and 1,024 of all', async () => {
    const sockets = sendAll(0, OF_ONE + 768, '127.0.0.2');
    await untilReceived(OF_ONE + 768);
    await untilHeld(OF_ONE);
    expect(await headOf(service.send(`GET ${target(7_776)}`, '127.0.0.2'))).toContain('503 Service Unavailable');
    const ofSecond = 12;
    sockets.push(...sendAll(0, ofSecond + WAITING - 768, '127.0.0.3'));
    await untilReceived(OF_ONE + 768 + 1 + ofSecond + WAITING - 768);
    await untilHeld(OF_ONE + ofSecond);
    // A third client has three quarters of what is left.
    sockets.push(...sendAll(100, 3, '127.0.0.4'));
    await untilHeld(OF_ONE + ofSecond + 3);
    const refused = await headOf(service.send(`GET ${target(7_777)}`, '127.0.0.4'));
    expect(refused).toContain('"upstream_overloaded"');
    expect(refused.toLowerCase()).toContain('retry-after: 1');
    for (const socket of sockets) socket.destroy();
  });
});

test.runIf(isLinux).each([0, 1_000_000])(
  'long answers leave connections to others, and one client’s leave some to others, however slow their readers (cache %i)',
  async (cacheBytes) => {
    await using service = await startUpstreamService({ settings: { timeoutMs: 60_000, cacheBytes } });
    let closed = 0;
    service.standIn.behaviour = (_request, response) => {
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
    const readers: Socket[] = [];
    const read = async (from: string): Promise<string> => {
      const reader = service.send(`GET ${target(1_000 + readers.length)}`, from);
      readers.push(reader);
      return headOf(reader);
    };
    const readAll = async (from: string, count: number): Promise<void> => {
      for (let index = 0; index < count; index += 1) expect(await read(from)).toContain('200 OK');
    };
    await readAll('127.0.0.2', OF_ONE);
    const waiting = service.send(`GET ${target(1_777)}`, '127.0.0.2');
    readers.push(waiting);
    await readAll('127.0.0.3', 12);
    const endless = service.standIn.behaviour;
    // Too long to be parsed, and short enough to be no stream.
    const medium = { text: 'x'.repeat(200_000) };
    service.standIn.behaviour = reply(200, medium);
    expect((await service.get(target(7))).body).toEqual(medium);
    service.standIn.behaviour = reply(200);
    const short = await Promise.all(Array.from({ length: 100 }, (_, index) => service.get(target(index))));
    expect(new Set(short.map((answer) => answer.status))).toEqual(new Set([200]));
    // A cached one is sent again when it turns out to be too long.
    const before = closed;
    for (const reader of readers) reader.destroy();
    await expect.poll(() => closed - before).toBe(OF_ONE + 12);
    service.standIn.behaviour = endless;
    expect(await read('127.0.0.1')).toContain('200 OK');
    readers.at(-1)?.destroy();
  },
);
