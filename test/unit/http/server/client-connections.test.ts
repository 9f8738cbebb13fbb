import { once } from 'node:events';
import { ServerResponse as HttpResponse, IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';
import { ClientConnection, MAX_UNANSWERED } from '../../../../src/http/server/client-connection.ts';
import { ClientConnections } from '../../../../src/http/server/client-connections.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';
import { GET, openServer } from './open-server.ts';

const MIB = 1024 * 1024;
/** More than the system buffers for a client that reads nothing. */
const LONG = Buffer.alloc(16 * MIB, 'a');

/** Opens connections from any address, without a network. */
function openConnections(maxConnections = 1_000) {
  const clock = new FakeClock();
  const brokenOff: string[] = [];
  const connections = new ClientConnections({
    clock,
    maxConnections,
    listener: () => undefined,
    onEnd: () => undefined,
    onBreakOff: (reason) => brokenOff.push(reason),
  });
  return {
    brokenOff,
    /** Opens a connection one second after the previous one. */
    async open(remoteAddress: string, unreadBytes = 0): Promise<Socket> {
      await clock.advance(1_000);
      const socket = Object.defineProperties(new Socket(), {
        remoteAddress: { value: remoteAddress },
        writableLength: { value: unreadBytes },
      });
      connections.open(socket);
      const connection = connections.get(socket);
      if (connection !== undefined) connections.measure(connection);
      return socket;
    },
  };
}

/** Answers each request with its number. */
function numbered() {
  let [handled, underWay, most] = [0, 0, 0];
  const listener: RequestListener = (_request, response) => {
    handled += 1;
    underWay += 1;
    most = Math.max(most, underWay);
    response.once('close', () => {
      underWay -= 1;
    });
    response.end(`<${handled}>`);
  };
  return { listener, handled: () => handled, most: () => most };
}

async function readUntil(client: Socket, end: string): Promise<string> {
  let answer = '';
  for await (const chunk of client.setEncoding('latin1') as AsyncIterable<string>) {
    answer += chunk;
    if (answer.includes(end)) break;
  }
  return answer;
}

test('sixteen pipelined requests are handled one after the other, and answered in order', async () => {
  const { listener, most } = numbered();
  const { open, brokenOff } = await openServer(listener);
  const { client } = await open();
  let received = '';
  client.setEncoding('latin1').on('data', (piece) => {
    received += String(piece);
  });
  for (const count of [MAX_UNANSWERED, 2 * MAX_UNANSWERED]) {
    client.write(GET.repeat(MAX_UNANSWERED));
    const expected = Array.from({ length: count }, (_, index) => `<${index + 1}>`);
    await expect.poll(() => received.match(/<\d+>/g)).toEqual(expected);
  }
  expect([most(), brokenOff]).toEqual([1, []]);
});

test('further requests are dropped, and the connection closes with the last answer', async () => {
  const { listener, handled } = numbered();
  const { open, server } = await openServer(listener);
  const { client } = await open();
  let parsed = 0;
  server.on('request', () => {
    parsed += 1;
  });
  client.write(GET.repeat(2_000));
  const answer = await text(client);
  expect(answer.match(/connection: close/gi)).toHaveLength(1);
  expect(answer).toMatch(/<15>[^]*connection: close[^]*<16>/i);
  expect([handled(), parsed]).toEqual([MAX_UNANSWERED, MAX_UNANSWERED + 1]);
});

test('what a connection sent before it is broken off is not parsed any more', async () => {
  let pieces = 0;
  const { open, server, brokenOff } = await openServer((request) => {
    request.on('data', () => {
      pieces += 1;
      if (pieces === 3) server.breakOff(request.socket, 'sends too many small chunks');
    });
    request.read(0);
  });
  const { client, served } = await open();
  const closed = once(served, 'close');
  client.write(`POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n${'1\r\n[\r\n'.repeat(1_000)}`);
  await closed;
  expect([pieces, brokenOff]).toEqual([3, ['sends too many small chunks']]);
});

test('requests with bodies are answered behind waiting requests', async () => {
  const { open } = await openServer((request, response) => {
    let body = '';
    request.setEncoding('latin1').on('data', (piece) => {
      body += String(piece);
    });
    request.on('end', () => response.end(`<${body.length}>`));
  });
  const { client } = await open();
  const body = 'b'.repeat(300_000);
  client.write(GET.repeat(7));
  client.write(`POST / HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
  client.write(GET.repeat(7) + GET.replace('\r\n\r\n', '\r\nconnection: close\r\n\r\n'));
  const answer = await text(client);
  expect(answer.match(/<\d+>/g)).toEqual([
    ...Array<string>(7).fill('<0>'),
    '<300000>',
    ...Array<string>(8).fill('<0>'),
  ]);
});

test('a connection with waiting requests is not read, also after some of their answers', async () => {
  const held: ServerResponse[] = [];
  const { open } = await openServer((_request, response) => held.push(response));
  const { client, served } = await open();
  const paused = once(served, 'pause');
  client.write(GET.repeat(MAX_UNANSWERED));
  await paused;
  const { bytesRead } = served;
  client.write(GET.repeat(100_000));
  await settle();
  expect(held).toHaveLength(1);
  expect(bytesRead).toBeLessThan(MIB);
  // Node resumes the connection after each answer.
  for (let index = 0; index < MAX_UNANSWERED - 1; index += 1) {
    const closed = once(held[index]!, 'close');
    held[index]!.end();
    await closed;
    while (held.length === index + 1) await settle();
  }
  expect(served.bytesRead).toBeLessThanOrEqual(bytesRead + 128 * 1024);
});

test('other connections are served while pipelined requests wait', async () => {
  const held: ServerResponse[] = [];
  const { open } = await openServer((request, response) => {
    if (request.url === '/greedy') held.push(response);
    else response.end('<modest>');
  });
  const [greedy, modest] = [await open(), await open()];
  greedy.client.write(GET.replace('/', '/greedy').repeat(1_500));
  await once(greedy.served, 'pause');
  modest.client.write(GET);
  expect(await readUntil(modest.client, '<modest>')).toContain('200 OK');
  expect(held).toHaveLength(1);
});

describe('a connection without a byte within the timeout', () => {
  test('is closed while its answer waits to be read', async () => {
    const { open, server, brokenOff } = await openServer((_request, response) => response.end(LONG));
    const { client, served } = await open();
    const asked = once(server, 'request');
    const closed = once(served, 'close');
    client.pause().write(GET);
    await asked;
    served.emit('timeout');
    await closed;
    expect(brokenOff).toEqual(['does not read']);
  });

  test('stays open while a request is running', async () => {
    const held: ServerResponse[] = [];
    const { open, server, brokenOff } = await openServer((_request, response) => held.push(response));
    const { client, served } = await open();
    const asked = once(server, 'request');
    client.write(GET);
    await asked;
    served.emit('timeout');
    held[0]!.end('<late>');
    expect(await readUntil(client, '<late>')).toContain('200 OK');
    expect(brokenOff).toEqual([]);
  });

  test('is closed if it is idle', async () => {
    const { open, server, brokenOff } = await openServer(() => undefined);
    expect(server.timeout).toBe(60_000);
    const { served } = await open();
    served.emit('timeout');
    expect([served.destroyed, brokenOff]).toEqual([true, []]);
  });
});

test('beyond the bound of unread answers, only the connection with most of them is closed', async () => {
  const { open, server, brokenOff } = await openServer((request, response) =>
    response.end(LONG.subarray(0, Number(request.url?.slice(1)))),
  );
  const get = (length: number): string => GET.replace('/', `/${length}`);
  const modest = await open();
  modest.client.write(get(8 * MIB));
  await once(server, 'request');
  const greedy = [await open(), await open(), await open(), await open()];
  for (const [index, { client }] of greedy.entries()) {
    const arrived = once(server, 'request');
    client.write(get(LONG.length - index));
    await arrived;
  }
  expect(brokenOff).toEqual(['holds most memory of all']);
  expect(greedy.map(({ served }) => served.destroyed)).toEqual([true, false, false, false]);
  expect(modest.served.destroyed).toBe(false);
});

test('unread bytes count by client, over all its connections', async () => {
  const { open, brokenOff } = openConnections();
  const modest = await open('1.1.1.1', MIB);
  const greedy: Socket[] = [];
  for (let count = 0; count < 80; count += 1) greedy.push(await open('2.2.2.2', 900_000));
  expect(modest.destroyed).toBe(false);
  expect(greedy.filter(({ destroyed }) => destroyed)).toHaveLength(80 - Math.floor((63 * MIB) / 900_000));
  expect(new Set(brokenOff)).toEqual(new Set(['holds most memory of all']));
});

test('waiting requests and what is read behind them count as memory of their connection', async () => {
  const { open } = await openServer(() => undefined);
  const { client, served } = await open();
  const connection = new ClientConnection(served, '1.1.1.1', {
    clock: new FakeClock(),
    listener: () => undefined,
    onChange: () => undefined,
    onEnd: () => undefined,
  });
  const request = new IncomingMessage(client);
  for (let count = 0; count < 100; count += 1) connection.take(request, new HttpResponse(request));
  expect(connection.heldBytes).toBe((MAX_UNANSWERED - 1) * 3 * 1024 + 128 * 1024);
  expect(connection.responses).toHaveLength(MAX_UNANSWERED);
});

test('a connection is idle since its last answer', async () => {
  const { open } = await openServer(() => undefined);
  const { client, served } = await open();
  const clock = new FakeClock();
  const ignore = (): void => undefined;
  const connection = new ClientConnection(served, '1.1.1.1', {
    clock,
    listener: ignore,
    onChange: ignore,
    onEnd: ignore,
  });
  const request = new IncomingMessage(client);
  const response = new HttpResponse(request);
  connection.take(request, response);
  await clock.advance(5_000);
  expect(connection.isIdle).toBe(false);
  response.emit('close');
  expect([connection.isIdle, connection.idleSinceMs]).toEqual([true, clock.monotonicMs()]);
});

describe('the number of connections', () => {
  test('is bounded: a new one closes the one that is idle for longest', async () => {
    const { open, brokenOff } = openConnections(3);
    const [first, second, third] = [await open('1.1.1.1'), await open('2.2.2.2'), await open('3.3.3.3')];
    expect(brokenOff).toEqual([]);
    const fourth = await open('4.4.4.4');
    expect([first, second, third, fourth].map(({ destroyed }) => destroyed)).toEqual([true, false, false, false]);
    expect(brokenOff).toEqual(['there are too many connections']);
  });

  test('an address with most connections loses its own first', async () => {
    const { open } = openConnections(5);
    const lone = await open('1.1.1.1');
    const flood = [await open('2001:db8::1'), await open('2001:db8::2')];
    const other = await open('3.3.3.3');
    flood.push(await open('2001:db8::3'), await open('2001:db8::4'), await open('2001:db8::5'));
    expect(flood.map(({ destroyed }) => destroyed)).toEqual([true, true, false, false, false]);
    expect([lone.destroyed, other.destroyed]).toEqual([false, false]);
    // Closed connections do not count.
    for (const socket of flood.slice(2, 4)) await once(socket.destroy(), 'close');
    for (let count = 0; count < 2; count += 1) await open('3.3.3.3');
    await open('4.4.4.4');
    expect([flood[4]?.destroyed, other.destroyed]).toEqual([false, true]);
  });

  test('a new one is closed while all others have running requests', async () => {
    const responses: ServerResponse[] = [];
    const { open, clock, brokenOff } = await openServer((_request, response) => responses.push(response), {
      maxConnections: 2,
    });
    const [a, b] = [await open(), await open()];
    for (const { client } of [a, b]) client.write(GET);
    await expect.poll(() => responses.length).toBe(2);
    const refused = await open();
    expect([a, b, refused].map(({ served }) => served.destroyed)).toEqual([false, false, true]);
    for (const response of responses) response.end('x');
    await Promise.all([once(a.client, 'data'), once(b.client, 'data')]);
    await clock.advance(1_000);
    a.client.write(GET);
    await expect.poll(() => responses.length).toBe(3);
    const taken = await open();
    expect([a, b, taken].map(({ served }) => served.destroyed)).toEqual([false, true, false]);
    expect(brokenOff).toEqual(Array(2).fill('there are too many connections'));
  });
});
