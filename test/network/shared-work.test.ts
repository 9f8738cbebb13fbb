import { createClient, createCluster } from '@redis/client';
import { describe, expect, test } from 'vitest';
import { loadBackend } from '../../src/bls/backends/load-backend.ts';
import { type Clock, systemClock } from '../../src/lib/concurrency/clock.ts';
import { startService } from '../integration/service/running-service.ts';
import { createLogLines, type LogLines } from '../support/log-lines.ts';
import { AWAY, CONNECTED, useRedis, useRedisOfEachTest } from './redis-fixture.ts';
import { startRedisCluster, startRedisWithSentinel } from './redis-topologies.ts';

/** Whole services that share their work through real servers of Redis, which are ended, frozen, wiped and filled with lies. */

const SECRET = 'the secret of the replicas';
const VALIDATORS = 5;
/** Each message is verified by each replica and here, which would take minutes with noble. */
const BLS = { backend: 'native' };
const native = await loadBackend('native');
const AGGREGATION = { hedgeAfterMs: 9_000, peerTimeoutMs: 9_000 };
/** All validators are asked, without hedged requests, so the number of requests is known, however busy the machine is. */
const QUORUM = 100;
/** The store's deadline is a long one, for the same reason: on a busy machine Redis may take longer than its 200 ms. */
const PATIENT: Clock = {
  ...systemClock,
  after: (delayMs, callback) => systemClock.after(delayMs === 200 ? 20_000 : delayMs, callback),
};

type Service = Awaited<ReturnType<typeof startService>>;
type Replica = Pick<Service, 'get' | 'post' | 'metric'>;

interface Replicas extends AsyncDisposable {
  readonly devnet: Service['devnet'];
  readonly all: readonly (Replica & { readonly log: LogLines })[];
  verify: Service['verify'];
  /** Questions to all validators so far. */
  questions(): number;
}

async function startReplicas(count: number, store: object, clock: Clock = systemClock): Promise<Replicas> {
  await using opened = new AsyncDisposableStack();
  const logs = Array.from({ length: count }, createLogLines);
  const settings = (index: number) => ({
    ...{ store, bls: BLS, internals: { aggregation: AGGREGATION }, clock },
    logger: logs[index]!.logger,
  });
  const first = opened.use(await startService(VALIDATORS, { settings: settings(0) }));
  const all: (Replica & { log: LogLines })[] = [{ ...first, log: logs[0]! }];
  for (let index = 1; index < count; index += 1) {
    all.push({ ...opened.use(await first.another(settings(index))), log: logs[index]! });
  }
  await Promise.all(logs.map((log) => log.until(CONNECTED)));
  const closing = opened.move();
  return {
    ...{ devnet: first.devnet, all },
    verify: (answer, expected) => first.verify(answer, expected, native),
    questions: () =>
      first.devnet.nodeIDs.reduce((sum, _, index) => sum + first.devnet.validator(index).appRequestCount, 0),
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

/** Requests each message from every replica at once, each time starting at another one; returns the answers by message. */
async function askAll({ all }: Replicas, messages: readonly string[]) {
  const answers: Awaited<ReturnType<Replica['post']>>[] = [];
  const BATCH = 10;
  for (let start = 0; start < messages.length; start += BATCH) {
    const batch = messages
      .slice(start, start + BATCH)
      .flatMap((message, index) =>
        all.map((_, turn) => all[(start + index + turn) % all.length]!.post({ message, quorumPercentage: QUORUM })),
      );
    answers.push(...(await Promise.all(batch)));
  }
  return answers;
}

function pairOf({ all: [one, other] }: Replicas): readonly [Replica, Replica] {
  if (one === undefined || other === undefined) throw new RangeError('one replica is no pair');
  return [one, other];
}

const statusesOf = (answers: readonly { status: number }[]) => [...new Set(answers.map(({ status }) => status))];

const redis = useRedis();

describe('replicas and one store', () => {
  test.each([
    [3, { sharedSecret: SECRET }],
    [2, {}],
  ])('%i of them, %j: of 100 messages sent to all, each validator signs each once', async (count, more) => {
    await using replicas = await startReplicas(count, { sharedUrl: redis.url, ...more }, PATIENT);
    const { devnet } = replicas;
    const before = replicas.questions();
    const answers = await askAll(replicas, devnet.emitMessages(100));
    expect(statusesOf(answers)).toEqual([201]);
    expect(replicas.questions() - before).toBe(100 * VALIDATORS);
    const { subnetID } = devnet.subnets.primary;
    const distinct = new Map(answers.map((answer) => [answer.body['signedMessage'], answer]));
    expect(distinct.size).toBe(100);
    for (const answer of distinct.values()) {
      expect(await replicas.verify(answer, { subnetID, quorum: QUORUM })).toMatchObject({ kind: 'valid' });
    }
    // Every key expires.
    for (const key of await redis.inspector.keys('*')) expect(await redis.inspector.pTTL(key)).toBeGreaterThan(0);
  });

  test('another quorum takes the signatures that another replica has, and a failure of one is the answer of the other', async () => {
    await using replicas = await startReplicas(2, { sharedUrl: redis.url, sharedSecret: SECRET });
    const [one, other] = pairOf(replicas);
    const [message] = replicas.devnet.emitMessages(1);
    expect((await one.post({ message, quorumPercentage: 50 })).status).toBe(201);
    expect(await redis.inspector.keys('*:set:*@*')).not.toEqual([]);
    let before = replicas.questions();
    await expect.poll(async () => (await redis.inspector.keys('*signatures*')).length).toBe(1);
    expect((await other.post({ message, quorumPercentage: 40 })).status).toBe(201);
    expect(replicas.questions()).toBe(before);

    const unknown = Buffer.from(replicas.devnet.chains.C.prepare(Uint8Array.of(1)).bytes).toString('hex');
    const refused = await one.post({ message: unknown });
    before = replicas.questions();
    const again = await other.post({ message: unknown });
    expect(again.status).toBe(refused.status);
    expect(again.body).toEqual({ ...refused.body, requestId: again.body['requestId'] });
    expect(replicas.questions()).toBe(before);
  });
});

/** Sends new messages to all replicas in turns until told to stop; returns how long each took, and the statuses. */
function underLoad(replicas: Replicas) {
  let isOver = false;
  const statuses = new Set<number>();
  const tookMs: number[] = [];
  const client = async (offset: number): Promise<void> => {
    for (let turn = offset; !isOver; turn += 1) {
      const [message] = replicas.devnet.emitMessages(1);
      const startMs = performance.now();
      const answer = await replicas.all[turn % replicas.all.length]!.post({ message });
      tookMs.push(performance.now() - startMs);
      statuses.add(answer.status);
    }
  };
  const running = [0, 1].map(client);
  return {
    count: () => tookMs.length,
    async stop() {
      isOver = true;
      await Promise.all(running);
      return { statuses: [...statuses], tookMs };
    },
  };
}

async function untilCount(load: ReturnType<typeof underLoad>, more: number): Promise<void> {
  const target = load.count() + more;
  await expect.poll(() => load.count(), { timeout: 30_000 }).toBeGreaterThanOrEqual(target);
}

describe('a store that fails under load costs no request', { timeout: 120_000 }, () => {
  const own = useRedisOfEachTest();

  const untilAll = ({ all }: Replicas, line: string, count: number) =>
    Promise.all(all.map(({ log }) => log.until(line, count)));

  test.each<[string, fail: () => Promise<unknown>, mend: () => Promise<unknown>]>([
    ['stopped', () => own.process.kill(), () => own.process.restart()],
    ['frozen', () => own.process.freeze(), async () => own.process.thaw()],
    ['full', () => own.inspector.configSet('maxmemory', '1'), () => own.inspector.configSet('maxmemory', '0')],
  ])('%s', async (_, fail, mend) => {
    await using replicas = await startReplicas(2, { sharedUrl: own.url, sharedSecret: SECRET });
    const load = underLoad(replicas);
    await untilCount(load, 20);
    await fail();
    await untilAll(replicas, AWAY, 1);
    await untilCount(load, 20);
    await mend();
    await untilAll(replicas, CONNECTED, 2);
    await own.inspector.flushAll();
    await untilCount(load, 20);
    const { statuses, tookMs } = await load.stop();
    expect(statuses).toEqual([201]);
    // A store that hangs is waited for in no more than a few steps of a request.
    expect(Math.max(...tookMs)).toBeLessThan(5_000);
  });
});

test.each([
  ['with a seal', { sharedSecret: SECRET }],
  ['without', {}],
])(
  'lies under every key of the store never come out: %s',
  async (_, more) => {
    await using replicas = await startReplicas(2, { sharedUrl: redis.url, ...more });
    const [one, other] = pairOf(replicas);
    const { subnetID } = replicas.devnet.subnets.primary;
    const lies: ((key: string) => Promise<unknown>)[] = [
      (key) => redis.inspector.set(key, 'nonsense'),
      (key) => redis.inspector.set(key, Buffer.alloc(2_000_000, 3)),
      (key) => redis.inspector.del(key).then(() => redis.inspector.hSet(key, 'another', 'kind')),
      // An outcome in its right form without a seal.
      (key) =>
        redis.inspector.set(key, Buffer.concat([Buffer.alloc(16, 7), Buffer.from([3]), Buffer.from('{"code":1}')])),
    ];
    for (const lie of lies) {
      const [message] = replicas.devnet.emitMessages(1);
      expect((await one.post({ message, quorumPercentage: 60 })).status).toBe(201);
      await expect.poll(async () => (await redis.inspector.keys('*signatures*')).length).toBeGreaterThan(0);
      const keys = await redis.inspector.keys('*');
      await Promise.all(keys.filter((key) => /(work|signatures|set|validation):/.test(key)).map(lie));
      for (const quorum of [60, 70]) {
        const answer = await other.post({ message, quorumPercentage: quorum });
        expect(answer.status).toBe(201);
        expect(await replicas.verify(answer, { subnetID, quorum })).toMatchObject({ kind: 'valid' });
      }
      await redis.inspector.flushAll();
    }
  },
  60_000,
);

/** That records of requests are among what two replicas share. */
async function expectSharedRecord(replicas: Replicas): Promise<void> {
  const [one, other] = pairOf(replicas);
  const [message] = replicas.devnet.emitMessages(1);
  const { headers } = await one.post({ message });
  const path = `/v1/requests/${headers.get('x-request-id')}`;
  await expect.poll(async () => (await other.get(path)).body, { timeout: 10_000 }).toMatchObject({ outcome: 'signed' });
}

test('a Redis Cluster: its keys are placed, and a node that is taken over costs no request', async () => {
  await using cluster = await startRedisCluster();
  const [first, ...others] = cluster.nodes.map(({ port }) => `127.0.0.1:${port}`);
  const store = {
    ...{ sharedUrl: `redis://${first}`, sharedNodes: others },
    sharedSecret: SECRET,
  };
  await using replicas = await startReplicas(2, store);
  const before = replicas.questions();
  expect(statusesOf(await askAll(replicas, replicas.devnet.emitMessages(40)))).toEqual([201]);
  expect(replicas.questions() - before).toBe(40 * VALIDATORS);

  await expectSharedRecord(replicas);
  const load = underLoad(replicas);
  await untilCount(load, 10);
  await cluster.nodes[0]!.kill();
  await Promise.all(replicas.all.map(({ log }) => log.until(AWAY)));
  await Promise.all(replicas.all.map(({ log }) => log.until(CONNECTED, 2)));
  await untilCount(load, 20);
  expect((await load.stop()).statuses).toEqual([201]);

  // They share again: also the keys of the node that is gone.
  const since = replicas.questions();
  expect(statusesOf(await askAll(replicas, replicas.devnet.emitMessages(20)))).toEqual([201]);
  expect(replicas.questions() - since).toBe(20 * VALIDATORS);
  const look = createCluster({ rootNodes: [{ url: `redis://${others[0]}` }] });
  look.on('error', () => undefined);
  await look.connect();
  expect(look.masters).toHaveLength(3);
  look.destroy();
}, 120_000);

test('behind a sentinel: the server that takes over is found, and no request fails meanwhile', async () => {
  await using watched = await startRedisWithSentinel('aggregator');
  // The first one that is asked is not there.
  const store = {
    ...{ sharedUrl: 'redis://127.0.0.1:1', sharedMaster: 'aggregator' },
    ...{ sharedNodes: [`127.0.0.1:${watched.sentinel.port}`], sharedSecret: SECRET },
  };
  await using replicas = await startReplicas(2, store);
  await expectSharedRecord(replicas);
  const load = underLoad(replicas);
  await untilCount(load, 10);
  await watched.master.kill();
  await Promise.all(replicas.all.map(({ log }) => log.until(AWAY)));
  await Promise.all(replicas.all.map(({ log }) => log.until(CONNECTED, 2)));
  await untilCount(load, 20);
  expect((await load.stop()).statuses).toEqual([201]);
  const look = createClient({ url: `redis://127.0.0.1:${watched.replica.port}` });
  await look.connect();
  expect((await look.keys('*work:*')).length).toBeGreaterThan(0);
  look.destroy();
}, 120_000);
