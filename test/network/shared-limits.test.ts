import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { createClient } from '@redis/client';
import { Registry } from 'prom-client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseConfig } from '../../src/config/load/load-config.ts';
import type { ApiKey } from '../../src/http/access/api-keys.ts';
import { type Clock, systemClock } from '../../src/lib/concurrency/clock.ts';
import { createMemoryLimitCounters, type LimitCounters } from '../../src/store/local/limit-counters.ts';
import { createSharedLimitCounters } from '../../src/store/redis/shared-limit-counters.ts';
import { openSharedStore } from '../../src/store/redis/shared-store.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { sendJson } from '../integration/proxy/stand-in.ts';
import { startUpstreamService, type UpstreamService } from '../integration/proxy/upstream-service.ts';
import { startService } from '../integration/service/running-service.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { createLogLines, type LogLines } from '../support/log-lines.ts';
import { testLimitCounters } from '../unit/store/local/limit-counters-contract.ts';
import { createLoopbackCertificate } from './loopback-certificate.ts';
import { AWAY, CONNECTED, useRedis, useRedisOfEachTest } from './redis-fixture.ts';
import { startRedis } from './redis-process.ts';

/** The limits of several replicas on one Redis, which is killed, frozen and locked here as it may be in production. */

const PREFIX = 'test:';
const DATA = '/v1/chains/1/blocks/2';
const REINDEX = `/v1/chains/43114/nfts/collections/0x${'aB'.repeat(20)}/tokens/145:reindex`;
const REINDEX_KEY = `${PREFIX}reindex:43114:0x${'ab'.repeat(20)}:145`;
const HOUR_MS = 3_600_000;
const DAY_NS = 86_400e9;
const KEY: ApiKey = {
  name: 'a client',
  sha256: createHash('sha256').update('secret of the client').digest(),
  unitsPerMinute: 50,
  routes: ['aggregation', 'data', 'rpc'],
};

interface SharedLimits extends Disposable {
  readonly limits: LimitCounters;
  readonly log: LogLines;
  /** Value of a metric by its name and labels. */
  metric(name: string): Promise<number>;
}

/** Opens limits, by default on a clock that stands still: the store is never late, however busy the machine is. */
function openLimits(url: string, clock: Clock = new FakeClock()): SharedLimits {
  const networks = { local: { pChainApi: [{ baseUrl: 'http://127.0.0.1' }] } };
  const { config } = parseConfig({ networks, store: { sharedUrl: url, sharedKeyPrefix: PREFIX } }, {}, {});
  const log = createLogLines();
  const registry = new Registry();
  const ports = { clock, random: Math.random, logger: log.logger, metrics: createMetrics(registry) };
  const store = openSharedStore({ ...config.store.shared!, ...ports });
  return {
    // Without the store nothing is worked off, however slow the machine is.
    limits: createSharedLimitCounters(store, createMemoryLimitCounters(new FakeClock())),
    log,
    async metric(name) {
      const line = (await registry.metrics()).split('\n').find((text) => text.startsWith(`${name} `));
      return Number(line?.slice(name.length));
    },
    [Symbol.dispose]: () => store[Symbol.dispose](),
  };
}

interface Replica extends SharedLimits, AsyncDisposable {
  readonly service: UpstreamService;
}

async function startReplica(url: string, clock?: Clock): Promise<Replica> {
  const shared = openLimits(url, clock);
  const { limits } = shared;
  const access = { apiKeys: [KEY], unitsPerMinute: 20, trustedProxies: [] };
  const service = await startUpstreamService({ limits, access });
  return {
    ...shared,
    service,
    async [Symbol.asyncDispose]() {
      await service[Symbol.asyncDispose]();
      shared[Symbol.dispose]();
    },
  };
}

/** Two replicas that share the store, each with its upstream. */
async function startReplicas(url: string, clock?: Clock) {
  await using opened = new AsyncDisposableStack();
  const a = opened.use(await startReplica(url, clock));
  const b = opened.use(await startReplica(url, clock));
  await Promise.all([a.log.until(CONNECTED), b.log.until(CONNECTED)]);
  const closing = opened.move();
  return { a, b, [Symbol.asyncDispose]: () => closing.disposeAsync() };
}

const remaining = async ({ service }: Replica, headers: Record<string, string> = {}) =>
  Number((await service.get(DATA, headers)).headers.get('x-ratelimit-remaining'));

const redis = useRedis();

describe('counters', () => {
  const opened = new DisposableStack();
  /** Each time another of so many replicas. */
  let inTurn: readonly (() => LimitCounters)[];
  let one: SharedLimits;
  let other: SharedLimits;
  beforeAll(async () => {
    const all = Array.from({ length: 5 }, () => opened.use(openLimits(redis.url)));
    await Promise.all(all.map(({ log }) => log.until(CONNECTED)));
    [one, other] = all as [SharedLimits, SharedLimits];
    inTurn = [all.slice(2, 3), all.slice(3)].map((replicas) => {
      let turn = 0;
      return () => replicas[turn++ % replicas.length]!.limits;
    });
  });
  afterAll(() => opened.dispose());

  describe('of a replica', () => {
    testLimitCounters(() => inTurn[0]!());
  });
  describe('of two replicas in turns', () => {
    testLimitCounters(() => inTurn[1]!());
  });

  test('backlogs and claims expire', async () => {
    await one.limits.take('units', 100e9, DAY_NS);
    await other.limits.take('units', 200e9, DAY_NS);
    expectTtl(await redis.inspector.pTTL(`${PREFIX}units`), 300_000);
    await one.limits.claim('claim', HOUR_MS);
    expectTtl(await redis.inspector.pTTL(`${PREFIX}claim`), HOUR_MS);
  });

  test.each(['7', 'not ours', '-inf'])(
    '%s without an end in the place of a backlog is none, and is replaced by one',
    async (value) => {
      await redis.inspector.set(`${PREFIX}units`, value);
      expect(await one.limits.take('units', 100e9, DAY_NS)).toEqual({ isTaken: true, ns: 100e9 });
      expectTtl(await redis.inspector.pTTL(`${PREFIX}units`), 100_000);
    },
  );

  test('a list in the place of a backlog: the replica counts that alone, and shares all else', async () => {
    using replica = openLimits(redis.url);
    await replica.log.until(CONNECTED);
    await redis.inspector.rPush(`${PREFIX}units`, ['not', 'ours']);
    expect((await replica.limits.take('units', 2, 10)).ns).toBe(2);
    expect((await replica.limits.take('units', 2, 10)).ns).toBe(4);
    await one.limits.take('others', 600e9, DAY_NS);
    expect((await replica.limits.take('others', 1, DAY_NS)).ns).toBeGreaterThan(500e9);
    expect(replica.log.count(AWAY)).toBe(0);
  });
});

function expectTtl(ttlMs: number, setMs: number): void {
  expect(ttlMs).toBeLessThanOrEqual(setMs);
  expect(ttlMs).toBeGreaterThan(setMs - 60_000);
}

describe('two replicas', () => {
  test('count the units of a client together', async () => {
    await using replicas = await startReplicas(redis.url);
    const { a, b } = replicas;
    for (let left = 19; left >= 0; left -= 1) expect(await remaining(left % 2 === 0 ? a : b)).toBe(left);
    for (const { service } of [a, b]) {
      const { status, headers } = await service.get(DATA);
      expect([status, headers.get('x-ratelimit-remaining')]).toEqual([429, '0']);
      const retryAfter = Number(headers.get('retry-after'));
      expect(retryAfter).toBeGreaterThan(0);
      expect(retryAfter).toBeLessThanOrEqual(60);
    }
  });

  test('count those of an API key apart, and keep the key to themselves', async () => {
    await using replicas = await startReplicas(redis.url);
    const { a, b } = replicas;
    const key = { 'x-service-api-key': 'secret of the client' };
    expect([await remaining(a, key), await remaining(b, key), await remaining(b)]).toEqual([49, 48, 19]);
    const keys = await redis.inspector.keys('*');
    expect(keys.filter((name) => !name.endsWith(':try')).toSorted()).toEqual(
      [`${PREFIX}rate:address:127.0.0.1`, `${PREFIX}rate:key:a client`].toSorted(),
    );
    for (const name of keys) {
      expect(name.startsWith(PREFIX)).toBe(true);
      expectTtl(await redis.inspector.pTTL(name), 60_000);
    }
    const everything = await Promise.all(keys.map((name) => redis.inspector.get(name)));
    expect(JSON.stringify([keys, everything])).not.toContain('secret');
    expect(JSON.stringify([a.log.lines, b.log.lines])).not.toContain('secret');
  });

  test('pass on one of many reindexings of a token at the same time, and no other in its hour', async () => {
    await using replicas = await startReplicas(redis.url);
    const services = [replicas.a.service, replicas.b.service];
    const answers = await Promise.all(Array.from({ length: 12 }, (_, index) => services[index % 2]!.post(REINDEX)));
    const [granted, ...refused] = answers.toSorted((x, y) => x.status - y.status);
    expect(granted?.status).toBe(201);
    for (const { status, headers } of refused) {
      const retryAfter = Number(headers.get('retry-after'));
      expect(status).toBe(429);
      expect(retryAfter).toBeGreaterThan(3_500);
      expect(retryAfter).toBeLessThanOrEqual(3_600);
    }
    expectTtl(await redis.inspector.pTTL(REINDEX_KEY), HOUR_MS);
    expect(services.flatMap(({ standIn }) => standIn.arrivals)).toHaveLength(1);
  });

  test('may reindex a token through one when the other’s upstream has failed', async () => {
    await using replicas = await startReplicas(redis.url);
    const { a, b } = replicas;
    a.service.standIn.behaviour = (_request, response) => sendJson(response, 500, {});
    expect((await a.service.post(REINDEX)).status).toBe(500);
    expect(await redis.inspector.exists(REINDEX_KEY)).toBe(0);
    expect((await b.service.post(REINDEX)).status).toBe(201);
    expect((await a.service.post(REINDEX)).status).toBe(429);
  });
});

describe('a store that fails', { timeout: 30_000 }, () => {
  const own = useRedisOfEachTest();

  test('is killed: each replica limits alone; comes back: they share again', async () => {
    await using replicas = await startReplicas(own.url, systemClock);
    const { a, b } = replicas;
    expect([await remaining(a), await remaining(a), await remaining(b)]).toEqual([19, 18, 17]);
    await own.process.kill();
    await Promise.all([a.log.until(AWAY), b.log.until(AWAY)]);
    expect(await a.metric('signature_aggregator_shared_store_connected')).toBe(0);
    // What each has counted itself still counts.
    expect([await remaining(a), await remaining(b)]).toEqual([17, 18]);
    for (let left = 16; left >= 0; left -= 1) await remaining(a);
    expect((await a.service.get(DATA)).status).toBe(429);
    expect((await b.service.get(DATA)).status).toBe(200);
    expect((await b.service.post(REINDEX)).status).toBe(201);
    expect((await b.service.post(REINDEX)).status).toBe(429);
    expect((await b.service.get('/health/ready')).status).toBe(200);

    await own.process.restart();
    await Promise.all([a.log.until(CONNECTED, 2), b.log.until(CONNECTED, 2)]);
    expect([await remaining(a), await remaining(b)]).toEqual([19, 18]);
    // The store has forgotten it, and this replica has not.
    expect((await b.service.post(REINDEX)).status).toBe(429);
    for (const { log, metric } of [a, b]) {
      expect([log.count(AWAY), log.count(CONNECTED)]).toEqual([1, 2]);
      expect(await metric('signature_aggregator_shared_store_connected')).toBe(1);
    }
  });

  test('is frozen: one answer waits for it, at most, until it is back', async () => {
    await using replicas = await startReplicas(own.url, systemClock);
    const { a } = replicas;
    expect(await remaining(a)).toBe(19);
    await own.process.freeze();
    const startMs = performance.now();
    expect(await remaining(a)).toBe(18);
    for (let left = 17; left >= 8; left -= 1) expect(await remaining(a)).toBe(left);
    // Were each to wait for the store's 200 ms, it would be longer.
    expect(performance.now() - startMs).toBeLessThan(11 * 200);
    expect(await a.metric('signature_aggregator_shared_store_requests_total{outcome="failed"}')).toBe(1);
    expect(await a.metric('signature_aggregator_shared_store_requests_total{outcome="away"}')).toBe(10);
    expect((await a.service.post(REINDEX)).status).toBe(201);
    expect((await a.service.post(REINDEX)).status).toBe(429);

    own.process.thaw();
    await a.log.until(CONNECTED, 2);
    expect([a.log.count(AWAY), a.log.count(CONNECTED)]).toEqual([1, 2]);
    await remaining(a);
    expect(await a.metric('signature_aggregator_shared_store_requests_total{outcome="failed"}')).toBe(1);
  });

  test('is frozen when the service stops: it stops all the same', async () => {
    const a = await startReplica(own.url, systemClock);
    await a.log.until(CONNECTED);
    await own.process.freeze();
    const startMs = performance.now();
    await a[Symbol.asyncDispose]();
    expect(performance.now() - startMs).toBeLessThan(2_000);
  });

  test('is not there when the service starts: it is found when it comes', async () => {
    await own.process.kill();
    await using a = await startReplica(own.url, systemClock);
    expect(await remaining(a)).toBe(19);
    await a.log.until(AWAY);
    await own.process.restart();
    await a.log.until(CONNECTED);
    expect([a.log.count(AWAY), a.log.count(CONNECTED)]).toEqual([1, 1]);
  });

  test.each([
    ['a wrong password', ['--requirepass', 'right'], /WRONGPASS/],
    [
      'a user that may not write',
      ['--user', 'me', 'on', '>wrong', '~*', '-@all', '+eval', '+select'],
      /can't run this command|no permissions/,
    ],
    ['a full memory', ['--maxmemory', '1', '--user', 'me', 'on', '>wrong', '~*', '+@all'], /OOM/],
  ])('%s: the service works, and the log says why it works alone', async (_, further, reason) => {
    await using locked = await startRedis({ further });
    const user = further.includes('me') ? 'me' : '';
    await using a = await startReplica(`redis://${user}:wrong@127.0.0.1:${locked.port}`);
    await a.log.until(AWAY);
    expect([await remaining(a), await remaining(a)]).toEqual([19, 18]);
    expect(a.log.lines.join('')).toMatch(reason);
    expect(a.log.lines.join('')).not.toContain('wrong');
    expect(a.log.count(CONNECTED)).toBe(0);
  });
});

test('a password, a user and a database of their own', async () => {
  const further = ['--requirepass', 'p@ss:w/rd', '--user', 'me', 'on', '>%', '~*', '+@all'];
  await using locked = await startRedis({ further });
  const address = `127.0.0.1:${locked.port}`;
  using ofAll = openLimits(`redis://:p%40ss%3Aw%2Frd@${address}`);
  using ofMe = openLimits(`redis://me:%25@${address}/3`);
  await Promise.all([ofAll.log.until(CONNECTED), ofMe.log.until(CONNECTED)]);
  await ofMe.limits.take('a', 600e9, DAY_NS);
  expect((await ofAll.limits.take('a', 1, DAY_NS)).ns).toBe(1);
  const look = createClient({ url: `redis://me:%25@${address}/3` });
  await look.connect();
  expectTtl(await look.pTTL(`${PREFIX}a`), 600_000);
  look.destroy();
});

test('rediss:// is TLS, and rejects a server whose certificate is not trusted', async () => {
  await using opened = new AsyncDisposableStack();
  const directory = await mkdtemp(join(tmpdir(), 'redis-'));
  opened.defer(() => rm(directory, { recursive: true }));
  const { certificate, privateKey } = createLoopbackCertificate();
  const tls = { certificateFile: join(directory, 'redis.crt'), keyFile: join(directory, 'redis.key') };
  await writeFile(tls.certificateFile, certificate);
  await writeFile(tls.keyFile, privateKey);
  const secure = opened.use(await startRedis({ tls }));

  const untrusted = opened.use(openLimits(`rediss://127.0.0.1:${secure.port}`));
  await untrusted.log.until(AWAY);
  expect(untrusted.log.lines.join('')).toMatch(/self.signed certificate/);

  const authorities = getCACertificates('default');
  setDefaultCACertificates([...authorities, certificate]);
  opened.defer(() => setDefaultCACertificates(authorities));
  const trusting = opened.use(openLimits(`rediss://127.0.0.1:${secure.port}`));
  await trusting.log.until(CONNECTED);
  expect((await trusting.limits.take('a', 2, 10)).ns).toBe(2);
  expect(await trusting.metric('signature_aggregator_shared_store_requests_total{outcome="answered"}')).toBe(1);
});

test('whole services share by their configuration, and are as ready without the store', async () => {
  await using own = await startRedis();
  const settings = { store: { sharedUrl: `redis://127.0.0.1:${own.port}` }, access: { unitsPerMinute: 100 } };
  await using one = await startService(5, { settings });
  await using other = await one.another(settings);
  for (const { metric } of [one, other]) {
    await expect.poll(() => metric('signature_aggregator_shared_store_connected'), { timeout: 15_000 }).toBe(1);
  }
  const left = async (service: Pick<typeof one, 'post'>) => {
    const { headers } = await service.post({});
    return headers.get('x-ratelimit-remaining');
  };
  expect([await left(one), await left(other), await left(one)]).toEqual(['99', '98', '97']);
  await expect.poll(async () => (await other.get('/health/ready')).status, { timeout: 30_000 }).toBe(200);
  await own.freeze();
  expect([await left(one), await left(other)]).toEqual(['97', '98']);
  expect((await other.get('/health/ready')).status).toBe(200);
});
