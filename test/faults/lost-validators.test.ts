import { expect, test } from 'vitest';
import { startService } from '../integration/service/running-service.ts';

const TIMEOUT_MS = 30_000;
const VALIDATORS = 10;

test('too little connected weight is 503 with Retry-After, until validators are back under other addresses', {
  timeout: TIMEOUT_MS,
}, async () => {
  await using service = await startService(VALIDATORS, { settings: { aggregation: { requestTimeoutMs: 4_000 } } });
  const { devnet, app } = service;
  const ask = () => service.post({ message: devnet.emitMessages(1)[0] });
  const stopped = Array.from({ length: VALIDATORS - 1 }, (_, index) => devnet.validator(index + 1));
  await Promise.all(stopped.map((validator) => validator.stop()));
  const answer = await ask();
  expect(answer).toMatchObject({ status: 503, body: { code: 'not_connected' } });
  expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
  expect((await service.get('/health/ready')).status).toBe(503);
  await Promise.all(stopped.map((validator) => validator.start()));
  await app.untilReady(AbortSignal.timeout(TIMEOUT_MS));
  expect((await ask()).status).toBe(201);
});
