import pLimit from 'p-limit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Devnet, startDevnet } from '../../src/devnet/devnet.ts';
import { sleep, systemClock } from '../../src/lib/concurrency/clock.ts';
import { createLogger } from '../../src/telemetry/logger.ts';
import { type RunningService, startService } from '../integration/service/running-service.ts';
import { type ServiceChild, startServiceChild } from '../integration/service/service-child.ts';
import { createLogLines } from '../support/log-lines.ts';
import { recordFigure } from './figures.ts';
import { AWAY, CONNECTED, useRedis, useRedisOfEachTest } from './redis-fixture.ts';
import { startRedisCluster, startRedisWithSentinel } from './redis-topologies.ts';

/** The records of requests of several replicas in one Redis. */

const SECRET = 'the secret of the replicas';
const POST_PATH = '/v1/signatureAggregator/fuji/aggregateSignatures';
const TIMEOUT_MS = 120_000;
const IN_TIME_MS = 90;

describe('three replicas, each a process, with one Redis', () => {
  const redis = useRedis();
  const opened = new AsyncDisposableStack();
  let devnet: Devnet;
  let replicas: ServiceChild[];
  beforeAll(async () => {
    devnet = opened.use(await startDevnet({ validators: 5, clock: systemClock, logger: createLogger('silent') }));
    replicas = await Promise.all([0, 1, 2].map(startReplica));
  }, TIMEOUT_MS);
  afterAll(() => opened.disposeAsync());

  async function startReplica(): Promise<ServiceChild> {
    const replica = opened.use(
      await startServiceChild({
        networks: { local: { aliases: ['fuji'], pChainApi: [{ baseUrl: devnet.apiUrl }] } },
        server: { port: 0 },
        bls: { backend: 'native' },
        store: { sharedUrl: redis.url, sharedSecret: SECRET },
      }),
    );
    await replica.log.line(CONNECTED);
    const deadline = AbortSignal.timeout(TIMEOUT_MS);
    while ((await replica.get('/health/ready')).status !== 200) deadline.throwIfAborted();
    return replica;
  }

  test(
    'of 200 requests by turns, each is found by its ID at another replica',
    async () => {
      let foundInTime = 0;
      const atOnce = pLimit(3);
      const send = async (message: string, index: number): Promise<void> => {
        const id = `request-${index}`;
        const [asked, other] = [replicas[index % 3], replicas[(index + 1) % 3]] as [ServiceChild, ServiceChild];
        const response = await fetch(`${await asked.url()}${POST_PATH}`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', 'x-request-id': id },
          body: JSON.stringify({ message: index % 10 === 9 ? message.slice(0, 20) : message }),
        });
        await response.arrayBuffer();
        // The time is what is measured; on a busy machine a record may come later.
        await sleep(systemClock, IN_TIME_MS);
        if ((await other.get(`/v1/requests/${id}`)).status === 200) foundInTime += 1;
        const find = async () => (await other.get(`/v1/requests/${id}`)).json();
        const outcome = index % 10 === 9 ? 'invalid_request' : 'signed';
        await expect.poll(find, { timeout: 10_000 }).toMatchObject({ id, status: response.status, outcome });
      };
      await Promise.all(devnet.emitMessages(200).map((message, index) => atOnce(() => send(message, index))));
      recordFigure(`records found at another replica ${IN_TIME_MS} ms after the end`, `${foundInTime} of 200`);

      for (const replica of replicas) {
        const { requests } = (await replica.get('/v1/requests?limit=2000')).json() as { requests: { id: string }[] };
        expect(new Set(requests.map(({ id }) => id)).size).toBe(200);
        expect(requests).toHaveLength(200);
      }
      for (const list of ['signed', 'failed']) {
        const [key = ''] = await redis.inspector.keys(`*requests:${list}`);
        expect(await redis.inspector.pTTL(key)).toBeGreaterThan(0);
      }
    },
    TIMEOUT_MS,
  );
});

async function startTwo(store: object) {
  const log = createLogLines();
  const settings = { store: { ...store, sharedSecret: SECRET }, bls: { backend: 'native' }, logger: log.logger };
  const one = await startService(5, { settings });
  const other = await one.another(settings);
  await log.until(CONNECTED, 2);
  return {
    ...{ one, other, log },
    async [Symbol.asyncDispose]() {
      await other[Symbol.asyncDispose]();
      await one[Symbol.asyncDispose]();
    },
  };
}

const sign = async ({ devnet, post }: RunningService, id: string) =>
  (await post({ message: devnet.emitMessages(1)[0] }, undefined, { 'x-request-id': id })).status;

test.each([
  [
    'a cluster',
    async () => {
      const cluster = await startRedisCluster();
      const [first, ...others] = cluster.nodes.map(({ port }) => `127.0.0.1:${port}`);
      return { redis: cluster, store: { sharedUrl: `redis://${first}`, sharedNodes: others } };
    },
  ],
  [
    'a master that a sentinel names',
    async () => {
      const watched = await startRedisWithSentinel('aggregator');
      const sentinel = `127.0.0.1:${watched.sentinel.port}`;
      return { redis: watched, store: { sharedUrl: `redis://${sentinel}`, sharedMaster: 'aggregator' } };
    },
  ],
])(
  'records are shared over %s',
  async (_, start) => {
    const { redis, store } = await start();
    await using _redis = redis;
    await using two = await startTwo(store);
    expect(await sign(two.one, 'here')).toBe(201);
    await expect.poll(async () => (await two.other.get('/v1/requests/here')).status).toBe(200);
    const { requests } = (await two.other.get('/v1/requests')).body;
    expect(requests).toMatchObject([{ id: 'here', outcome: 'signed' }]);
  },
  TIMEOUT_MS,
);

describe('a Redis that fails or lies', () => {
  const redis = useRedisOfEachTest();

  test(
    'harms no request, and each replica has its own records',
    async () => {
      await using two = await startTwo({ sharedUrl: redis.url });
      await redis.process.kill();
      await two.log.until(AWAY, 2);
      for (let index = 0; index < 20; index += 1) expect(await sign(two.one, `alone-${index}`)).toBe(201);
      expect((await two.one.get('/v1/requests/alone-7')).status).toBe(200);
      expect((await two.one.get('/v1/requests')).body['requests']).toHaveLength(20);
      expect((await two.other.get('/v1/requests/alone-7')).status).toBe(404);
    },
    TIMEOUT_MS,
  );

  test(
    'shows nothing that no replica has written',
    async () => {
      await using two = await startTwo({ sharedUrl: redis.url });
      expect(await sign(two.one, 'true')).toBe(201);
      await expect.poll(async () => (await two.other.get('/v1/requests/true')).status).toBe(200);
      const [key = ''] = await redis.inspector.keys('*requests:signed');
      const { body } = await two.other.get('/v1/requests/true');
      const forged = JSON.stringify({ ...body, id: 'forged' });
      await redis.inspector.lPush(key, [forged, `0123456789abcdef${forged}`, 'x'.repeat(1_000_000), '']);
      expect((await two.other.get('/v1/requests/forged')).status).toBe(404);
      expect((await two.other.get('/v1/requests')).body['requests']).toHaveLength(1);
      await redis.inspector.set(key, 'a value of another type');
      expect((await two.other.get('/v1/requests')).body['requests']).toEqual([]);
      expect(await sign(two.one, 'again')).toBe(201);
      await expect.poll(async () => (await two.other.get('/v1/requests/again')).status).toBe(200);
    },
    TIMEOUT_MS,
  );
});
