import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Behaviour } from '../devnet/behaviour.ts';
import { setBehaviour } from '../devnet/validator-faults.ts';
import { type Answer, type RunningService, startService } from '../integration/service/running-service.ts';

const TIMEOUT_MS = 30_000;
const VALIDATORS = 10;

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
  afterAll(async () => {
    await service[Symbol.asyncDispose]();
  });
  beforeEach(() => setBehaviours({ kind: 'normal' }, everyIndex()));

  const everyIndex = () => Array.from({ length: VALIDATORS }, (_, index) => index);

  function setBehaviours(behaviour: Behaviour, indices: readonly number[]): void {
    for (const index of indices) setBehaviour(service.devnet.validator(index), behaviour);
  }

  function aggregate(quorumPercentage: number): Promise<Answer> {
    return service.post({ message: service.devnet.emitMessages(1)[0], quorumPercentage });
  }

  async function expectSigned(answer: Answer, quorum: number): Promise<void> {
    expect(answer.status, JSON.stringify(answer.body)).toBe(201);
    const { subnetID } = service.devnet.subnets.primary;
    expect(await service.verify(answer, { subnetID, quorum })).toMatchObject({ kind: 'valid' });
  }

  function outcome(answer: Answer, name: string): { weight: string; count: number } {
    const { outcomes } = answer.body['details'] as { outcomes: Record<string, { weight: string; count: number }> };
    return outcomes[name] ?? { weight: '0', count: 0 };
  }

  function reasonsOf(answer: Answer, name: string): string[] {
    const { outcomes } = answer.body['details'] as { outcomes: Record<string, { reasons: { reason: string }[] }> };
    return outcomes[name]?.reasons.map(({ reason }) => reason) ?? [];
  }

  test.each<Behaviour>([
    { kind: 'silent' },
    { kind: 'refusing' },
    { kind: 'wrong signature' },
    { kind: 'garbage signature' },
    { kind: 'garbage signature', length: 95 },
    { kind: 'slow', delayMs: 2_000 },
  ])('reaches half of the weight in spite of two that are $kind', async (behaviour) => {
    setBehaviours(behaviour, [0, 1]);
    await expectSigned(await aggregate(50), 50);
  });

  test('waits for validators whose chain lags behind', async () => {
    setBehaviours({ kind: 'lagging', refusals: 1 }, everyIndex());
    await expectSigned(await aggregate(100), 100);
  });

  test('names those with a wrong signature where all are needed', async () => {
    setBehaviours({ kind: 'wrong signature' }, [3, 7]);
    const answer = await aggregate(100);
    expect(answer.status).toBe(500);
    expect(outcome(answer, 'invalid_signature').count).toBe(2);
  });

  test('counts the silent, who answer pings all the same', async () => {
    setBehaviours({ kind: 'silent' }, [0, 5]);
    const answer = await aggregate(100);
    expect(answer.status).toBe(500);
    // The first one that is out of time decides; the other one may still be waited for then.
    expect(reasonsOf(answer, 'timed_out')).toContain('request_dropped');
    expect(outcome(answer, 'timed_out').count).toBe(2);
    expect(answer.body['message']).toContain('no answer from');
  });

  test('reports the code and text of those that refuse', async () => {
    setBehaviours({ kind: 'refusing', code: -4, message: 'throttled' }, everyIndex());
    const answer = await aggregate(67);
    expect(answer.status).toBe(500);
    expect(answer.body['message']).toContain('throttled (code -4)');
  });

  test('fails a message that nobody will sign within a moment, for good, and after one round of questions', async () => {
    setBehaviours({ kind: 'refusing', code: -2, message: 'no handler' }, everyIndex());
    const message = service.devnet.emitMessages(1)[0];
    const requests = 'signature_aggregator_signature_requests_total';
    const before = await service.metric(requests);
    const startMs = performance.now();
    const answers: Answer[] = [];
    for (let attempt = 0; attempt < 14; attempt += 1) answers.push(await service.post({ message }));
    expect(performance.now() - startMs).toBeLessThan(3_000);
    for (const { status, body, headers } of answers) {
      expect(status, JSON.stringify(body)).toBe(400);
      expect(headers.get('retry-after')).toBeNull();
      expect(body['message']).toContain('no handler (code -2)');
    }
    expect((await service.metric(requests)) - before).toBeLessThanOrEqual(VALIDATORS);
  });

  test('answers at once again with the cached failure, and says when to come back', async () => {
    setBehaviours({ kind: 'refusing', code: -4, message: 'throttled' }, everyIndex());
    const message = service.devnet.emitMessages(1)[0];
    const first = await service.post({ message });
    const requests = 'signature_aggregator_signature_requests_total';
    const asked = await service.metric(requests);
    const second = await service.post({ message });
    expect(second.body).toEqual(first.body);
    for (const { headers } of [first, second]) expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await service.metric(requests)).toBe(asked);
  });

  test('gives what reaches the quorum at the deadline where the buffer cannot be had', async () => {
    setBehaviours({ kind: 'silent' }, [0]);
    const message = service.devnet.emitMessages(1)[0];
    await expectSigned(await service.post({ message, quorumPercentage: 50, quorumPercentageBuffer: 50 }), 50);
  });

  test('answers 503 with Retry-After while too little weight is connected, and recovers by itself', async () => {
    const stopped = everyIndex().slice(1);
    await Promise.all(stopped.map((index) => service.devnet.validator(index).stop()));
    const answer = await aggregate(67);
    expect(answer.status, JSON.stringify(answer.body)).toBe(503);
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(answer.body['message']).toContain('too little weight is connected');
    expect((await service.get('/health/ready')).status).toBe(503);
    await Promise.all(stopped.map((index) => service.devnet.validator(index).restart()));
    await service.app.untilReady(AbortSignal.timeout(TIMEOUT_MS));
    await expectSigned(await aggregate(67), 67);
  });
});

describe('a set in which validators share a key or have none', { timeout: TIMEOUT_MS }, () => {
  test('signs for the shared key through whichever node answers, and counts the keyless in the total only', async () => {
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
    expect(all.status).toBe(500);
    expect(all.body).toMatchObject({ details: { outcomes: { no_key: { count: 1 } } } });
  });
});
