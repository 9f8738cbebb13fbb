import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { DRAIN_TIMEOUT_MS, GET, openServer } from './open-server.ts';

/** Starts a server with a running request of one client, for the test to answer. */
async function running(written = GET) {
  const responses: ServerResponse[] = [];
  let arrived = Promise.withResolvers<void>();
  const server = await openServer((_request, response) => {
    responses.push(response);
    arrived.resolve();
  });
  const next = async (): Promise<ServerResponse> => {
    await arrived.promise;
    arrived = Promise.withResolvers();
    return responses.at(-1)!;
  };
  const { client } = await server.open();
  client.write(written);
  return { ...server, client, next, response: await next() };
}

test('idle connections close at once, and new ones are refused', async () => {
  const { open, close, port } = await openServer((_request, response) => response.end('x'));
  const [{ client: unused }, { client: used }] = [await open(), await open()];
  used.write(GET);
  await once(used, 'data');
  const ends = [unused, used].map((socket) => once(socket.resume(), 'end'));
  await close();
  await Promise.all(ends);
  const [error] = (await once(connect(port, '127.0.0.1'), 'error')) as [NodeJS.ErrnoException];
  expect(error.code).toBe('ECONNREFUSED');
});

test('once the stop is announced, kept connections close with their next answer, and new ones are served', async () => {
  let isStopping = false;
  const { open } = await openServer((_request, response) => response.end('x'), { isStopping: () => isStopping });
  const { client: kept } = await open();
  kept.write(GET);
  const [first] = (await once(kept, 'data')) as [Buffer];
  expect(String(first)).not.toMatch(/\r\nconnection: close\r\n/i);
  isStopping = true;
  const { client: late } = await open();
  for (const client of [kept, late]) {
    client.write(GET);
    expect(await text(client)).toMatch(/\r\nconnection: close\r\n[^]*x/i);
  }
});

test('once the stop is announced, a connection that is idle when the server closes has its next request answered', async () => {
  const { open, close, clock, port } = await openServer((_request, response) => response.end('x'), {
    isStopping: () => true,
  });
  const [{ client: kept }, { client: idle }] = [await open(), await open()];
  const closed = close();
  const [error] = (await once(connect(port, '127.0.0.1'), 'error')) as [NodeJS.ErrnoException];
  expect(error.code).toBe('ECONNREFUSED');
  kept.write(GET);
  expect(await text(kept)).toMatch(/\r\nconnection: close\r\n[^]*x/i);
  const idleEnded = once(idle.resume(), 'end');
  await clock.advance(DRAIN_TIMEOUT_MS / 2);
  await Promise.all([idleEnded, closed]);
  expect(clock.pendingTimers).toBe(0);
});

test('a running request is answered with connection: close, and its connection closes', async () => {
  const { client, response, close, aborted, clock } = await running();
  const closed = close();
  response.end('the answer');
  const answer = await text(client);
  expect(answer).toMatch(/\r\nconnection: close\r\n/i);
  expect(answer).toContain('the answer');
  await closed;
  expect([aborted, clock.pendingTimers]).toEqual([[], 0]);
});

test('a connection with a partial answer closes after the answer', async () => {
  const { client, response, close } = await running();
  response.write('the beginning');
  await once(client, 'readable');
  const closed = close();
  response.end(', the end');
  expect(await text(client)).toMatch(/the beginning[^]*, the end/);
  await closed;
});

test('a request that arrives behind a partial answer while the server closes is the last of its connection', async () => {
  const { client, server, response, next, close } = await running();
  response.write('the beginning');
  await once(client, 'readable');
  const closed = close();
  const arrived = once(server, 'request');
  client.write(GET);
  await arrived;
  response.end(', the end');
  (await next()).end('second');
  expect(await text(client)).toMatch(/, the end[^]*connection: close[^]*second/i);
  await closed;
});

test('what follows the answers of a connection is done once', async () => {
  const { server, response } = await running();
  const [socket, closed] = [response.socket!, once(response, 'close')];
  let count = 0;
  for (let time = 0; time < 2; time += 1) server.afterAnswers(socket, () => (count += 1));
  expect(count).toBe(0);
  response.end('x');
  await closed;
  expect(count).toBe(1);
});

test('a slow client receives its whole answer', async () => {
  const body = Buffer.alloc(32 * 1024 * 1024, 'a');
  const { open, close } = await openServer((_request, response) => response.end(body));
  const { client } = await open();
  client.write(GET);
  await once(client, 'readable');
  const closed = close();
  let bytes = 0;
  for await (const chunk of client as AsyncIterable<Buffer>) bytes += chunk.length;
  expect(bytes).toBeGreaterThan(body.length);
  await closed;
});

test('a connection with pipelined requests closes after the last answer', async () => {
  const { client, response, next, close } = await running(GET + GET);
  const closed = close();
  response.end('first');
  (await next()).end('second');
  expect(await text(client)).toMatch(/first[^]*connection: close[^]*second/i);
  await closed;
});

test('a request that runs longer than the drain timeout is aborted', async () => {
  const { response, close, aborted, clock } = await running();
  const gone = once(response, 'close');
  const closed = close();
  await clock.advance(DRAIN_TIMEOUT_MS - 1);
  expect(aborted).toEqual([]);
  await clock.advance(1);
  await closed;
  await gone;
  expect(aborted).toEqual([1]);
  expect(response.writableFinished).toBe(false);
});
