import { describe, expect, test } from 'vitest';
import { type RunningService, startService } from '../integration/service/running-service.ts';
import { createLogLines } from '../support/log-lines.ts';
import { AWAY, CONNECTED, useRedisOfEachTest } from './redis-fixture.ts';

/** The records of requests of several replicas in one Redis. */

const SECRET = 'the secret of the replicas';
const TIMEOUT_MS = 120_000;

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

describe('records in a Redis', () => {
  const redis = useRedisOfEachTest();

  test(
    'are found at another replica, each once, by ID and in the list, and lapse',
    async () => {
      await using two = await startTwo({ sharedUrl: redis.url });
      const ids = Array.from({ length: 30 }, (_, index) => `request-${index}`);
      await Promise.all(
        ids.map((id, index) => {
          const { post } = index % 2 === 0 ? two.one : two.other;
          const message = index % 10 === 9 ? '0x00' : two.one.devnet.emitMessages(1)[0];
          return post({ message }, undefined, { 'x-request-id': id });
        }),
      );
      for (const [index, id] of ids.entries()) {
        const { get } = index % 2 === 0 ? two.other : two.one;
        const outcome = index % 10 === 9 ? 'invalid_request' : 'signed';
        const find = async () => (await get(`/v1/requests/${id}`)).body;
        await expect.poll(find, { timeout: 10_000 }).toMatchObject({ id, outcome });
      }
      for (const { get } of [two.one, two.other]) {
        const { requests } = (await get('/v1/requests?limit=2000')).body as { requests: { id: string }[] };
        expect(requests.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
      }
      for (const list of ['signed', 'failed']) {
        const [key = ''] = await redis.inspector.keys(`*requests:${list}`);
        expect(await redis.inspector.pTTL(key)).toBeGreaterThan(0);
      }
    },
    TIMEOUT_MS,
  );

  test(
    'that is away harm no request, and each replica has its own',
    async () => {
      await using two = await startTwo({ sharedUrl: redis.url });
      await redis.process.kill();
      await two.log.until(AWAY, 2);
      for (let index = 0; index < 5; index += 1) expect(await sign(two.one, `alone-${index}`)).toBe(201);
      expect((await two.one.get('/v1/requests/alone-3')).status).toBe(200);
      expect((await two.one.get('/v1/requests')).body['requests']).toHaveLength(5);
      expect((await two.other.get('/v1/requests/alone-3')).status).toBe(404);
    },
    TIMEOUT_MS,
  );

  test(
    'are none unless a replica has written them',
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
