import { describe, expect, test } from 'vitest';
import type {
  AggregatorError,
  AggregatorErrorCode,
  RequestField,
} from '../../../../src/aggregation/aggregator-error.ts';
import type { ProgressEvent } from '../../../../src/aggregation/collection/progress.ts';
import { ApiError } from '../../../../src/pchain/rpc/api-error.ts';
import { createMemorySignatureStore } from '../../../../src/store/local/signature-store.ts';
import type { Validator } from '../../../../src/validators/validator.ts';
import { INACTIVE_NODE_ID, P_CHAIN_ID, type SubnetID } from '../../../../src/warp/ids.ts';
import { encodeSignatureRequest } from '../../../../src/warp/signature-request.ts';
import { parseSignedMessage } from '../../../../src/warp/signed-message.ts';
import { createUnsignedMessage } from '../../../../src/warp/unsigned-message.ts';
import {
  CHAIN,
  createHarness,
  EMPTY_SUBNET,
  FOUND,
  LIMITS,
  MESSAGE,
  messageOf,
  NETWORK_ID,
  nodeOf,
  OTHER_SUBNET,
  type RequestOptions,
  SUBNET,
  TX,
  UNKNOWN_CHAIN,
  UNKNOWN_SUBNET,
  validatorSet,
} from '../aggregator-fixture.ts';
import { drain, NOTHING_LEFT, SteppedClock } from '../collection/collection-fixture.ts';

test('the subnet of the source chain signs at the proposed height; its size is reported before a validator is asked', async () => {
  const { start, finish, source, leftovers } = createHarness();
  const told: [validators: number, asked: number][] = [];
  const onSigners = async (validators: number) => void told.push([validators, source.calls.length]);
  const result = await finish(start({}, { onSigners }));
  expect(result).toMatchObject({ signingSubnetID: SUBNET, pChainHeight: 98n, signedWeight: 70n, totalWeight: 100n });
  expect(parseSignedMessage(result.signedMessage).unsignedMessage.bytes).toEqual(MESSAGE.bytes);
  expect(told).toEqual([[4, 0]]);
  expect(leftovers()).toEqual(NOTHING_LEFT);
});

test('a request that is refused before the work costs none, and a cached result is not refused', async () => {
  const { start, finish, api, source } = createHarness();
  const onCacheMiss = () => Promise.reject(new Error('refused'));
  await expect(start({}, { onCacheMiss })).rejects.toThrow('refused');
  await drain();
  expect([api.calls, source.calls]).toEqual([[], []]);
  const result = await finish(start());
  expect(await start({}, { onCacheMiss })).toEqual(result);
});

test('the message of a transaction is found, and signed by the subnet of its manager chain', async () => {
  const { start, finish, source, l1Messages } = createHarness();
  const result = await finish(start({ subject: { kind: 'transaction', txID: TX } }));
  expect(result).toMatchObject({ signingSubnetID: SUBNET, pChainHeight: 98n });
  expect(l1Messages.asked).toEqual([TX]);
  const { message, justification } = FOUND;
  expect(source.calls[0]?.query).toEqual({
    sourceChainID: P_CHAIN_ID,
    message: message.bytes,
    justification,
    appBytes: encodeSignatureRequest({ message: message.bytes, justification }),
  });
});

test('the message of a justification is found, and signed by the given subnet at the given height', async () => {
  const { start, finish } = createHarness();
  const subject = { kind: 'justification', justification: Uint8Array.of(3) } as const;
  const given = { signingSubnetID: OTHER_SUBNET, pChainHeight: 9n };
  expect(await finish(start({ subject, ...given }))).toMatchObject(given);
});

test.each<[RequestOptions, string]>([
  [{ quorumNum: 101n }, 'quorumNum'],
  [{ quorumNum: -1n }, 'quorumNum'],
  [{ quorumBuffer: -1n }, 'quorumBuffer'],
  [{ quorumBuffer: 34n }, 'quorumBuffer'],
  [{ pChainHeight: -1n }, 'pChainHeight'],
])('settings that make no sense are refused before anybody is asked (%#)', async (more, field) => {
  const { failure, api, source, l1Messages } = createHarness();
  const subject = { kind: 'transaction', txID: TX } as const;
  expect(await failure({ ...more, subject })).toMatchObject({ code: 'invalid_request', field });
  expect([api.calls, source.calls, l1Messages.asked]).toEqual([[], [], []]);
});

describe('equal requests', () => {
  test('at several heights with the same set are one, each with its own height', async () => {
    const { start, finish, source } = createHarness();
    // Knows the set, and one signature.
    await finish(start({ quorumNum: 10n }));
    const shown = new Set<bigint>();
    const onProgress = (event: ProgressEvent) => event.kind === 'state' && shown.add(event.state.pChainHeight);
    const results = [98n, 99n].map((pChainHeight) => start({ pChainHeight }, { onProgress }));
    expect((await finish(Promise.all(results))).map(({ pChainHeight }) => pChainHeight)).toEqual([98n, 99n]);
    expect([...shown]).toEqual([98n, 99n]);
    expect(await finish(start({ pChainHeight: 97n }))).toMatchObject({ pChainHeight: 97n });
    expect(source.calls).toHaveLength(2);
  });

  test('are one beside a collection that all have left and that has not ended', async () => {
    const clock = new SteppedClock();
    const store = createMemorySignatureStore({ clock, maxSignatures: 1_000, maxPerSigner: 100 });
    const isRead = Promise.withResolvers<void>();
    const waits = [isRead.promise];
    const getMany: typeof store.getMany = async (...of) => {
      await waits.pop();
      return store.getMany(...of);
    };
    const { start, finish, silence } = createHarness({}, { clock, store: { ...store, getMany } });
    silence(1);
    const leaver = new AbortController();
    const left = start({}, { signal: leaver.signal });
    await drain();
    leaver.abort(new Error('gone'));
    await expect(left).rejects.toThrow('gone');
    const shown: ProgressEvent['kind'][] = [];
    const first = start();
    await drain();
    // The one that was left ends now.
    isRead.resolve();
    await drain();
    const second = start({}, { onProgress: ({ kind }) => shown.push(kind) });
    await drain();
    expect(shown).toEqual(['state']);
    await expect(finish(Promise.all([first, second]))).rejects.toMatchObject({ code: 'insufficient_weight' });
  });

  test('are tried again where the buffer was missed', async () => {
    const { clock, start, finish, signs, silence } = createHarness();
    silence(4);
    const first = await finish(start({ quorumBuffer: 33n }));
    expect(first.signedWeight).toBe(90n);
    signs(4, 0);
    // The buffer does not wait for a validator that timed out recently, until its next trial.
    expect((await finish(start({ quorumBuffer: 33n }))).signedWeight).toBe(90n);
    await clock.advance(2_000);
    expect((await finish(start({ quorumBuffer: 33n }))).signedWeight).toBe(100n);
  });
});

describe('what fails', () => {
  async function expectFailure(
    code: AggregatorErrorCode,
    message: RegExp,
    more: RequestOptions,
    prepare: (harness: ReturnType<typeof createHarness>) => void = () => {},
  ): Promise<AggregatorError> {
    const harness = createHarness();
    prepare(harness);
    const error = await harness.failure(more);
    expect([error.code, error.message]).toEqual([code, expect.stringMatching(message)]);
    expect(harness.leftovers()).toEqual(NOTHING_LEFT);
    expect(await harness.registry.metrics()).toContain(
      `signature_aggregator_aggregation_duration_seconds_count{outcome="${code}"} 1`,
    );
    return error;
  }

  test('in the background is no failed request', async () => {
    const { start, registry } = createHarness();
    const message = createUnsignedMessage(5, CHAIN, Uint8Array.of(1));
    await expect(start({ message }, { isBackground: true })).rejects.toMatchObject({ code: 'wrong_network' });
    expect(await registry.metrics()).not.toContain('aggregation_duration_seconds_count{');
  });

  test('a message of another network, without a question to anybody', async () => {
    const { failure, api } = createHarness();
    const message = createUnsignedMessage(5, CHAIN, Uint8Array.of(1));
    expect(await failure({ message })).toMatchObject({ code: 'wrong_network', field: 'message' });
    expect(api.calls).toEqual([]);
  });

  test.each<[string, AggregatorErrorCode, RequestField, RequestOptions]>([
    ['an unknown source chain', 'unknown_source_chain', 'message', { message: messageOf(1, UNKNOWN_CHAIN) }],
    ['an unknown subnet', 'unknown_subnet', 'signingSubnetID', { signingSubnetID: UNKNOWN_SUBNET }],
    ['a subnet without validators', 'invalid_request', 'signingSubnetID', { signingSubnetID: EMPTY_SUBNET }],
    ["a height above the chain's", 'height_not_reached', 'pChainHeight', { pChainHeight: 101n }],
  ])('%s', async (_, code, field, more) => {
    expect((await expectFailure(code, /./, more)).field).toBe(field);
  });

  test('the ID of a blockchain as a subnet, naming the subnet that validates it', async () => {
    const signingSubnetID = CHAIN as string as SubnetID;
    await expectFailure('unknown_subnet', new RegExp(`is the ID of a blockchain, .* ${SUBNET} `), { signingSubnetID });
  });

  test.each<[string, AggregatorErrorCode, Partial<ReturnType<typeof createHarness>['api']>]>([
    ['an API node that lags', 'p_chain_unavailable', { height: 90n }],
    ['an API that is down', 'p_chain_unavailable', { failure: new ApiError('unavailable', 'no connection') }],
    ['an API that answers nonsense', 'p_chain_invalid', { failure: new ApiError('invalid_response', 'no JSON') }],
    ['an API that does not answer in time', 'p_chain_unavailable', { hangs: true }],
  ])('%s', async (_, code, state) => {
    await expectFailure(code, /./, {}, ({ api }) => void Object.assign(api, state));
  });

  test('too little weight that signs, with the inequality that clients look for, and who did what', async () => {
    const error = await expectFailure(
      'insufficient_weight',
      /^failed to collect a threshold of stake: .*: 67\*100 > 100\*60 \(no answer from 1\)$/,
      {},
      ({ silence }) => silence(1),
    );
    expect(error.report).toMatchObject({
      messageID: MESSAGE.id,
      sourceChainID: CHAIN,
      signingSubnetID: SUBNET,
      pChainHeight: 98n,
      tally: {
        neededWeight: 67n,
        signedWeight: 60n,
        outcomes: { timed_out: { weight: 40n, count: 1, reasons: [{ reason: 'no_answer' }] } },
        missing: [{ nodeID: nodeOf(1), weight: 40n, outcome: { kind: 'timed_out', reason: 'no_answer' } }],
        missingOmitted: 0,
      },
    });
    expect(error.retryAfterMs).toBe(1_000);
  });

  test('nodes of an L1 that live and are silent about its blockchain: they do not admit us, as far as one can tell', async () => {
    const silent = (harness: ReturnType<typeof createHarness>) =>
      harness.source.add(nodeOf(1), () => ({
        afterMs: LIMITS.peerTimeoutMs - 1,
        outcome: { kind: 'timed_out', reason: 'request_dropped' },
      }));
    const error = await expectFailure('insufficient_weight', / \(ignored by 1: .*validatorOnly, /, {}, silent);
    expect(error.report?.tally.outcomes).toMatchObject({
      timed_out: { weight: 40n, count: 1, reasons: [{ reason: 'request_dropped' }] },
    });
    // A chain of the primary network is open to all: there silence is just that.
    const message = createUnsignedMessage(NETWORK_ID, P_CHAIN_ID, Uint8Array.of(1));
    const asked = { message, signingSubnetID: SUBNET };
    await expectFailure('insufficient_weight', / \(no answer from 1\)$/, asked, silent);
  });

  test('a quorum of 0 without a signature: no inequality, which would be false', async () => {
    const expected = /signature weight is insufficient: nobody signed \(no answer from 4\)$/;
    await expectFailure('insufficient_weight', expected, { quorumNum: 0n }, ({ silence }) => silence(1, 2, 3, 4));
  });

  test('validators that cannot sign: a failure until they change, which names them and asks none', async () => {
    const harness = createHarness();
    const [first, ...others] = validatorSet(21n, 40n, 20n, 10n);
    const inactive = { nodeID: INACTIVE_NODE_ID, publicKey: undefined, weight: 20n };
    harness.api.sets.set(SUBNET, () => [{ ...(first as Validator), publicKey: undefined }, ...others, inactive]);
    harness.source.disconnect(nodeOf(4));
    const { code, message, retryAfterMs, report } = await harness.failure();
    expect([code, retryAfterMs]).toEqual(['quorum_unreachable', undefined]);
    expect(message).toBe(
      'failed to collect a threshold of stake: signature weight is insufficient: 67*111 > 100*0 (1 without a BLS key have 21, ' +
        'inactive L1 validators, without balance, have 20: the others have 70, the quorum needs 75); it stays out of reach until the ' +
        'validators change',
    );
    expect(report?.tally.outcomes.no_key).toEqual({
      weight: 41n,
      count: 2,
      reasons: [
        { reason: 'no_key', weight: 21n, count: 1 },
        { reason: 'inactive', weight: 20n, count: 1 },
      ],
    });
    expect(report?.tally.missing).toEqual([
      { nodeID: nodeOf(2), weight: 40n, outcome: { kind: 'not_asked' } },
      { nodeID: nodeOf(1), weight: 21n, outcome: { kind: 'no_key', reason: 'no_key' } },
      { nodeID: nodeOf(3), weight: 20n, outcome: { kind: 'not_asked' } },
      { nodeID: INACTIVE_NODE_ID, weight: 20n, outcome: { kind: 'no_key', reason: 'inactive' } },
      { nodeID: nodeOf(4), weight: 10n, outcome: { kind: 'unreachable', reason: 'no address known' } },
    ]);
    expect(harness.source.calls).toEqual([]);
    // As soon as they can sign, the same request is signed.
    harness.api.proposed = 99n;
    harness.api.sets.set(SUBNET, () => validatorSet(40n, 30n, 20n, 10n));
    harness.source.connect(nodeOf(4));
    await harness.clock.advance(2_000);
    expect((await harness.finish(harness.start())).signedWeight).toBe(70n);
  });

  test('a weight that cannot sign is no failure while the others reach the quorum', async () => {
    const { api, start, finish } = createHarness();
    const [, ...others] = validatorSet(40n, 30n, 20n, 20n);
    api.sets.set(SUBNET, () => [...others, { nodeID: INACTIVE_NODE_ID, publicKey: undefined, weight: 33n }]);
    expect((await finish(start())).signedWeight).toBe(70n);
  });

  test('too little weight connected, which may change', async () => {
    const error = await expectFailure(
      'not_connected',
      /needs 67 of 100, 60 can be reached, 40 cannot \(unreachable: no address known\)/,
      {},
      ({ source }) => source.disconnect(nodeOf(1)),
    );
    expect(error.report?.tally.outcomes.unreachable.weight).toBe(40n);
    expect(error.retryAfterMs).toBe(5_000);
  });
});

test('results are kept within their bytes', async () => {
  const { start, finish, registry } = createHarness({ resultCacheBytes: 2_048 });
  for (const number of [1, 2, 3, 3, 1]) await finish(start({ message: messageOf(number) }));
  // Only the last one was still there.
  expect(await registry.metrics()).toContain('signature_aggregator_result_cache_hits_total 1');
});

test("a caller's abort ends the queries and is one outcome, a bug is another, and nothing stays in flight", async () => {
  const { start, registry, source, finish } = createHarness();
  const caller = new AbortController();
  const aborted = start({}, { signal: caller.signal });
  await drain();
  caller.abort(new Error('gone'));
  await expect(aborted).rejects.toThrow('gone');
  await drain();
  expect(source.abortedCalls).toBe(2);
  source.add(nodeOf(1), () => {
    throw new TypeError('a bug');
  });
  await expect(finish(start())).rejects.toThrow('a bug');
  const metrics = await registry.metrics();
  for (const outcome of ['aborted', 'internal_error']) {
    expect(metrics).toContain(`signature_aggregator_aggregation_duration_seconds_count{outcome="${outcome}"}`);
  }
  expect(metrics).toContain('signature_aggregator_aggregations_in_flight 0');
});
