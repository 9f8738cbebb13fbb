import { createCluster } from '@redis/client';
import { expect, test } from 'vitest';
import { loadBackend } from '../../src/bls/backends/load-backend.ts';
import { type Clock, systemClock } from '../../src/lib/concurrency/clock.ts';
import { bytesToHex } from '../../src/lib/encoding/bytes.ts';
import { type Answer, type RunningService, startService } from '../integration/service/running-service.ts';
import { createLogLines, type LogLines } from '../support/log-lines.ts';
import { AWAY, CONNECTED, connectTo, useRedis } from './redis-fixture.ts';
import { type RedisProcess, startRedis } from './redis-process.ts';
import { startRedisCluster, startRedisWithSentinel } from './redis-topologies.ts';

/** Whole services that share their work through real servers of Redis, which are ended, frozen, filled and taken over. */

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

type Replica = Pick<RunningService, 'get' | 'post'> & { readonly log: LogLines };
type Replicas = Awaited<ReturnType<typeof startReplicas>>;

async function startReplicas(count: number, store: object, clock: Clock = systemClock, network: object = {}) {
  await using opened = new AsyncDisposableStack();
  const logs = Array.from({ length: count }, createLogLines);
  const settings = (index: number) => ({
    network,
    access: { operateWithoutKey: true },
    store,
    bls: BLS,
    limits: { aggregation: AGGREGATION },
    clock,
    logger: logs[index]!.logger,
  });
  const first = opened.use(await startService(VALIDATORS, { settings: settings(0) }));
  const all: Replica[] = [{ ...first, log: logs[0]! }];
  for (let index = 1; index < count; index += 1) {
    all.push({ ...opened.use(await first.another(settings(index))), log: logs[index]! });
  }
  await Promise.all(logs.map((log) => log.until(CONNECTED)));
  const closing = opened.move();
  return {
    devnet: first.devnet,
    all,
    verify: (answer: Answer, quorum: number) =>
      first.verify(answer, { subnetID: first.devnet.subnets.primary.subnetID, quorum }, native),
    /** Requests to all validators so far. */
    questions: () =>
      first.devnet.nodeIDs.reduce((sum, _, index) => sum + first.devnet.validator(index).appRequestCount, 0),
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

const BATCH = 10;

/**
 * Requests new messages from every replica at once, each time starting at another one, and expects that each validator signs each
 * message once. Returns the answers.
 */
async function expectSharedWork({ devnet, all, questions }: Replicas, count: number): Promise<Answer[]> {
  const before = questions();
  const messages = devnet.emitMessages(count);
  const answers: Answer[] = [];
  for (let start = 0; start < count; start += BATCH) {
    const batch = messages
      .slice(start, start + BATCH)
      .flatMap((message, index) =>
        all.map((_, turn) => all[(index + turn) % all.length]!.post({ message, quorumPercentage: QUORUM })),
      );
    answers.push(...(await Promise.all(batch)));
  }
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
  expect(questions() - before).toBe(count * VALIDATORS);
  return answers;
}

async function signNew({ devnet }: Replicas, { post }: Replica, id: string): Promise<void> {
  const [message] = devnet.emitMessages(1);
  expect((await post({ message }, undefined, { 'x-request-id': id })).status).toBe(201);
}

const untilFound = ({ get }: Replica, id: string) =>
  expect.poll(async () => (await get(`/v1/requests/${id}`)).body, { timeout: 10_000 }).toMatchObject({ id });

const untilAll = ({ all }: Replicas, line: string, count: number) =>
  Promise.all(all.map(({ log }) => log.until(line, count)));

const redis = useRedis();

test.each([
  [3, { sharedSecret: SECRET }],
  [2, {}],
])('%i replicas, %j: of 100 messages sent to all, each validator signs each once', async (count, more) => {
  await using replicas = await startReplicas(count, { sharedUrl: redis.url, ...more }, PATIENT);
  const answers = await expectSharedWork(replicas, 100);
  const distinct = new Map(answers.map((answer) => [answer.body['signedMessage'], answer]));
  expect(distinct.size).toBe(100);
  for (const answer of distinct.values())
    expect(await replicas.verify(answer, QUORUM)).toMatchObject({ kind: 'valid' });
  // Every key expires.
  for (const key of await redis.inspector.keys('*')) expect(await redis.inspector.pTTL(key)).toBeGreaterThan(0);
});

test('three replicas that watch a chain: of its messages, each validator signs each once', async () => {
  const feed = { chains: [{ blockchainId: 'C', quorumPercentage: QUORUM }] };
  const store = { sharedUrl: redis.url, sharedSecret: SECRET };
  await using replicas = await startReplicas(3, store, PATIENT, { feed });
  await untilAll(replicas, 'the feed watches a chain', 1);
  const before = replicas.questions();
  const sent = Array.from({ length: 20 }, (_, index) => replicas.devnet.chains.C.emit(Buffer.from(`${index}`)).id);
  for (const { get } of replicas.all) {
    const signed = async () => {
      const { body } = await get('/v1/signatureAggregator/fuji/messages?status=signed');
      return (body['messages'] as { messageId: string }[]).map(({ messageId }) => messageId);
    };
    await expect.poll(signed, { timeout: 20_000 }).toEqual(expect.arrayContaining(sent));
  }
  expect(replicas.questions() - before).toBe(sent.length * VALIDATORS);
});

test('three replicas without a quorum: each asks the validators itself, and nothing of it is left in the store', async () => {
  await using replicas = await startReplicas(3, { sharedUrl: redis.url, sharedSecret: SECRET }, PATIENT);
  const message = bytesToHex(replicas.devnet.chains.C.prepare(Uint8Array.of(1)).bytes);
  const answers = await Promise.all(replicas.all.map(({ post }) => post({ message })));
  expect(new Set(answers.map(({ body }) => body['code']))).toEqual(new Set(['insufficient_weight']));
  expect(replicas.questions()).toBeGreaterThanOrEqual(3 * VALIDATORS);
  await expect.poll(async () => await redis.inspector.keys('*:work:*')).toEqual([]);
});

test('records of requests are found at each replica, by ID, by message and once in the list; without the store each has its own', async () => {
  await using own = await startRedis();
  await using replicas = await startReplicas(2, { sharedUrl: own.url, sharedSecret: SECRET });
  const [one, other] = replicas.all as [Replica, Replica];
  const idsAt = async ({ get }: Replica) =>
    ((await get('/v1/requests')).body['requests'] as { id: string }[]).map(({ id }) => id).toSorted();
  await signNew(replicas, one, 'a');
  await signNew(replicas, other, 'b');
  await one.post({ message: '0x00' }, undefined, { 'x-request-id': 'c' });
  for (const replica of replicas.all) {
    for (const id of ['a', 'b', 'c']) await untilFound(replica, id);
    expect(await idsAt(replica)).toEqual(['a', 'b', 'c']);
  }
  const { messageId } = (await one.get('/v1/requests/a')).body;
  expect((await other.get(`/v1/requests?messageId=${String(messageId)}`)).body['requests']).toMatchObject([
    { id: 'a', messageId },
  ]);
  // A value of another type is none, and is replaced.
  const look = await connectTo(own.url);
  const [key = ''] = await look.keys('*requests:signed');
  await look.set(key, 'a value of another type');
  look.destroy();
  expect(await idsAt(one)).toEqual(['a', 'c']);
  await signNew(replicas, one, 'd');
  await untilFound(other, 'd');

  await own.kill();
  await untilAll(replicas, AWAY, 1);
  await signNew(replicas, one, 'e');
  expect(await idsAt(one)).toEqual(['a', 'c', 'd', 'e']);
  expect(await idsAt(other)).toEqual(['b']);
});

/** Sends new messages to all replicas in turns while the store fails and is mended, and expects that no request fails. */
async function expectServedMeanwhile(
  replicas: Replicas,
  fail: () => Promise<unknown>,
  mend: () => Promise<unknown> = async () => undefined,
): Promise<void> {
  let [isOver, count] = [false, 0];
  const statuses = new Set<number>();
  const client = async (offset: number): Promise<void> => {
    for (let turn = offset; !isOver; turn += 1) {
      const [message] = replicas.devnet.emitMessages(1);
      statuses.add((await replicas.all[turn % replicas.all.length]!.post({ message })).status);
      count += 1;
    }
  };
  const running = [0, 1].map(client);
  const untilMore = async (): Promise<void> => {
    const target = count + 20;
    await expect.poll(() => count, { timeout: 30_000 }).toBeGreaterThanOrEqual(target);
  };
  await untilMore();
  await fail();
  await untilAll(replicas, AWAY, 1);
  await untilMore();
  await mend();
  await untilAll(replicas, CONNECTED, 2);
  await untilMore();
  isOver = true;
  await Promise.all(running);
  expect([...statuses]).toEqual([201]);
}

test.each<[string, fail: (redis: RedisProcess) => Promise<unknown>, mend: (redis: RedisProcess) => Promise<unknown>]>([
  ['stopped', (own) => own.kill(), (own) => own.restart()],
  ['frozen', (own) => own.freeze(), async (own) => own.thaw()],
  ['full', (own) => setMemory(own, '1'), (own) => setMemory(own, '0')],
])(
  'a store that is %s under load costs no request',
  async (_, fail, mend) => {
    await using own = await startRedis();
    await using replicas = await startReplicas(2, { sharedUrl: own.url, sharedSecret: SECRET });
    await expectServedMeanwhile(
      replicas,
      () => fail(own),
      () => mend(own),
    );
  },
  120_000,
);

async function setMemory({ url }: RedisProcess, bytes: string): Promise<void> {
  const client = await connectTo(url);
  await client.configSet('maxmemory', bytes);
  client.destroy();
}

test('a Redis Cluster: its keys are placed, and a node that is taken over costs no request', async () => {
  await using cluster = await startRedisCluster();
  const [first, ...others] = cluster.nodes.map(({ port }) => `127.0.0.1:${port}`);
  const store = { sharedUrl: `redis://${first}`, sharedNodes: others, sharedSecret: SECRET };
  await using replicas = await startReplicas(2, store);
  await expectSharedWork(replicas, 40);
  await signNew(replicas, replicas.all[0] as Replica, 'a');
  await untilFound(replicas.all[1] as Replica, 'a');
  await expectServedMeanwhile(replicas, () => cluster.nodes[0]!.kill());
  // They share again: also the keys of the node that is gone.
  await expectSharedWork(replicas, 20);
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
    sharedUrl: 'redis://127.0.0.1:1',
    sharedMaster: 'aggregator',
    sharedNodes: [`127.0.0.1:${watched.sentinel.port}`],
    sharedSecret: SECRET,
  };
  await using replicas = await startReplicas(2, store);
  await signNew(replicas, replicas.all[0] as Replica, 'a');
  await untilFound(replicas.all[1] as Replica, 'a');
  await expectServedMeanwhile(replicas, () => watched.master.kill());
  const look = await connectTo(watched.replica.url);
  expect((await look.keys('*work:*')).length).toBeGreaterThan(0);
  look.destroy();
}, 120_000);
