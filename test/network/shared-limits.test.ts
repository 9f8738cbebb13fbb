import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createMemoryLimitCounters, type LimitCounters } from '../../src/store/local/limit-counters.ts';
import { createSharedLimitCounters } from '../../src/store/redis/shared-limit-counters.ts';
import { startStandIn } from '../integration/proxy/stand-in.ts';
import { upstreamSettings } from '../integration/proxy/upstream-service.ts';
import { startService } from '../integration/service/running-service.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { createLogLines } from '../support/log-lines.ts';
import { testLimitCounters } from '../unit/store/local/limit-counters-contract.ts';
import { createLoopbackCertificate } from './loopback-certificate.ts';
import { AWAY, CONNECTED, connectTo, KEY_PREFIX, openStore, useRedis } from './redis-fixture.ts';
import { startRedis } from './redis-process.ts';

/** The limits of several replicas on one Redis, with the means of a production server: passwords, users, TLS. */

const DAY_NS = 86_400e9;
const redis = useRedis();

function openLimits(url: string) {
  const opened = openStore(url);
  // Without the store nothing is worked off, however slow the machine is.
  return { ...opened, limits: createSharedLimitCounters(opened.store, createMemoryLimitCounters(new FakeClock())) };
}

describe('counters', () => {
  const opened = new DisposableStack();
  let one: LimitCounters;
  let other: LimitCounters;
  beforeAll(async () => {
    const replicas = [opened.use(openLimits(redis.url)), opened.use(openLimits(redis.url))];
    await Promise.all(replicas.map(({ log }) => log.until(CONNECTED)));
    [one, other] = replicas.map(({ limits }) => limits) as [LimitCounters, LimitCounters];
  });
  afterAll(() => opened.dispose());

  describe('of two replicas in turns', () => {
    let turn = 0;
    testLimitCounters(() => {
      turn += 1;
      return turn % 2 === 0 ? one : other;
    });
  });

  test('backlogs and claims expire', async () => {
    await one.take('units', 100e9, DAY_NS);
    await other.take('units', 200e9, DAY_NS);
    await expectTtl('units', 300_000);
    await one.claim('claim', 3_600_000);
    await expectTtl('claim', 3_600_000);
  });

  test.each(['7', 'not ours', '-inf'])(
    '%s without an end in the place of a backlog is none, and is replaced by one',
    async (value) => {
      await redis.inspector.set(`${KEY_PREFIX}units`, value);
      expect(await one.take('units', 100e9, DAY_NS)).toEqual({ isTaken: true, ns: 100e9 });
      await expectTtl('units', 100_000);
    },
  );

  test('a list in the place of a backlog: the replica counts that alone, and shares all else', async () => {
    await redis.inspector.rPush(`${KEY_PREFIX}list`, ['not', 'ours']);
    expect((await one.take('list', 2, 10)).ns).toBe(2);
    expect((await one.take('list', 2, 10)).ns).toBe(4);
    await one.take('others', 600e9, DAY_NS);
    expect((await other.take('others', 1, DAY_NS)).ns).toBeGreaterThan(500e9);
  });

  async function expectTtl(key: string, setMs: number): Promise<void> {
    const ttlMs = await redis.inspector.pTTL(KEY_PREFIX + key);
    expect(ttlMs).toBeLessThanOrEqual(setMs);
    expect(ttlMs).toBeGreaterThan(setMs - 60_000);
  }
});

test.each([
  ['a wrong password', ['--requirepass', 'right'], /WRONGPASS/],
  [
    'a user that may not write',
    ['--user', 'me', 'on', '>wrong', '~*', '-@all', '+eval', '+select'],
    /can't run this command|no permissions/,
  ],
  ['a full memory', ['--maxmemory', '1', '--user', 'me', 'on', '>wrong', '~*', '+@all'], /OOM/],
])('with %s the service counts alone, and the log says why', async (_, further, reason) => {
  await using locked = await startRedis({ further });
  const user = further.includes('me') ? 'me' : '';
  using alone = openLimits(`redis://${user}:wrong@127.0.0.1:${locked.port}`);
  await alone.log.until(AWAY);
  expect((await alone.limits.take('a', 2, 10)).ns).toBe(2);
  expect((await alone.limits.take('a', 2, 10)).ns).toBe(4);
  const log = alone.log.lines.join('');
  expect(log).toMatch(reason);
  expect(log).not.toContain('wrong');
  expect(alone.log.count(CONNECTED)).toBe(0);
});

test('a password, a user and a database of their own', async () => {
  const further = ['--requirepass', 'p@ss:w/rd', '--user', 'me', 'on', '>%', '~*', '+@all'];
  await using locked = await startRedis({ further });
  const ofMe = `redis://me:%25@127.0.0.1:${locked.port}/3`;
  using all = openLimits(`redis://:p%40ss%3Aw%2Frd@127.0.0.1:${locked.port}`);
  using mine = openLimits(ofMe);
  await Promise.all([all.log.until(CONNECTED), mine.log.until(CONNECTED)]);
  await mine.limits.take('a', 600e9, DAY_NS);
  expect((await all.limits.take('a', 1, DAY_NS)).ns).toBe(1);
  const look = await connectTo(ofMe);
  expect(await look.exists(`${KEY_PREFIX}a`)).toBe(1);
  look.destroy();
});

test('rediss:// is TLS, and rejects a server whose certificate is not trusted', async () => {
  await using opened = new AsyncDisposableStack();
  const directory = await mkdtemp(join(tmpdir(), 'redis-tls-'));
  opened.defer(() => rm(directory, { recursive: true }));
  const { certificate, privateKey } = createLoopbackCertificate();
  const tls = { certificateFile: join(directory, 'redis.crt'), keyFile: join(directory, 'redis.key') };
  await writeFile(tls.certificateFile, certificate);
  await writeFile(tls.keyFile, privateKey);
  const secure = opened.use(await startRedis({ tls }));

  const untrusted = opened.use(openLimits(`rediss://127.0.0.1:${secure.port}`));
  await untrusted.log.until(AWAY);
  expect(untrusted.log.lines.join('')).toContain('no authority that this machine trusts has signed its certificate');

  const authorities = getCACertificates('default');
  setDefaultCACertificates([...authorities, certificate]);
  opened.defer(() => setDefaultCACertificates(authorities));
  const trusting = opened.use(openLimits(`rediss://127.0.0.1:${secure.port}`));
  await trusting.log.until(CONNECTED);
  expect(await trusting.store.ask(async () => 'answered')).toBe('answered');
});

test('whole services share limits by their configuration, and are as ready without the store', async () => {
  await using opened = new AsyncDisposableStack();
  const own = opened.use(await startRedis());
  const standIn = opened.use(await startStandIn());
  const log = createLogLines();
  const secret = 'secret of the client';
  const sha256 = createHash('sha256').update(secret).digest('hex');
  // A unit is worked off in 6 s.
  const key = { name: 'a client', sha256, unitsPerMinute: 10, routes: ['aggregation', 'data'] };
  const settings = {
    store: { sharedUrl: own.url },
    access: { apiKeys: [key], unitsPerMinute: 10 },
    upstream: upstreamSettings(standIn),
    logger: log.logger,
  };
  const one = opened.use(await startService(5, { settings }));
  const other = opened.use(await one.another(settings));
  await log.until(CONNECTED, 2);
  const left = async ({ post }: Pick<typeof one, 'post'>, headers = {}) =>
    (await post({}, undefined, headers)).headers.get('x-ratelimit-remaining');
  const keyed = { 'x-service-api-key': secret };
  expect([await left(one), await left(other), await left(one)]).toEqual(['9', '8', '7']);
  expect([await left(one, keyed), await left(other, keyed)]).toEqual(['9', '8']);
  const path = `/v1/chains/43114/nfts/collections/0x${'aB'.repeat(20)}/tokens/145:reindex`;
  const reindex = ({ app }: Pick<typeof one, 'app'>) => fetch(`${app.url}${path}`, { method: 'POST', headers: keyed });
  expect([(await reindex(one)).status, (await reindex(other)).status]).toEqual([201, 429]);
  const look = await connectTo(own.url);
  expect(JSON.stringify([await look.keys('*'), log.lines])).not.toContain(secret);
  look.destroy();

  await own.freeze();
  // What each has counted itself still counts.
  expect([await left(one), await left(other)]).toEqual(['7', '8']);
  expect((await other.get('/health/ready')).status).toBe(200);
});
