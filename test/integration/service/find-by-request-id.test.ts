import pLimit from 'p-limit';
import { expect, test } from 'vitest';
import type { Behaviour } from '../../devnet/behaviour.ts';
import { setBehaviour } from '../../devnet/validator-faults.ts';
import { createLogLines } from '../../support/log-lines.ts';
import { startService } from './running-service.ts';

const REQUESTS = 80;
const SOUGHT = 'ticket-4711/attempt-1';
const KEY = 'a key that must not be logged';
const TIMEOUT_MS = 60_000;

test(
  'a failed aggregation among many requests is found by its ID',
  async () => {
    // Half of the validators refuse, each with another text.
    const refusing = [0, 1, 2, 3].map((index): [number, Behaviour] => [
      index,
      { kind: 'refusing', code: 100 + index, message: `out of office ${index}` },
    ]);
    const log = createLogLines();
    await using service = await startService(8, { settings: { logger: log.logger, access: { unitsPerMinute: 0 } } });
    const { devnet } = service;
    const good = devnet.emitMessages(20);
    const failing = devnet.emitMessages(1)[0] as string;
    for (const message of good) expect((await service.post({ message })).status).toBe(201);
    for (const [index, behaviour] of refusing) setBehaviour(devnet.validator(index), behaviour);

    const headers = (id: string) => ({ 'x-request-id': id, 'x-service-api-key': KEY });
    const sendOther = (index: number) => {
      const message = good[index % good.length] as string;
      const id = `other-${index}`;
      switch (index % 4) {
        case 0:
          return service.post({ message: message.slice(0, 20) }, undefined, headers(id));
        case 1:
          return service.post({ message }, '/v1/signatureAggregator/nowhere/aggregateSignatures', headers(id));
        default:
          return service.post({ message }, undefined, headers(id));
      }
    };
    const atOnce = pLimit(50);
    const answers = await Promise.all(
      Array.from({ length: REQUESTS }, (_, index) =>
        atOnce(() =>
          index === REQUESTS / 2 ? service.post({ message: failing }, undefined, headers(SOUGHT)) : sendOther(index),
        ),
      ),
    );
    const answer = answers[REQUESTS / 2];
    expect(answer?.status).toBe(500);
    expect(answer?.headers.get('x-request-id')).toBe(SOUGHT);
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(REQUESTS / 2);
    await log.until('"msg":"request"', REQUESTS + good.length);

    const text = log.lines.join('');
    const lines = log.lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    const found = lines.filter(({ requestId }) => requestId === SOUGHT);
    expect(found.map(({ msg }) => msg)).toEqual(['aggregation failed', 'request']);
    const access = found.find(({ msg }) => msg === 'request');
    expect(access).toMatchObject({ method: 'POST', status: 500, code: 'insufficient_weight', units: 10 });
    const failure = found.find(({ msg }) => msg === 'aggregation failed');
    expect(failure).toMatchObject({
      network: 'fuji',
      code: 'insufficient_weight',
      reason: answer?.body['message'],
      messageId: expect.any(String),
      sourceChainId: devnet.subnets.primary.cChainID,
      ...(answer?.body['details'] as object),
    });
    // Each of the others has its own line, and no line has a key or a payload.
    const ids = lines.filter(({ msg }) => msg === 'request').map(({ requestId }) => requestId);
    expect(new Set(ids).size).toBe(REQUESTS + good.length);
    expect(text).not.toContain(KEY);
    for (const message of [...good, failing]) expect(text).not.toContain(message.slice(-40));
  },
  TIMEOUT_MS,
);
