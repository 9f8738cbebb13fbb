import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Behaviour } from '../devnet/behaviour.ts';
import { setBehaviour } from '../devnet/validator-faults.ts';
import { type Answer, type RunningService, startService } from '../integration/service/running-service.ts';

const TIMEOUT_MS = 30_000;
const VALIDATORS = 10;
const REQUESTS = 'signature_aggregator_signature_requests_total';

/** Short, so that what depends on them is quick; what they mean is tested under virtual time with the aggregator. */
const SETTINGS = {
  aggregation: { requestTimeoutMs: 4_000 },
  internals: { aggregation: { peerTimeoutMs: 500, hedgeAfterMs: 100, connectTimeoutMs: 1_000 } },
};

describe('a service whose validators misbehave', { timeout: TIMEOUT_MS }, () => {
  let service: RunningService;
  beforeAll(async () => {
    service = await startService(VALIDATORS, { settings: SETTINGS });
  }, TIMEOUT_MS);
  afterAll(() => service[Symbol.asyncDispose]());
  beforeEach(() => setAll({ kind: 'normal' }));

  const everyIndex = () => Array.from({ length: VALIDATORS }, (_, index) => index);

  function setAll(behaviour: Behaviour): void {
    for (const index of everyIndex()) setBehaviour(service.devnet.validator(index), behaviour);
  }

  const newMessage = () => service.devnet.emitMessages(1)[0];
  const aggregate = (quorumPercentage: number): Promise<Answer> =>
    service.post({ message: newMessage(), quorumPercentage });

  async function expectSigned(answer: Answer, quorum: number): Promise<void> {
    expect(answer.status, JSON.stringify(answer.body)).toBe(201);
    const { subnetID } = service.devnet.subnets.primary;
    expect(await service.verify(answer, { subnetID, quorum })).toMatchObject({ kind: 'valid' });
  }

  test('waits for validators whose chain lags behind', async () => {
    setAll({ kind: 'lagging', refusals: 1 });
    await expectSigned(await aggregate(100), 100);
  });

  test('fails a message that nobody will sign within a moment, for good, and after one round of questions', async () => {
    setAll({ kind: 'refusing', code: -2, message: 'no handler' });
    const message = newMessage();
    const before = await service.metric(REQUESTS);
    for (let attempt = 0; attempt < 14; attempt += 1) {
      const { status, body, headers } = await service.post({ message });
      expect(status, JSON.stringify(body)).toBe(400);
      expect(headers.get('retry-after')).toBeNull();
      expect(body['message']).toContain('no handler (code -2)');
    }
    expect((await service.metric(REQUESTS)) - before).toBeLessThanOrEqual(VALIDATORS);
  });

  test('answers at once again with the cached failure, and says when to come back', async () => {
    setAll({ kind: 'refusing', code: -4, message: 'throttled' });
    const message = newMessage();
    const first = await service.post({ message });
    expect(first).toMatchObject({ status: 500, body: { message: expect.stringContaining('throttled (code -4)') } });
    const asked = await service.metric(REQUESTS);
    const second = await service.post({ message });
    expect(second.body).toEqual(first.body);
    for (const { headers } of [first, second]) expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await service.metric(REQUESTS)).toBe(asked);
  });

  test('answers 503 with Retry-After while too little weight is connected, and recovers by itself', async () => {
    const stopped = everyIndex().slice(1);
    await Promise.all(stopped.map((index) => service.devnet.validator(index).stop()));
    const answer = await aggregate(67);
    expect(answer.status, JSON.stringify(answer.body)).toBe(503);
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(answer.body['code']).toBe('not_connected');
    expect((await service.get('/health/ready')).status).toBe(503);
    await Promise.all(stopped.map((index) => service.devnet.validator(index).restart()));
    await service.app.untilReady(AbortSignal.timeout(TIMEOUT_MS));
    await expectSigned(await aggregate(67), 67);
  });
});

test('a key that validators share signs through whichever node answers, and those without one count in the total only', {
  timeout: TIMEOUT_MS,
}, async () => {
  await using service = await startService(VALIDATORS, {
    settings: SETTINGS,
    faults: { sharedBlsKeys: [[1, 2]], keyless: [9], behaviours: new Map([[1, { kind: 'silent' }]]) },
  });
  const { subnetID } = service.devnet.subnets.primary;
  const [message] = service.devnet.emitMessages(1);
  const answer = await service.post({ message, quorumPercentage: 80 });
  expect(answer.status, JSON.stringify(answer.body)).toBe(201);
  expect(await service.verify(answer, { subnetID, quorum: 80 })).toMatchObject({ kind: 'valid' });
  const all = await service.post({ message, quorumPercentage: 100 });
  expect(all).toMatchObject({ status: 500, body: { details: { outcomes: { no_key: { count: 1 } } } } });
});
