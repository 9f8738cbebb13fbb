import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { Registry } from 'prom-client';
import { afterAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { openGoListeners } from '../../../../src/api/go-aggregator/go-listeners.ts';
import { openMetricsServer } from '../../../../src/http/server/metrics-server.ts';
import { RequestBodies } from '../../../../src/http/server/request-bodies.ts';
import { systemClock } from '../../../../src/lib/concurrency/clock.ts';
import { bytesToHex } from '../../../../src/lib/encoding/bytes.ts';
import {
  type Backlog,
  createMemoryLimitCounters,
  type LimitCounters,
} from '../../../../src/store/local/limit-counters.ts';
import { createMetrics, METRIC_PREFIX } from '../../../../src/telemetry/metrics.ts';
import { type BlockchainID, idFromBytes } from '../../../../src/warp/ids.ts';
import { createUnsignedMessage } from '../../../../src/warp/unsigned-message.ts';
import {
  createTestServer,
  listenerOptions,
  PATH,
  portOf,
  RESULT,
  scriptedAggregator,
  scriptedNetwork,
} from '../../api/api-fixture.ts';

const CHAIN = idFromBytes<BlockchainID>(new Uint8Array(32).fill(1), 'chain');
const BODY = bodyOf(3);
/** Bound of all bodies; one client gets half. */
const MAX_BYTES = 256 * 1024;
const NOT_ASKED = {} as never;

interface Options {
  readonly answer?: () => Promise<typeof RESULT>;
  readonly limits?: LimitCounters;
}

/** Starts listeners with all routes that have bodies and one shared bound. X-Forwarded-For names the client. */
async function start({ answer = async () => RESULT, limits }: Options = {}) {
  const { aggregator, asked } = scriptedAggregator(answer);
  const registry = new Registry();
  const metrics = createMetrics(registry);
  const bodies = new RequestBodies({
    metrics,
    maxBytes: MAX_BYTES,
    clock: { after: () => () => undefined },
  });
  const ofLimits = limits ?? createMemoryLimitCounters(systemClock);
  const access = {
    rules: { apiKeys: [], unitsPerMinute: limits && 1_000 },
    trustedProxies: ['127.0.0.1'],
    limits: ofLimits,
  };
  const server = await createTestServer({
    aggregator,
    registry,
    metrics,
    bodies,
    access,
    upstream: {
      upstreams: NOT_ASKED,
      limits: ofLimits,
      timeoutMs: 1_000,
      passUnknown: false,
      rpcMethods: new Set(['platform.getHeight']),
    },
  });
  await server.listen({ host: '127.0.0.1', port: 0 });
  const go = await openGoListeners({
    ...listenerOptions({ registry, metrics, bodies }),
    access,
    host: '127.0.0.1',
    ports: [{ network: scriptedNetwork({ aggregator }), apiPort: 0, metricsPort: 0 }],
  });
  const { api = '', metrics: goMetrics = '' } = go.urls.get('fuji') ?? {};
  const ports = { main: portOf(server), go: Number(new URL(api).port), goMetrics: Number(new URL(goMetrics).port) };

  const metric = async (name: string) => {
    const lines = (await registry.metrics()).split('\n');
    return Number(lines.find((line) => line.startsWith(`${METRIC_PREFIX}${name} `))?.split(' ')[1]);
  };
  function send(port: number, ...pieces: readonly string[]): Socket {
    const socket = connect(port, '127.0.0.1').setEncoding('utf8').setNoDelay(true);
    onTestFinished(() => void socket.destroy());
    socket.on('error', () => undefined);
    for (const piece of pieces) socket.write(piece);
    return socket;
  }
  return {
    asked,
    ports,
    metric,
    send,
    async [Symbol.asyncDispose]() {
      await Promise.all([server.close(), go.close()]);
    },
    arrived: () => metric('http_body_bytes'),
    requests: () => metric('http_requests_in_flight'),
    /** Sends pieces, and reads the answer until the connection closes. */
    async ask(...pieces: readonly string[]) {
      return parse(await text(send(ports.main, ...pieces)));
    },
  };
}

/** Returns the head of a request with connection: close. */
function head(path: string, headers: Readonly<Record<string, string>>, client = '10.0.0.1', method = 'POST'): string {
  const all = {
    host: 'x',
    connection: 'close',
    'content-type': 'application/json',
    'x-forwarded-for': client,
    ...headers,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`;
}

const CHUNKED = { 'transfer-encoding': 'chunked' };

function chunk(piece: string): string {
  return `${piece.length.toString(16)}\r\n${piece}\r\n`;
}

/** The least chunks that are not small. */
function inChunks(body: string): string {
  return `${(body.match(/.{1,16}/g) ?? []).map(chunk).join('')}0\r\n\r\n`;
}

function parse(answer: string) {
  const [top = '', body = ''] = answer.split('\r\n\r\n');
  return { status: Number(top.split(' ')[1]), head: top, body };
}

function bodyOf(bytes: number): string {
  return JSON.stringify({ message: bytesToHex(createUnsignedMessage(5, CHAIN, new Uint8Array(bytes)).bytes) });
}

const shared = await start();
afterAll(() => shared[Symbol.asyncDispose]());
beforeEach(async () => {
  await vi.waitUntil(async () => (await shared.arrived()) + (await shared.requests()) === 0, { timeout: 20_000 });
});

test('forty small chunked bodies are answered concurrently', async () => {
  const { promise, resolve } = Promise.withResolvers<typeof RESULT>();
  await using started = await start({ answer: () => promise });
  const { asked, ask } = started;
  const answers = Array.from({ length: 40 }, () => ask(head(PATH, CHUNKED), `${chunk(BODY)}0\r\n\r\n`));
  await expect.poll(() => asked.length).toBe(40);
  resolve(RESULT);
  expect((await Promise.all(answers)).map(({ status }) => status)).toEqual(Array<number>(40).fill(201));
});

test('requests without their bodies take no bytes of the bound', async () => {
  const { arrived, ask, ports, requests, send } = shared;
  for (let times = 0; times < 40; times += 1) {
    send(ports.main, head(PATH, CHUNKED));
    send(ports.main, head(PATH, { 'content-length': '577620' }));
  }
  await expect.poll(requests).toBe(80);
  expect(await arrived()).toBe(0);
  const body = bodyOf(30_000);
  expect((await ask(head(PATH, CHUNKED), `${chunk(body)}0\r\n\r\n`)).status).toBe(201);
});

describe.each([
  ['aggregateSignatures', 'main', PATH, 503],
  ['verify', 'main', '/v1/signatureAggregator/fuji/verify', 503],
  ['decode', 'main', '/v1/signatureAggregator/fuji/decode', 503],
  ['node RPC', 'main', '/ext/bc/P', 503],
  ['the Go API', 'main', '/aggregate-signatures', 500],
  ["the Go API's port", 'go', '/aggregate-signatures', 500],
] as const)('unfinished bodies of %s', (_, listener, path, status) => {
  test.each([
    ['in chunks', CHUNKED, (piece: string) => chunk(piece)],
    ['of a length', { 'content-length': '102400' }, (piece: string) => piece],
  ])('%s count as they arrive, and are refused beyond the share of a client', async (...given) => {
    const [, headers, encode] = given;
    const { arrived, ask, metric, ports, send } = shared;
    const refusedBefore = await metric('http_bodies_refused_total');
    const first = send(ports[listener], head(path, headers), encode('['.repeat(100_000)));
    await expect.poll(arrived).toBeGreaterThanOrEqual(100_000);
    expect(await arrived()).toBeLessThanOrEqual(MAX_BYTES / 2);

    const second = parse(await text(send(ports[listener], head(path, headers), encode('['.repeat(60_000)))));
    expect(second).toMatchObject({ status, head: expect.stringMatching(/\r\nretry-after: 1\r\n/i) });
    expect(second.body).toContain('have reached their limit');
    expect(await metric('http_bodies_refused_total')).toBe(refusedBefore + 1);

    const other = head(PATH, { 'content-length': String(BODY.length) }, '10.0.0.2');
    expect((await ask(other, BODY)).status).toBe(201);
    first.destroy();
  });
});

test('all clients together are bounded', async () => {
  const { arrived, metric, ports, send } = shared;
  const refusedBefore = await metric('http_bodies_refused_total');
  for (let client = 1; client <= 16; client += 1) {
    send(ports.main, head(PATH, CHUNKED, `10.0.0.${client}`), chunk('['.repeat(60_000)));
  }
  await expect.poll(() => metric('http_bodies_refused_total')).toBeGreaterThanOrEqual(refusedBefore + 8);
  expect(await arrived()).toBeLessThanOrEqual(MAX_BYTES);
});

test('a body counts until its request is answered', async () => {
  const { promise, resolve } = Promise.withResolvers<typeof RESULT>();
  await using started = await start({ answer: () => promise });
  const { arrived, ask, asked } = started;
  const answer = ask(head(PATH, CHUNKED), inChunks(BODY));
  await expect.poll(() => asked.length).toBe(1);
  expect(await arrived()).toBe(BODY.length);
  resolve(RESULT);
  expect((await answer).status).toBe(201);
  await expect.poll(arrived).toBe(0);
});

test.each<[string, number, ...string[]]>([
  ['too large', 413, head('/ext/bc/P', CHUNKED), chunk('['.repeat(102_401))],
  ['declared as too large', 413, head('/ext/bc/P', { 'content-length': '102401' })],
  ['of no JSON', 400, head(PATH, CHUNKED), inChunks('{"message":')],
  ['of another type', 415, head(PATH, { ...CHUNKED, 'content-type': 'text/plain' }), inChunks(BODY)],
  ['of a GET', 200, head('/health/live', CHUNKED, '10.0.0.1', 'GET'), inChunks(BODY)],
  ['of no route', 404, head('/nowhere', CHUNKED), inChunks(BODY)],
])('a body %s is answered %d and frees its bytes', async (_, status, ...pieces) => {
  const { arrived, ask } = shared;
  expect((await ask(...pieces)).status).toBe(status);
  await expect.poll(arrived).toBe(0);
});

test('a body in chunks of 16 bytes is read, and one that begins with 62 of one byte', async () => {
  const { ask, asked } = shared;
  const askedBefore = asked.length;
  const body = bodyOf(1_000);
  expect((await ask(head(PATH, CHUNKED), inChunks(body))).status).toBe(201);
  const inBytes = Array.from(BODY.slice(0, 62), chunk).join('');
  expect((await ask(head(PATH, CHUNKED), inBytes, inChunks(BODY.slice(62)))).status).toBe(201);
  const subjects = asked
    .slice(askedBefore)
    .map(({ subject }) => (subject.kind === 'message' ? subject.message.bytes.length : 0));
  expect(subjects).toEqual([body, BODY].map((text) => (JSON.parse(text).message as string).length / 2));
});

test('a connection with 64 small chunks is closed before the rest of them is parsed', async () => {
  const server = await createTestServer();
  onTestFinished(() => void server.close());
  await server.listen({ host: '127.0.0.1', port: 0 });
  let pieces = 0;
  server.server.on('request', (request) =>
    request.on('data', () => {
      pieces += 1;
    }),
  );
  const socket = shared.send(portOf(server), head(PATH, CHUNKED), chunk('[').repeat(1_000));
  await once(socket, 'close');
  expect(pieces).toBe(64);
});

test('a body is received while the rate limit is looked up', async () => {
  const backlog = Promise.withResolvers<Backlog>();
  await using started = await start({ limits: { ...NO_LIMITS, take: () => backlog.promise } });
  const { arrived, ask } = started;
  const body = bodyOf(20_000);
  const answer = ask(head(PATH, CHUNKED), chunk(body), '0\r\n\r\n');
  await expect.poll(arrived).toBeGreaterThanOrEqual(body.length);
  backlog.resolve({ isTaken: true, ns: 0 });
  expect((await answer).status).toBe(201);
});

test.each([
  ['on an unknown path', 404, '/nowhere', '1000'],
  ['above the limit', 413, '/ext/bc/P', '102401'],
])('a body %s is not awaited: the connection closes with the answer', async (_, status, path, length) => {
  const { ports, send } = shared;
  const keptAlive = head(path, { 'content-length': length, connection: 'keep-alive' });
  const answer = parse(await text(send(ports.main, keptAlive, '[')));
  expect(answer).toMatchObject({ status, head: expect.stringMatching(/\r\nconnection: close/i) });
});

test.each([
  ['above the limit', 413, PATH],
  ['on an unknown path', 404, '/nowhere'],
])('a client that writes 5 MB %s gets the answer: %i', async (_, status, path) => {
  const request = httpRequest({
    port: shared.ports.main,
    path,
    method: 'POST',
    headers: { 'content-type': 'application/json' },
  });
  const errors: Error[] = [];
  request.on('error', (error) => errors.push(error));
  const { promise: answered, resolve } = Promise.withResolvers<IncomingMessage>();
  request.on('response', resolve);
  // The client reads nothing before it has written all.
  request.on('socket', (socket) => socket.pause());
  request.end(Buffer.alloc(5_000_000, '['), () => request.socket?.resume());
  const response = await answered;
  expect([response.statusCode, response.headers.connection]).toEqual([status, 'close']);
  expect(await text(response)).toContain('"statusCode"');
  expect(errors).toEqual([]);
});

test.each([PATH, '/ext/bc/P', '/health/live', '/nowhere'])(
  'a body with too many small chunks closes its connection without an answer: POST %s',
  async (path) => {
    const { arrived, ports, metric, send } = shared;
    const refused = await metric('http_bodies_refused_total');
    // Kept open by the client, and without an end: nothing else would close it.
    const body = '1\r\n[\r\n'.repeat(10_000);
    const answer = text(send(ports.main, head(path, { ...CHUNKED, connection: 'keep-alive' }), body)).catch(String);
    expect(await answer).not.toContain(' 201 ');
    expect(await metric('http_bodies_refused_total')).toBe(refused + 1);
    await expect.poll(arrived).toBe(0);
  },
);

test.each(['gzip, chunked', 'identity, chunked'])('the transfer coding %s is 501', async (coding) => {
  const { ports, send } = shared;
  await using metricsServer = await openMetricsServer(listenerOptions(), '127.0.0.1', 0);
  const message = 'the header transfer-encoding may only be chunked';
  const headers = { 'transfer-encoding': coding, connection: 'keep-alive' };
  const ask = async (port: number, path: string, method = 'POST') => {
    const { status, body } = parse(await text(send(port, head(path, headers, '10.0.0.1', method))));
    return [status, body];
  };
  const own = { message, statusCode: 501, error: 'Not Implemented', code: 'unsupported_transfer_coding' };
  expect(await ask(ports.main, PATH)).toEqual([501, JSON.stringify(own)]);
  expect(await ask(ports.main, '/health/live', 'GET')).toEqual([501, JSON.stringify(own)]);
  const go = JSON.stringify({ error: message });
  expect(await ask(ports.go, '/aggregate-signatures')).toEqual([501, go]);
  expect(await ask(ports.goMetrics, '/metrics', 'GET')).toEqual([501, go]);
  const ofMetrics = await ask(Number(new URL(metricsServer.url).port), '/metrics', 'GET');
  expect(ofMetrics).toEqual([501, JSON.stringify(own)]);
});

test('the transfer coding chunked is accepted in any case', async () => {
  expect((await shared.ask(head(PATH, { 'transfer-encoding': 'Chunked' }), inChunks(BODY))).status).toBe(201);
});

test.each(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'QUERY', 'PROPFIND'])(
  '%s of a route that does not exist is 404, whatever its content type',
  async (method) => {
    const { ask, ports, send } = shared;
    for (const type of ['application/json', 'text/html', 'no type']) {
      const request = head('/nowhere', { 'content-type': type }, '10.0.0.1', method);
      expect((await ask(request)).status).toBe(404);
      expect(parse(await text(send(ports.go, request))).status).toBe(404);
    }
  },
);

test('a route that does not exist is 404 before its body was received', async () => {
  const socket = shared.send(shared.ports.main, head('/nowhere', CHUNKED), chunk('['));
  const [answer] = (await once(socket, 'data')) as [string];
  expect(parse(answer).status).toBe(404);
});

const NO_LIMITS = createMemoryLimitCounters(systemClock);
