import { EventEmitter, once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { type Clock, systemClock } from '../../../src/lib/concurrency/clock.ts';
import type { RedisServers } from '../../../src/lib/net/redis-address.ts';
import { createMemoryLimitCounters, type LimitCounters } from '../../../src/store/local/limit-counters.ts';
import type { RedisLink } from '../../../src/store/redis/redis-link.ts';
import { createSharedLimitCounters } from '../../../src/store/redis/shared-limit-counters.ts';
import { openSharedStore } from '../../../src/store/redis/shared-store.ts';
import { createMetrics, METRIC_PREFIX } from '../../../src/telemetry/metrics.ts';
import { FakeClock, settle } from '../../support/fake-clock.ts';
import { createLogLines } from '../../support/log-lines.ts';
import { expectGranted, expectRefused } from '../../unit/store/local/limit-counters-contract.ts';

/** Failures of the shared store against stand-ins for Redis; test/network uses a real one. */

const AWAY = 'the shared store is away';
const CONNECTED = 'the shared store is connected';
const HOST = '127.0.0.1';

interface StandIn extends AsyncDisposable {
  readonly server: Server;
  readonly port: number;
  readonly sockets: Socket[];
}

/** @param answer handles a connection */
async function startStandIn(answer: (socket: Socket) => void): Promise<StandIn> {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.resume();
    sockets.push(socket);
    answer(socket);
  });
  server.listen(0, HOST);
  await once(server, 'listening');
  return {
    server,
    port: (server.address() as AddressInfo).port,
    sockets,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

interface Obedient extends StandIn {
  /** Whether commands remain unanswered; else all get OK. */
  isSilent: boolean;
  /** Resolves after this number of commands since the last call. */
  untilAsked(count: number): Promise<void>;
}

async function startObedient(): Promise<Obedient> {
  let asked = 0;
  const came = new EventEmitter();
  const standIn = await startStandIn((socket) => {
    socket.on('data', (chunk) => {
      const commands = chunk.toString().match(/\*\d+\r\n\$/g)?.length ?? 0;
      asked += commands;
      if (!obedient.isSilent) socket.write('+OK\r\n'.repeat(commands));
      came.emit('command');
    });
  });
  const obedient: Obedient = Object.assign(standIn, {
    isSilent: false,
    async untilAsked(count: number) {
      while (asked < count) await once(came, 'command');
      asked = 0;
    },
  });
  return obedient;
}

/** A sentinel that answers every command with the address of the server. */
function startSentinel({ port }: StandIn): Promise<StandIn> {
  const answer = [HOST, String(port)].map((text) => `$${text.length}\r\n${text}\r\n`).join('');
  return startStandIn((socket) => socket.on('data', () => socket.write(`*2\r\n${answer}`)));
}

async function closedPort(): Promise<number> {
  await using standIn = await startStandIn(() => undefined);
  return standIn.port;
}

const LOGIN = { username: 'me', password: 'secret', database: 0 };

/** The default clock does not move, so waiting for a deadline would hang. */
function open(port: number, clock: Clock = new FakeClock()) {
  return openAt({ kind: 'single', host: HOST, port, isTls: false, ...LOGIN }, clock);
}

function openBehind(sentinels: readonly Pick<StandIn, 'port'>[], clock: Clock) {
  const nodes = sentinels.map(({ port }) => ({ host: HOST, port }));
  const watched = { sentinels: nodes, master: 'aggregator', sentinelPassword: undefined };
  return openAt({ kind: 'sentinel', host: HOST, port: 1, isTls: false, ...LOGIN, ...watched }, clock);
}

function openAt(servers: RedisServers, clock: Clock, link?: RedisLink) {
  const log = createLogLines();
  const registry = new Registry();
  const store = openSharedStore({
    servers,
    keyPrefix: 'test:',
    clock,
    random: () => 0.5,
    logger: log.logger,
    metrics: createMetrics(registry),
    ...(link && { openLink: async () => link }),
  });
  return {
    log,
    store,
    ask: () => store.ask((redis) => redis.run('', 'a', [])),
    counters: createSharedLimitCounters(store, createMemoryLimitCounters(clock)),
    metric: (name: string) => registry.getSingleMetricAsString(METRIC_PREFIX + name),
    [Symbol.dispose]: () => store[Symbol.dispose](),
  };
}

/** Expects the local counters only. */
async function expectAlone({ counters }: ReturnType<typeof open>, usedBefore = 0): Promise<void> {
  expect((await counters.take('a', 10, 100)).ns).toBe(usedBefore + 10);
  expect((await counters.take('a', 10, 100)).ns).toBe(usedBefore + 20);
  const claim = expectGranted(await counters.claim('token', 60_000));
  expectRefused(await counters.claim('token', 60_000), 60_000);
  await claim.giveBack();
  await expectGranted(await counters.claim('token', 60_000)).giveBack();
}

test('a store that is closed at any time around the first answer logs nothing', async () => {
  // The answer passes several promises; the store may be closed at each of them.
  for (let microtasks = 0; microtasks <= 8; microtasks += 1) {
    const tried = Promise.withResolvers<unknown>();
    const asked = Promise.withResolvers<void>();
    let isDestroyed = false;
    const { store, log } = openAt({ kind: 'single', host: HOST, port: 1, isTls: false, ...LOGIN }, new FakeClock(), {
      connect: async () => undefined,
      run() {
        asked.resolve();
        return tried.promise;
      },
      destroy() {
        isDestroyed = true;
      },
    });
    await asked.promise;
    tried.resolve('OK');
    for (let passed = 0; passed < microtasks; passed += 1) await Promise.resolve();
    const before = [...log.lines];
    store[Symbol.dispose]();
    await settle();
    expect([isDestroyed, log.lines]).toEqual([true, before]);
  }
});

test('without a listener, limits count locally at once, and the reason is logged once', async () => {
  using opened = open(await closedPort());
  await expectAlone(opened);
  await opened.log.until(AWAY);
  await expectAlone(opened, 20);
  expect(opened.log.lines.join('')).toContain('ECONNREFUSED');
  expect(await opened.metric('shared_store_connected')).toMatch(/^signature_aggregator_shared_store_connected 0$/m);
  expect(await opened.metric('shared_store_requests_total')).toContain('{outcome="away"} 12');
});

test('requests do not wait for a silent server, which is dropped', async () => {
  await using standIn = await startStandIn(() => undefined);
  const clock = new FakeClock();
  const connection = once(standIn.server, 'connection');
  using opened = open(standIn.port, clock);
  const [socket] = (await connection) as [Socket];
  await expectAlone(opened);
  const closed = once(socket, 'close');
  await clock.advance(2_000);
  await closed;
  await opened.log.until(AWAY);
  expect(opened.log.lines.join('')).toContain('connecting took longer than 2000 ms');
});

test.each([
  ['another protocol', 'HTTP/1.1 400 Bad Request\r\n\r\n', 'Unknown RESP type'],
  ['a refusal', '-ERR max number of clients reached\r\n', 'max number of clients reached'],
])('%s is detected at once, and the service continues', async (_, text, reason) => {
  await using standIn = await startStandIn((socket) => socket.write(text));
  using opened = open(standIn.port);
  await opened.log.until(AWAY);
  await expectAlone(opened);
  expect(opened.log.lines[0]).toContain(reason);
  expect(opened.log.lines.join('')).not.toContain('secret');
});

test('a silent sentinel gets a share of the time, then the next one is asked; the last one names the server', async () => {
  await using server = await startObedient();
  await using silent = await startStandIn(() => undefined);
  await using sentinel = await startSentinel(server);
  const clock = new FakeClock();
  const asked = once(silent.server, 'connection');
  const refusing = { port: await closedPort() };
  using opened = openBehind([silent, silent, refusing, sentinel], clock);
  await asked;
  const askedAgain = once(silent.server, 'connection');
  await clock.advance(500);
  await askedAgain;
  await clock.advance(500);
  await opened.log.until(CONNECTED);
  expect(opened.log.count(AWAY)).toBe(0);
});

test('pauses before reconnecting grow up to 5 s', async () => {
  await using standIn = await startStandIn((socket) => socket.destroy());
  const pausesMs: number[] = [];
  const tried = new EventEmitter();
  const clock: Clock = {
    ...systemClock,
    after(delayMs, callback) {
      // Connection deadlines stay; pauses end at once.
      if (delayMs === 2_000) return systemClock.after(delayMs, callback);
      pausesMs.push(delayMs);
      if (pausesMs.length === 8) tried.emit('often');
      else setImmediate(callback);
      return () => undefined;
    },
  };
  const often = once(tried, 'often');
  using opened = open(standIn.port, clock);
  await often;
  // Jitter from half to the whole.
  expect(pausesMs).toEqual([250, 500, 1_000, 2_000, 4_000, 5_000, 5_000, 5_000].map((longest) => 0.75 * longest));
  expect(opened.log.count(AWAY)).toBe(1);
  expect(standIn.sockets).toHaveLength(8);
});

test('requests wait for a late answer up to the deadline, later requests do not', async () => {
  await using standIn = await startObedient();
  const clock = new FakeClock();
  using opened = open(standIn.port, clock);
  const { ask, log, metric } = opened;
  await log.until(CONNECTED);
  expect(await ask()).toEqual('OK');
  // Password, probe, and this.
  await standIn.untilAsked(3);
  standIn.isSilent = true;
  const [socket] = standIn.sockets as [Socket];
  const answers = Promise.all([ask(), ask()]);
  await standIn.untilAsked(2);
  await clock.advance(199);
  expect(log.count(AWAY)).toBe(0);
  const closed = once(socket, 'close');
  await clock.advance(1);
  expect(await answers).toEqual([undefined, undefined]);
  await closed;
  await expectAlone(opened);
  expect(log.lines.at(-1)).toContain('no answer within 200 ms');
  const counted = (await metric('shared_store_requests_total')).matchAll(/outcome="(\w+)"} (\d+)/g);
  expect(Object.fromEntries([...counted].map(([, ...entry]) => entry))).toEqual({
    answered: '1',
    failed: '2',
    away: '6',
  });

  standIn.isSilent = false;
  await clock.advance(250);
  await log.until(CONNECTED, 2);
  expect(await ask()).toEqual('OK');
});

test('an answer that a busy event loop reads late is not late', async () => {
  await using standIn = await startObedient();
  const timers: { delayMs: number; callback: () => void }[] = [];
  const clock: Clock = {
    ...systemClock,
    after(delayMs, callback) {
      const timer = { delayMs, callback };
      timers.push(timer);
      return () => void timers.splice(timers.indexOf(timer), 1);
    },
  };
  using opened = open(standIn.port, clock);
  await opened.log.until(CONNECTED);
  await standIn.untilAsked(2);
  standIn.isSilent = true;
  const answer = opened.ask();
  await standIn.untilAsked(1);
  timers.find(({ delayMs }) => delayMs === 200)?.callback();
  standIn.sockets[0]?.write('+OK\r\n');
  expect(await answer).toBe('OK');
  expect(timers.some(({ delayMs }) => delayMs === 0)).toBe(false);
});

test.each<[string, (counters: LimitCounters) => unknown, object]>([
  ['a cost', (counters) => counters.take('b', 1, 10), { isTaken: true, ns: 1 }],
  ['a claim', (counters) => counters.claim('b', 60_000), { isGranted: true }],
])('an unexpected answer to %s is a failure of the store', async (_, ask, expected) => {
  await using standIn = await startObedient();
  using opened = open(standIn.port);
  await opened.log.until(CONNECTED);
  expect(await ask(opened.counters)).toMatchObject(expected);
  await expectAlone(opened);
  expect(opened.log.lines.at(-1)).toContain('unexpected answer of the script');
});

test('a value of another type fails its key, not the connection', async () => {
  const refusal = 'WRONGTYPE Operation against a key holding the wrong kind of value';
  await using standIn = await startObedient();
  using opened = open(standIn.port);
  await opened.log.until(CONNECTED);
  await standIn.untilAsked(2);
  standIn.isSilent = true;
  const backlog = opened.counters.take('b', 1, 10);
  await standIn.untilAsked(1);
  standIn.sockets[0]?.write(`-${refusal} script: 7f4a, on @user_script:2.\r\n`);
  expect(await backlog).toEqual({ isTaken: true, ns: 1 });
  standIn.isSilent = false;
  expect(await opened.ask()).toBe('OK');
  expect(opened.log.count(AWAY)).toBe(0);
});

test('an answer resets the pauses', async () => {
  await using standIn = await startObedient();
  const clock = new FakeClock();
  using opened = open(standIn.port, clock);
  for (let round = 1; round <= 4; round += 1) {
    await opened.log.until(CONNECTED, round);
    expect(await opened.ask()).toEqual('OK');
    standIn.sockets.at(-1)?.destroy();
    await opened.log.until(AWAY, round);
    // Three quarters of 250 ms.
    await clock.advance(188);
  }
});
