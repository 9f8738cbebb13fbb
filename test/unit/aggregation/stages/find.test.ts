import { expect, test } from 'vitest';
import { AggregatorError } from '../../../../src/aggregation/aggregator-error.ts';
import type { AggregationRequest } from '../../../../src/aggregation/request/aggregation-request.ts';
import { find } from '../../../../src/aggregation/stages/find.ts';
import type { TxID } from '../../../../src/warp/ids.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';
import { CHAIN, FOUND, MESSAGE, NO_POLICY, SUBNET, TX } from '../aggregator-fixture.ts';
import { askedCall, createStageMetrics, RESULT, wait } from './stage-fixture.ts';

const NOTHING = { release: () => undefined, [Symbol.dispose]: () => undefined };
const UNKNOWN = new AggregatorError('unknown_transaction', 'not accepted', { retryAfterMs: 2_000 });

function create(ofTransaction: () => Promise<typeof FOUND> = async () => FOUND) {
  const clock = new FakeClock();
  const passed: AggregationRequest[] = [];
  const lookedUp: string[] = [];
  const stage = find({
    l1Messages: { ofTransaction, ofJustification: async () => FOUND },
    admission: { awaitTransaction: () => NOTHING },
    lookups: {
      run(key, _, work, signal) {
        lookedUp.push(key);
        return work(signal);
      },
    },
    penalties: { requireLookups: () => undefined },
    subnets: NO_POLICY,
    clock,
    metrics: createStageMetrics().metrics,
  });
  const handler = stage(async ({ request }) => {
    passed.push(request);
    return RESULT;
  });
  return { clock, handler, passed, lookedUp };
}

test('passes on a message as it is', async () => {
  const { handler, passed, lookedUp } = create();
  const request = { subject: { kind: 'message', message: MESSAGE, justification: new Uint8Array() } } as const;
  await handler(askedCall(request));
  expect([passed[0], lookedUp]).toEqual([request, []]);
});

test.each([
  ['transaction', { kind: 'transaction', txID: TX }],
  ['justification', { kind: 'justification', justification: Uint8Array.of(1) }],
] as const)('turns a %s into its message, with the chain that will verify it', async (kind, subject) => {
  const { handler, passed, lookedUp } = create();
  await handler(askedCall({ subject, quorumNum: 80n }));
  const { message, justification } = FOUND;
  const origin = { kind, managerChainID: CHAIN, signingSubnetID: SUBNET };
  expect(passed).toEqual([{ subject: { kind: 'message', message, justification, origin }, quorumNum: 80n }]);
  expect(lookedUp).toHaveLength(1);
});

test('takes the message that a wait found, without another lookup', async () => {
  const { clock, handler, passed, lookedUp } = create(async () => {
    if (clock.monotonicMs() < 1_000) throw UNKNOWN;
    return FOUND;
  });
  const call = { ...askedCall({ subject: { kind: 'transaction', txID: TX } }), wait: wait(5_000) };
  const result = handler(call);
  await clock.advance(1_100);
  await result;
  expect([passed.length, lookedUp]).toEqual([1, []]);
  expect(call.wait.spentMs).toBe(1_000);
});

test('looks up eight transactions of all waits at a time, and four of one client', async () => {
  const open: (() => void)[] = [];
  const { handler } = create(async () => {
    await new Promise<void>((resolve) => open.push(resolve));
    return FOUND;
  });
  const start = (client: string, count: number): void => {
    for (let number = 0; number < count; number += 1) {
      const subject = { kind: 'transaction', txID: `${TX}${client}${number}` as TxID } as const;
      void handler({ ...askedCall({ subject }, { client }), wait: wait(60_000) });
    }
  };
  start('a', 20);
  await settle();
  expect(open).toHaveLength(4);
  for (const client of ['b', 'c', 'd', 'e', 'f', 'g']) start(client, 20);
  await settle();
  expect(open.length).toBeLessThanOrEqual(8);
  for (let count = 0; count < 140; count += 1) {
    open[count]?.();
    await settle();
    expect(open.length - count - 1).toBeLessThanOrEqual(8);
  }
  expect(open).toHaveLength(140);
});

test('refuses settings that make no sense before it looks anything up', async () => {
  const { handler, lookedUp } = create();
  const request = { subject: { kind: 'transaction', txID: TX }, quorumNum: 101n } as const;
  await expect(handler(askedCall(request))).rejects.toMatchObject({ code: 'invalid_request', field: 'quorumNum' });
  expect(lookedUp).toEqual([]);
});
