import { once } from 'node:events';
import { IncomingMessage, type RequestListener, ServerResponse } from 'node:http';
import { type AddressInfo, connect, Socket } from 'node:net';
import { Readable } from 'node:stream';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { ClientConnection, MAX_UNDER_WAY } from '../../../src/api/client-connection.ts';
import { ClientConnections } from '../../../src/api/client-connections.ts';
import { DrainingServer } from '../../../src/api/draining-server.ts';
import { FakeClock, settle } from '../../fake-clock.ts';

const GET = 'GET / HTTP/1.1\r\nhost: x\r\n\r\n';
const MIB = 1024 * 1024;
/** More than the system takes for a client that reads nothing. */
const LONG = Buffer.alloc(16 * MIB, 'a');

async function start(listener: RequestListener, maxConnections = 100) {
  const clock = new FakeClock();
  const brokenOff: string[] = [];
  const options = { clock, maxConnections, drainTimeoutMs: 1_000, onTimeout: () => undefined };
  const server = new DrainingServer(
    { keepAliveTimeout: 3_600_000 },
    { ...options, onBreakOff: (reason) => brokenOff.push(reason) },
    listener,
  );
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    server,
    clock,
    brokenOff,
    /** A client, and the service's end of its connection. */
    async open(localAddress = '127.0.0.1'): Promise<{ client: Socket; served: Socket }> {
      const accepted = once(server, 'connection') as Promise<[Socket]>;
      const client = connect({ port, host: '127.0.0.1', localAddress });
      client.on('error', () => undefined);
      const [[served]] = await Promise.all([accepted, once(client, 'connect')]);
      return { client, served };
    },
  };
}

/** The numbers in which the requests came are their answers. */
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

test('of a thousand pipelined requests a few are handled at a time, and all are answered in order', async () => {
  const { listener, most } = numbered();
  const { open } = await start(listener);
  const { client } = await open();
  client.write(GET.repeat(1_000));
  const answer = await readUntil(client, '<1000>');
  expect([...answer.matchAll(/<(\d+)>/g)].map(([, number]) => Number(number))).toEqual(
    Array.from({ length: 1_000 }, (_, index) => index + 1),
  );
  expect(most()).toBe(MAX_UNDER_WAY);
});

test('requests with bodies are answered behind others that waited', async () => {
  const { open } = await start((request, response) => {
    let body = '';
    request.setEncoding('latin1').on('data', (text) => {
      body += String(text);
    });
    request.on('end', () => response.end(`<${body.length}>`));
  });
  const { client } = await open();
  const body = 'b'.repeat(300_000);
  client.write(GET.repeat(100));
  client.write(`POST / HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
  client.write(GET.repeat(100) + GET.replace('\r\n\r\n', '\r\nconnection: close\r\n\r\n'));
  const answer = await readUntil(client, 'no end');
  expect(answer.match(/<\d+>/g)).toEqual([
    ...Array<string>(100).fill('<0>'),
    '<300000>',
    ...Array<string>(101).fill('<0>'),
  ]);
});

test('no more is read from a connection that has requests waiting', async () => {
  const held: ServerResponse[] = [];
  const { open } = await start((_request, response) => held.push(response));
  const { client, served } = await open();
  const paused = once(served, 'pause');
  client.write(GET.repeat(1_000_000));
  await paused;
  await settle();
  const { bytesRead } = served;
  expect(held).toHaveLength(MAX_UNDER_WAY);
  expect(bytesRead).toBeLessThan(MIB);
  // Each answer has Node read on.
  for (let index = 0; index < 100; index += 1) {
    const closed = once(held[index]!, 'close');
    held[index]!.end();
    await closed;
    await settle();
  }
  expect(served.bytesRead).toBe(bytesRead);
});

test('others have their turn between the requests that one pipelines', async () => {
  const order: string[] = [];
  const { open } = await start((request, response) => {
    order.push(request.url ?? '');
    response.end();
  });
  const [greedy, modest] = [await open(), await open()];
  greedy.client.resume();
  greedy.client.write(GET.replace('/', '/greedy').repeat(1_500));
  await once(greedy.served, 'pause');
  modest.client.write(GET.replace('/', '/modest'));
  await once(modest.client, 'data');
  expect(order.indexOf('/modest')).toBeLessThan(1_000);
});

test('a client that takes nothing for a minute is let go, and one that reads is not', async () => {
  const answers: ServerResponse[] = [];
  const { open, clock, brokenOff } = await start((_request, response) => {
    answers.push(response);
    response.end(LONG);
  });
  const [idle, reading] = [await open(), await open()];
  for (const { client } of [idle, reading]) {
    client.write(GET);
    await once(client, 'readable');
  }
  let bytes = 0;
  reading.client.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
  });
  const closed = once(idle.served, 'close');
  await once(answers[1]!, 'close');
  await clock.advance(59_000);
  expect([idle.served.destroyed, brokenOff]).toEqual([false, []]);
  await clock.advance(11_000);
  await closed;
  expect([brokenOff, reading.served.destroyed]).toEqual([['does not read'], false]);
  const ended = once(reading.client, 'end');
  reading.served.destroySoon();
  await ended;
  expect(bytes).toBeGreaterThan(LONG.length);
});

test('a slow reader of a long stream is no such client; the stream waits for it', async () => {
  let produced = 0;
  const { open, clock, brokenOff } = await start((_request, response) => {
    const source = new Readable({
      read() {
        produced += 64 * 1024;
        this.push(produced > 64 * MIB ? null : Buffer.alloc(64 * 1024, 'a'));
      },
    });
    source.pipe(response);
  });
  const { client, served } = await open();
  client.write(GET);
  await once(client, 'readable');
  for (let minutes = 0; minutes < 3; minutes += 1) {
    const drained = once(served, 'drain');
    client.resume();
    await drained;
    client.pause();
    await settle();
    await clock.advance(50_000);
  }
  expect(brokenOff).toEqual([]);
  expect(produced).toBeLessThan(64 * MIB);
  await clock.advance(65_000);
  expect([brokenOff, served.destroyed]).toEqual([['does not read'], true]);
});

test('unread answers have a bound over all connections: who holds most of them is let go, and nobody else', async () => {
  const { open, server, brokenOff } = await start((request, response) =>
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
  expect(brokenOff).toEqual(['has most unread bytes of all']);
  expect(greedy.map(({ served }) => served.destroyed)).toEqual([true, false, false, false]);
  expect(modest.served.destroyed).toBe(false);
});

test('who holds most unread bytes is found by client, over however many connections it spreads them', () => {
  const clock = new FakeClock();
  const brokenOff: string[] = [];
  const connections = new ClientConnections({
    clock,
    listener: () => undefined,
    maxConnections: 1_000,
    onBreakOff: (reason) => brokenOff.push(reason),
  });
  const open = (remoteAddress: string, unreadBytes: number): Socket => {
    const socket = new Socket();
    Object.defineProperties(socket, {
      remoteAddress: { value: remoteAddress },
      writableLength: { value: unreadBytes },
    });
    connections.open(socket);
    connections.measure(connections.get(socket) as ClientConnection);
    return socket;
  };
  const modest = open('1.1.1.1', MIB);
  const greedy = Array.from({ length: 700 }, () => open('2.2.2.2', 100_000));
  expect(modest.destroyed).toBe(false);
  expect(greedy.filter(({ destroyed }) => destroyed)).toHaveLength(700 - Math.floor((63 * MIB) / 100_000));
  expect(new Set(brokenOff)).toEqual(new Set(['has most unread bytes of all']));
  connections.stop();
});

test.runIf(process.platform === 'linux')('waiting requests have a bound over all connections', async () => {
  const { open, brokenOff } = await start(() => undefined);
  const shortest = 'GET / HTTP/1.1\r\n\r\n';
  const modest = await open();
  const waits = once(modest.served, 'pause');
  modest.client.write(shortest.repeat(500));
  await waits;
  const greedy: Socket[] = [];
  while (brokenOff.length === 0) {
    // Each of a client of its own, as one client with so many would not be read.
    const { client, served } = await open(`127.0.1.${greedy.length + 1}`);
    greedy.push(served);
    const stopped = Promise.race([once(served, 'pause'), once(served, 'close')]);
    client.write(shortest.repeat(20_000));
    await stopped;
    await settle();
    if (greedy.length > 50) break;
  }
  expect(brokenOff).toEqual(['has most waiting requests of all']);
  expect(greedy.length).toBeLessThan(50);
  expect(modest.served.destroyed).toBe(false);
});

test('of what comes at once over many connections of one client, sixteen requests begin in a turn, and two where a connection comes', async () => {
  const clock = new FakeClock();
  let handled = 0;
  const listener: RequestListener = () => {
    handled += 1;
  };
  const connections = new ClientConnections({ clock, listener, maxConnections: 100, onBreakOff: () => undefined });
  const open = (): Socket => {
    const socket = new Socket();
    connections.open(socket);
    return socket;
  };
  const sockets = Array.from({ length: 40 }, open);
  await settle();
  for (const socket of sockets) {
    const request = new IncomingMessage(socket);
    connections.get(socket)?.take(request, new ServerResponse(request));
  }
  expect(handled).toBe(16);
  open();
  await settle();
  expect(handled).toBe(18);
  for (let turn = 0; turn < 2; turn += 1) await settle();
  expect(handled).toBe(40);
  connections.stop();
});

test('a client that goes leaves errors without stacks behind, and nobody looks through what waits for each of them', async () => {
  const limit = Error.stackTraceLimit;
  const stacks: (string | undefined)[] = [];
  const responses: ServerResponse[] = [];
  const { open } = await start((request, response) => {
    request.on('error', ({ stack }) => stacks.push(stack));
    responses.push(response);
  });
  const { client, served } = await open();
  const gone = new Promise((resolve) => served.once('close', resolve));
  const looked = vi.spyOn(ClientConnection.prototype, 'responses', 'get');
  onTestFinished(() => looked.mockRestore());
  const stopped = once(served, 'pause');
  client.write(GET.repeat(1_000));
  await stopped;
  const left = once(client, 'close');
  client.resetAndDestroy();
  await left;
  // Nothing is read from it, so that only an answer finds out.
  responses[0]?.end('x');
  await gone;
  await settle();
  expect(stacks).toEqual(Array(MAX_UNDER_WAY).fill('Error: aborted'));
  expect(Error.stackTraceLimit).toBe(limit);
  expect(looked).not.toHaveBeenCalled();
});

describe('the number of connections', () => {
  function openConnections(maxConnections: number) {
    const clock = new FakeClock();
    const brokenOff: string[] = [];
    const connections = new ClientConnections({
      clock,
      maxConnections,
      listener: () => undefined,
      onBreakOff: (reason) => brokenOff.push(reason),
    });
    return {
      clock,
      brokenOff,
      /** A connection from an address, a second after the one before. */
      async open(remoteAddress: string): Promise<Socket> {
        await clock.advance(1_000);
        const socket = Object.defineProperty(new Socket(), 'remoteAddress', { value: remoteAddress });
        connections.open(socket);
        return socket;
      },
    };
  }

  test('is bounded: for a new one that ends which has been idle for longest', async () => {
    const { open, brokenOff } = openConnections(3);
    const [first, second, third] = [await open('1.1.1.1'), await open('2.2.2.2'), await open('3.3.3.3')];
    expect(brokenOff).toEqual([]);
    const fourth = await open('4.4.4.4');
    expect([first, second, third, fourth].map(({ destroyed }) => destroyed)).toEqual([true, false, false, false]);
    expect(brokenOff).toEqual(['there are too many connections']);
  });

  test('whoever has most of them makes room, however new its own are', async () => {
    const { open } = openConnections(5);
    const lone = await open('1.1.1.1');
    const flood = [await open('2001:db8::1'), await open('2001:db8::2')];
    const other = await open('3.3.3.3');
    flood.push(await open('2001:db8::3'), await open('2001:db8::4'), await open('2001:db8::5'));
    expect(flood.map(({ destroyed }) => destroyed)).toEqual([true, true, false, false, false]);
    expect([lone.destroyed, other.destroyed]).toEqual([false, false]);
  });

  test('where all have requests under way, the new one ends; one that is done is idle from then on', async () => {
    const responses: ServerResponse[] = [];
    const { open, clock, brokenOff } = await start((_request, response) => responses.push(response), 2);
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

describe.runIf(process.platform === 'linux')('a client with too many requests that wait', () => {
  test('is not read any more, over none of its connections, and others are', async () => {
    const { open, server } = await start(() => undefined);
    const idle = await open();
    const greedy = await open();
    const other = await open('127.0.0.2');
    const held = once(idle.served, 'pause');
    greedy.client.write('GET / HTTP/1.1\r\n\r\n'.repeat(2_000));
    await held;
    const late = await open();
    await settle();
    expect([idle, greedy, late, other].map(({ served }) => served.isPaused())).toEqual([true, true, true, false]);
    let asked = 0;
    server.on('request', () => {
      asked += 1;
    });
    idle.client.write(GET);
    late.client.write(GET);
    other.client.write(GET);
    await once(server, 'request');
    await settle();
    expect(asked).toBe(1);
    // It counts for the client only as long as the connection is there.
    const both = Promise.all([once(idle.served, 'resume'), once(late.served, 'resume')]);
    const bothAsked = new Promise<void>((resolve) => server.on('request', () => void (asked === 3 && resolve())));
    greedy.served.destroy();
    await both;
    await bothAsked;
    expect(asked).toBe(3);
  });

  test('is read again when half of them are done, and none is lost', async () => {
    const { listener, handled } = numbered();
    const { open } = await start(listener);
    const idle = await open();
    const greedy = await open();
    const held = once(idle.served, 'pause');
    greedy.client.resume().write('GET / HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(2_000));
    await held;
    await once(idle.served, 'resume');
    idle.client.resume().write(GET);
    while (handled() < 2_001) await settle();
    expect(handled()).toBe(2_001);
  });
});
