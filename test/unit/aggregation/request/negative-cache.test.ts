import { describe, expect, test } from 'vitest';
import { AggregatorError, type AggregatorErrorCode } from '../../../../src/aggregation/aggregator-error.ts';
import { createNegativeCache, FAILURE_TTL_MS } from '../../../../src/aggregation/results/negative-cache.ts';
import { byOutcome } from '../../../../src/aggregation/validators/validator-outcome.ts';
import { type BlockchainID, P_CHAIN_ID } from '../../../../src/warp/ids.ts';
import { createUnsignedMessage } from '../../../../src/warp/unsigned-message.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { CHAIN, createHarness, NETWORK_ID, nodeOf, SUBNET, signers } from '../aggregator-fixture.ts';
import { ANSWER_MS } from '../collection/collection-fixture.ts';

type Harness = ReturnType<typeof createHarness>;

/** Longer than the P-Chain's proposed height counts as fresh. */
const HEIGHT_AGE_MS = 1_000;

function allRefuse({ source }: Harness, code: number): void {
  for (const { nodeID } of signers) {
    source.add(nodeID, () => ({ afterMs: ANSWER_MS, outcome: { kind: 'refused', code, text: 'no' } }));
  }
}

function allSign({ signs }: Harness): void {
  for (const number of signers.keys()) signs(number + 1);
}

const hits = async ({ registry }: Harness, code: AggregatorErrorCode): Promise<number> => {
  const metric = registry.getSingleMetric('signature_aggregator_remembered_failures_total');
  const { values = [] } = (await metric?.get()) ?? {};
  return values.find(({ labels }) => labels['code'] === code)?.value ?? 0;
};

describe('too little weight that signs', () => {
  test('is cached for a second without asking validators, and then tried again', async () => {
    const harness = createHarness();
    const { failure, source, clock, finish, start } = harness;
    allRefuse(harness, 1);
    const first = await failure();
    expect(first).toMatchObject({ code: 'insufficient_weight', retryAfterMs: FAILURE_TTL_MS });
    const asked = source.calls.length;
    allSign(harness);

    await clock.advance(500);
    const second = await failure();
    expect(second).toMatchObject({ code: first.code, message: first.message, report: first.report });
    await clock.advance(FAILURE_TTL_MS - 501);
    // The last moment: there is but a millisecond left, and that is no time to come back after.
    expect(await failure()).toMatchObject({ code: first.code, retryAfterMs: 1_000 });
    expect(source.calls).toHaveLength(asked);
    expect(await hits(harness, 'insufficient_weight')).toBe(2);

    await clock.advance(1);
    expect((await finish(start())).signedWeight).toBe(70n);
    expect(source.calls.length).toBeGreaterThan(asked);
  });
});

describe('too little weight connected', () => {
  test('is cached until enough is connected', async () => {
    const harness = createHarness();
    const { source, failure, finish, start, clock } = harness;
    source.disconnect(nodeOf(1));
    source.disconnect(nodeOf(2));
    expect(await failure()).toMatchObject({ code: 'not_connected', retryAfterMs: 5_000 });
    const asked = source.calls.length;
    await clock.advance(1_000);
    // 60 of the 67 that are needed.
    source.connect(nodeOf(2));
    const before = clock.monotonicMs();
    expect(await failure()).toMatchObject({ code: 'not_connected', retryAfterMs: 4_000 });
    expect(clock.monotonicMs()).toBe(before);
    expect(source.calls).toHaveLength(asked);
    source.connect(nodeOf(1));
    expect((await finish(start())).signedWeight).toBe(70n);
  });

  test('is reported for the same validator set at another height with that height', async () => {
    const harness = createHarness();
    const { api, clock, failure, source } = harness;
    for (const number of [1, 2]) source.disconnect(nodeOf(number));
    await failure();
    api.proposed = 99n;
    await clock.advance(HEIGHT_AGE_MS);
    expect((await failure()).report).toMatchObject({ pChainHeight: 99n });
    expect(await hits(harness, 'not_connected')).toBe(1);
  });

  test('is cached if connected validators accept no request, until more are connected', async () => {
    const harness = createHarness();
    const { source, failure, finish, start } = harness;
    for (const number of [1, 2]) {
      source.add(nodeOf(number), () => ({ afterMs: 0, outcome: { kind: 'unreachable', reason: 'queue full' } }));
    }
    source.disconnect(nodeOf(4));
    expect((await failure()).code).toBe('not_connected');
    const asked = source.calls.length;
    expect((await failure()).code).toBe('not_connected');
    expect(source.calls).toHaveLength(asked);
    allSign(harness);
    source.connect(nodeOf(4));
    expect((await finish(start())).signedWeight).toBe(70n);
  });
});

test('a message that is refused for good fails after one round of questions, and is not asked for again for minutes', async () => {
  const message = createUnsignedMessage(NETWORK_ID, P_CHAIN_ID, Uint8Array.of(1));
  const hopeless = { message, signingSubnetID: SUBNET };
  const harness = createHarness();
  const { failure, clock, source, api, finish, start } = harness;
  allRefuse(harness, 7);
  const error = await failure(hopeless);
  expect(error).toMatchObject({
    code: 'signing_refused',
    retryAfterMs: undefined,
    message: expect.stringContaining('do not try again'),
    report: { messageID: message.id, tally: { outcomes: { refused: { reasons: [{ code: 7, text: 'no' }] } } } },
  });
  expect(clock.monotonicMs()).toBeLessThan(100);
  const asked = source.calls.length;
  expect(asked).toBeLessThanOrEqual(signers.length);
  // A client that comes again and again, as the public SDK does for two minutes where it takes an error for a passing one.
  for (let attempt = 0; attempt < 14; attempt += 1) {
    await clock.advance(10_000);
    api.proposed += 1n;
    api.height += 1n;
    expect(await failure(hopeless)).toMatchObject({ code: 'signing_refused', message: error.message });
  }
  expect(source.calls).toHaveLength(asked);
  await clock.advance(5 * 60_000);
  allSign(harness);
  expect((await finish(start(hopeless))).signedWeight).toBe(70n);
});

describe('the memory', () => {
  const report = (textLength: number) => ({
    messageID: 'message',
    sourceChainID: CHAIN as BlockchainID,
    signingSubnetID: SUBNET,
    pChainHeight: 1n,
    tally: {
      neededWeight: 67n,
      signedWeight: 0n,
      totalWeight: 100n,
      missingOmitted: 0,
      outcomes: byOutcome(() => ({ weight: 0n, count: 0, reasons: [] })),
      missing: [
        { nodeID: nodeOf(1), weight: 1n, outcome: { kind: 'refused' as const, code: 1, text: 'x'.repeat(textLength) } },
      ],
    },
  });
  const noWeight = (): bigint => 0n;

  test('holds no more than so many bytes, of which texts are the most', () => {
    const memory = createNegativeCache(new FakeClock());
    const error = new AggregatorError('signing_refused', 'x', { report: report(2 ** 20) });
    for (let number = 0; number < 8; number += 1) memory.remember(`${number}`, error, 0n);
    expect(memory.find('0', noWeight)).toBeUndefined();
    expect(memory.find('7', noWeight)).toBeDefined();
  });

  test('does not keep a failure that says nothing of the validators', () => {
    const memory = createNegativeCache(new FakeClock());
    memory.remember('key', new AggregatorError('p_chain_unavailable', 'x'), 0n);
    expect(memory.find('key', noWeight)).toBeUndefined();
  });
});
