import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type {
  AggregationEvent,
  AggregationEventData,
  ValidatorRecord,
} from '../../../src/api/aggregation/progress-records.ts';
import { setBehaviour } from '../../devnet/validator-faults.ts';
import { type RunningService, startService } from './running-service.ts';

/** Whatever the validators do, a test's request settles by the service's own deadlines, which are shorter. */
const TIMEOUT_MS = 30_000;
const VALIDATORS = 12;
const POST_PATH = '/v1/signatureAggregator/fuji/aggregateSignatures';
const EVENTS = { accept: 'text/event-stream' };

type Resolved = AggregationEventData['resolved'];

let service: RunningService;
beforeAll(async () => {
  service = await startService(VALIDATORS, {
    settings: { aggregation: { requestTimeoutMs: 3_000 }, internals: { aggregation: { peerTimeoutMs: 1_000 } } },
  });
}, TIMEOUT_MS);
afterAll(async () => {
  await service[Symbol.asyncDispose]();
});

const requests = () => service.metric('signature_aggregator_signature_requests_total');
const newMessage = () => service.devnet.emitMessages(1)[0] as string;

async function stream(path: string, body?: object): Promise<AggregationEvent[]> {
  const post = {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { ...EVENTS, 'content-type': 'application/json' },
  };
  const response = await fetch(`${service.app.url}${path}`, body === undefined ? { headers: EVENTS } : post);
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream']);
  return [...(await response.text()).matchAll(/^event: (\w+)\ndata: (.*)$/gm)].map(
    ([, event, data]) => ({ event, data: JSON.parse(data as string) }) as AggregationEvent,
  );
}

/** What a client knows in the end that follows the events. */
function follow(events: readonly AggregationEvent[]): Resolved {
  const [first] = events;
  if (first?.event !== 'resolved') throw new Error(`the first event is ${first?.event}`);
  let view = first.data;
  for (const told of events) {
    if (told.event === 'resolved') view = told.data;
    if (told.event === 'progress') view = { ...view, ...told.data };
    if (told.event === 'asked') {
      for (const index of told.data.validators)
        view.validators[index] = { ...view.validators[index]!, status: 'asked' };
    }
    if (told.event !== 'answer') continue;
    for (const { index, outcome: status, weight: _, ...why } of told.data.answers) {
      view.validators[index] = { ...view.validators[index]!, status, ...why };
    }
  }
  return view;
}

function weightOf({ validators }: Resolved, status: ValidatorRecord['status']): bigint {
  return validators.reduce((sum, each) => (each.status === status ? sum + BigInt(each.weight) : sum), 0n);
}

describe('streams', { timeout: TIMEOUT_MS }, () => {
  test('of messages and of transactions report each validator, and end with the signed message', async () => {
    const { path = '' } = service.devnet.examples('fuji').find(({ method }) => method === 'GET') ?? {};
    const streams = [
      await stream(POST_PATH, { message: newMessage(), quorumPercentage: 60, quorumPercentageBuffer: 20 }),
      await stream(path),
    ];
    for (const events of streams) {
      const last = events.at(-1);
      if (last?.event !== 'result') throw new Error(`the last event is ${JSON.stringify(last)}`);
      const view = follow(events);
      expect(weightOf(view, 'signed')).toBe(BigInt(last.data.signedWeight));
      expect(view).toMatchObject({
        network: 'local',
        signedWeight: last.data.signedWeight,
        totalWeight: last.data.totalWeight,
        signingSubnetId: last.data.signingSubnetId,
        pChainHeight: last.data.pChainHeight,
      });
      expect(BigInt(view.signedWeight) >= BigInt(view.targetWeight)).toBe(true);
      const signers = view.validators.filter(({ status }) => status === 'signed').map(({ nodeIds }) => nodeIds[0]);
      expect(signers).toEqual(last.data.signers);
      const answer = { status: 201, headers: new Headers(), body: last.data };
      const { signingSubnetId: subnetID, pChainHeight: height } = last.data;
      const quorum = view.quorumPercentage + view.quorumPercentageBuffer;
      expect(await service.verify(answer, { subnetID, height, quorum })).toMatchObject({ kind: 'valid' });
    }
  });

  test('of one message share a collection and its result', async () => {
    const message = newMessage();
    const before = await requests();
    const all = await Promise.all(
      Array.from({ length: 64 }, () => stream(POST_PATH, { message, quorumPercentage: 100 })),
    );
    expect((await requests()) - before).toBe(VALIDATORS);
    const ends = new Set(all.map((events) => JSON.stringify(events.at(-1))));
    expect([...ends]).toEqual([expect.stringMatching(/^\{"event":"result"/)]);
    for (const events of all.filter(({ length }) => length > 1)) expect(weightOf(follow(events), 'asked')).toBe(0n);
  });

  test('name the validators that kept the quorum from being reached', async () => {
    const silent = [0, 1, 2, 3, 4, 5].map((index) => service.devnet.validator(index));
    for (const validator of silent) setBehaviour(validator, { kind: 'silent' });
    const events = await stream(POST_PATH, { message: newMessage() });
    for (const validator of silent) setBehaviour(validator, { kind: 'normal' });
    const last = events.at(-1);
    expect(last).toMatchObject({ event: 'error', data: { statusCode: 500, code: 'insufficient_weight' } });
    const view = follow(events);
    const details = last?.event === 'error' ? last.data.details : undefined;
    expect(String(weightOf(view, 'signed'))).toBe(details?.outcomes.signed.weight);
    expect(String(weightOf(view, 'timed_out') + weightOf(view, 'asked'))).toBe(details?.outcomes.timed_out.weight);
    expect(view.quorumWeight).toBe(details?.weightNeeded);
  });

  test('end the collection when the only client leaves', async () => {
    const silent = Array.from({ length: VALIDATORS }, (_, index) => service.devnet.validator(index));
    for (const validator of silent) setBehaviour(validator, { kind: 'silent' });
    const body = JSON.stringify({ message: newMessage() });
    const socket = connect(Number(new URL(service.app.url).port), '127.0.0.1');
    const head = `POST ${POST_PATH} HTTP/1.1\r\nhost: x\r\naccept: text/event-stream\r\ncontent-type: application/json`;
    socket.write(`${head}\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
    await once(socket, 'data');
    socket.destroy();
    const aborted = 'signature_aggregator_aggregation_duration_seconds_count{outcome="aborted"}';
    while ((await service.metric(aborted).catch(() => 0)) === 0) await new Promise(setImmediate);
    expect(await service.metric('signature_aggregator_aggregations_in_flight')).toBe(0);
    for (const validator of silent) setBehaviour(validator, { kind: 'normal' });
  });
});
