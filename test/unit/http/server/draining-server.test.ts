import { once } from 'node:events';
import type { RequestListener, ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { DRAIN_TIMEOUT_MS, GET, openServer } from './open-server.ts';

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

test('a running request is answered with connection: close, and its connection closes', async () => {
  const { listener, next } = held();
  const { open, close, aborted, clock } = await openServer(listener);
  const { client } = await open();
  client.write(GET);
  const response = await next();
  const closed = close();
  response.end('the answer');
  const answer = await text(client);
  expect(answer).toMatch(/\r\nconnection: close\r\n/i);
  expect(answer).toContain('the answer');
  await closed;
  expect([aborted, clock.pendingTimers]).toEqual([[], 0]);
});

test('a connection with a partial answer closes after the answer', async () => {
  const { listener, next } = held();
  const { open, close } = await openServer(listener);
  const { client } = await open();
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
  const { listener, responses, next } = held();
  const { open, close } = await openServer(listener);
  const { client } = await open();
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
  const { open, close, aborted, clock } = await openServer(listener);
  const { client } = await open();
  client.write(GET);
  const response = await next();
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
