import { once } from 'node:events';
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import {
  expectErrorForm,
  type HostileService,
  POST_PATH,
  parseAnswers,
  request,
  startHostileService,
} from './hostile-client.ts';

const TIMEOUT_MS = 30_000;
/** Files of the process; of them, this many are for clients. */
const [FILE_LIMIT, MAX_CONNECTIONS] = [267, 100];
const KEPT = { connection: 'keep-alive' };

let service: HostileService;
let sockets: Socket[] = [];
beforeAll(async () => {
  service = await startHostileService({ fileLimit: FILE_LIMIT });
}, TIMEOUT_MS);
afterAll(async () => {
  await service[Symbol.asyncDispose]();
});
afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  sockets = [];
  await service.expectUnharmed();
});

async function openMany(count: number): Promise<Socket[]> {
  const opened = Array.from({ length: count }, () => service.open());
  sockets.push(...opened);
  await Promise.all(opened.map((socket) => once(socket, 'connect')));
  return opened;
}

function collect(socket: Socket): () => Buffer {
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  return () => Buffer.concat(chunks);
}

test(
  'unfinished requests block no other client, and are answered with 408',
  async () => {
    const server = service.running.app.server?.server as Server;
    const before = { requestTimeout: server.requestTimeout, headersTimeout: server.headersTimeout };
    expect({ ...before, timeout: server.timeout }).toEqual({
      requestTimeout: 30_000,
      headersTimeout: 30_000,
      timeout: 60_000,
    });
    const late = await openMany(60);
    const answers = late.map((socket, index) => {
      const isBody = index % 2 === 0;
      const head = request(`POST ${POST_PATH}`, { 'content-type': 'application/json', 'content-length': '1000' });
      socket.write(isBody ? `${head}{"message":"` : head.slice(0, -10));
      return collect(socket);
    });
    await service.expectUnharmed();
    const ends = Promise.all(late.map((socket) => once(socket, 'close')));
    // Simulates the end of the timeout.
    Object.assign(server, { requestTimeout: 1, headersTimeout: 1 });
    await ends;
    Object.assign(server, before);
    for (const bytes of answers) {
      const [answer, ...more] = parseAnswers(bytes());
      expect([answer?.status, more]).toEqual([408, []]);
      expectErrorForm(answer!);
      expect(answer?.body).toContain('"request_timeout"');
    }
  },
  TIMEOUT_MS,
);

test(
  'connections beyond the maximum close idle ones, and are served',
  async () => {
    const idle = await openMany(MAX_CONNECTIONS);
    const isClosed = idle.map(() => false);
    idle.forEach((socket, index) => socket.once('close', () => (isClosed[index] = true)).resume());
    const more = Array.from({ length: 3 }, () => service.open());
    sockets.push(...more);
    for (const socket of more) {
      const answer = once(socket, 'data');
      socket.write(request('GET /health/live', KEPT));
      expect(String((await answer)[0])).toMatch(/^HTTP\/1\.1 200 OK/);
    }
    await expect.poll(() => isClosed.filter(Boolean).length).toBeGreaterThanOrEqual(3);
    expect(service.log.count('there are too many connections')).toBe(1);
  },
  TIMEOUT_MS,
);

test(
  'twelve connections that pipeline and read no answers block no other connection of their address',
  async () => {
    const server = service.running.app.server!.server;
    const served: Socket[] = [];
    const onConnection = (socket: Socket): void => void served.push(socket);
    server.on('connection', onConnection);
    for (const socket of await openMany(12)) {
      socket.pause();
      socket.write(request('GET /openapi.json', KEPT).repeat(256));
    }
    await expect
      .poll(() => served.filter(({ writableLength }) => writableLength > 0).length, { timeout: TIMEOUT_MS })
      .toBe(12);
    server.off('connection', onConnection);
    const [probe] = await openMany(1);
    const answer = once(probe!, 'data');
    probe!.write(request('GET /health/live', KEPT));
    expect(String((await answer)[0])).toMatch(/^HTTP\/1\.1 200 OK/);
  },
  TIMEOUT_MS,
);

test(
  'half-closed connections are answered or closed',
  async () => {
    const half = await openMany(20);
    const closed = Promise.all(half.map((socket) => once(socket.resume(), 'close')));
    half.forEach((socket, index) =>
      socket.end(request('GET /health/live', KEPT).slice(0, index % 2 === 0 ? -10 : undefined)),
    );
    await closed;
    expect(sockets.length).toBeGreaterThan(0);
  },
  TIMEOUT_MS,
);

test(
  'resets after the head, in the body, during the work and in the answer do no harm',
  async () => {
    const body = JSON.stringify({ message: service.running.devnet.emitMessages(1)[0] });
    const head = request(`POST ${POST_PATH}`, {
      'content-type': 'application/json',
      'content-length': String(body.length),
    });
    for (const bytes of [head, head + body.slice(0, 10), head + body]) {
      for (const socket of await openMany(20)) socket.write(bytes, () => socket.resetAndDestroy());
    }
    const reading = await openMany(20);
    await Promise.all(
      reading.map(async (socket) => {
        const begun = once(socket, 'data');
        socket.write(request('GET /openapi.json', KEPT));
        await begun;
        socket.resetAndDestroy();
      }),
    );
    expect(sockets.length).toBeGreaterThan(0);
  },
  TIMEOUT_MS,
);
