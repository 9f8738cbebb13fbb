import { once } from 'node:events';
import type { RequestListener, ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { DrainingServer } from '../../../../src/http/server/draining-server.ts';
import { FakeClock } from '../../../support/fake-clock.ts';

const DRAIN_TIMEOUT_MS = 1_000;
const KEEP_ALIVE_TIMEOUT_MS = 3_600_000;
const GET = 'GET / HTTP/1.1\r\nhost: x\r\n\r\n';

async function start(listener: RequestListener) {
  const clock = new FakeClock();
  const brokenOff: number[] = [];
  const server = new DrainingServer(
    { keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS },
    {
      clock,
      maxConnections: 100,
      drainTimeoutMs: DRAIN_TIMEOUT_MS,
      onTimeout: (requests) => brokenOff.push(requests),
      onBreakOff: () => undefined,
    },
    listener,
  );
  onTestFinished(() => server.closeAllConnections());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    clock,
    brokenOff,
    async open(): Promise<Socket> {
      const accepted = once(server, 'connection');
      const socket = connect(port, '127.0.0.1');
      await Promise.all([accepted, once(socket, 'connect')]);
      return socket;
    },
    /** Resolves when the last connection is closed. */
    close: () => new Promise<void>((resolve) => server.close(() => resolve())),
    connect: () => connect(port, '127.0.0.1'),
  };
}

/** Returns a listener that collects its responses, for the test to answer. */
function held() {
  const responses: ServerResponse[] = [];
  let arrived = Promise.withResolvers<void>();
  return {
    responses,
    listener: ((_request, response) => {
      responses.push(response);
      arrived.resolve();
    }) satisfies RequestListener,
    async next(): Promise<ServerResponse> {
      await arrived.promise;
      arrived = Promise.withResolvers();
      return responses.at(-1)!;
    },
  };
}

test('idle connections close at once, and new ones are refused', async () => {
  const { open, close, connect: again } = await start((_request, response) => response.end('x'));
  const unused = await open();
  const used = await open();
  used.write(GET);
  await once(used, 'data');
  const ends = [unused, used].map((socket) => once(socket.resume(), 'end'));
  await close();
  await Promise.all(ends);
  const [error] = (await once(again(), 'error')) as [NodeJS.ErrnoException];
  expect(error.code).toBe('ECONNREFUSED');
});

test('a running request is answered with connection: close, and its connection closes', async () => {
  const { listener, next } = held();
  const { open, close, brokenOff, clock } = await start(listener);
  const client = await open();
  client.write(GET);
  const response = await next();
  const closed = close();
  response.end('the answer');
  const answer = await text(client);
  expect(answer).toMatch(/\r\nconnection: close\r\n/i);
  expect(answer).toContain('the answer');
  await closed;
  expect([brokenOff, clock.pendingTimers]).toEqual([[], 0]);
});

test('a connection with a partial answer closes after the answer', async () => {
  const { listener, next } = held();
  const { open, close } = await start(listener);
  const client = await open();
  client.write(GET);
  const response = await next();
  response.write('the beginning');
  await once(client, 'readable');
  const closed = close();
  response.end(', the end');
  const answer = await text(client);
  expect(answer).toContain('the beginning');
  expect(answer).toContain(', the end');
  await closed;
});

test('a slow client receives its whole answer', async () => {
  const body = Buffer.alloc(32 * 1024 * 1024, 'a');
  const { open, close } = await start((_request, response) => response.end(body));
  const client = await open();
  client.write(GET);
  await once(client, 'readable');
  const closed = close();
  let bytes = 0;
  for await (const chunk of client as AsyncIterable<Buffer>) bytes += chunk.length;
  expect(bytes).toBeGreaterThan(body.length);
  await closed;
});

test('a connection with pipelined requests closes after the last answer', async () => {
  const { listener, responses, next } = held();
  const { open, close } = await start(listener);
  const client = await open();
  client.write(GET + GET);
  await next();
  const closed = close();
  responses[0]!.end('first');
  await next();
  responses[1]!.end('second');
  const answer = await text(client);
  expect(answer).toMatch(/first[^]*connection: close[^]*second/i);
  await closed;
});

test('a request that runs longer than the drain timeout is aborted', async () => {
  const { listener, next } = held();
  const { open, close, brokenOff, clock } = await start(listener);
  const client = await open();
  client.write(GET);
  const response = await next();
  const gone = once(response, 'close');
  const closed = close();
  await clock.advance(DRAIN_TIMEOUT_MS - 1);
  expect(brokenOff).toEqual([]);
  await clock.advance(1);
  await closed;
  await gone;
  expect(brokenOff).toEqual([1]);
  expect(response.writableFinished).toBe(false);
});
