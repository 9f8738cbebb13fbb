import { Registry } from 'prom-client';
import { describe, expect, test } from 'vitest';
import { type AggregatorLimits, createAggregator } from '../../../src/aggregator/aggregate.ts';
import { type AggregationRequest, requestKey, signatureKey } from '../../../src/aggregator/aggregation-request.ts';
import { AggregatorError, type AggregatorErrorCode } from '../../../src/aggregator/aggregator-error.ts';
import { createAggregatorMetrics } from '../../../src/aggregator/aggregator-metrics.ts';
import { ApiError } from '../../../src/pchain/api-error.ts';
import { createSubnetDirectory } from '../../../src/pchain/subnet-directory.ts';
import { createValidatorSets } from '../../../src/pchain/validator-sets.ts';
import {
  type BlockchainID,
  idFromBytes,
  type NodeID,
  nodeIDFromBytes,
  P_CHAIN_ID,
  PRIMARY_NETWORK_ID,
  type SubnetID,
} from '../../../src/primitives/ids.ts';
import { createMemorySignatureStore } from '../../../src/store/signature-store.ts';
import type { Validator } from '../../../src/validators/validator.ts';
import { createWarpSet } from '../../../src/validators/warp-set.ts';
import { parseSignedMessage } from '../../../src/warp/signed-message.ts';
import { createUnsignedMessage } from '../../../src/warp/unsigned-message.ts';
import { FakeClock } from '../../fake-clock.ts';
import { createInlineBls } from '../bls/inline-bls.ts';
import { createModelSigner, modelBackend } from '../bls/model-backend.ts';
import { ANSWER_MS, LIMITS as COLLECTION_LIMITS, drain, NOTHING_LEFT } from './collection-fixture.ts';
import { ScriptedSource } from './scripted-source.ts';

const NETWORK_ID = 1337;
const id = <T extends BlockchainID | SubnetID>(byte: number): T =>
  idFromBytes(new Uint8Array(32).fill(byte), 'id') as unknown as T;
const CHAIN = id<BlockchainID>(1);
const UNKNOWN_CHAIN = id<BlockchainID>(2);
const SUBNET = id<SubnetID>(3);
const OTHER_SUBNET = id<SubnetID>(4);
const EMPTY_SUBNET = id<SubnetID>(5);
const UNKNOWN_SUBNET = id<SubnetID>(6);

const LIMITS: AggregatorLimits = {
  ...COLLECTION_LIMITS,
  maxAggregationsInFlight: 2,
  maxQueriesInFlight: 100,
  resolveTimeoutMs: 5_000,
  resultCacheBytes: 10_000,
};

function rejected(): ApiError {
  return new ApiError('rejected', 'refused', { rejection: { code: -32_000, message: 'not found' } });
}

function nodeOf(number: number): NodeID {
  return nodeIDFromBytes(Uint8Array.from({ length: 20 }, (_, i) => (i === 19 ? number : 0)));
}

const signers = [1, 2, 3, 4].map((number) => ({
  nodeID: nodeOf(number),
  ...createModelSigner(BigInt(number + 1) ** 5n),
}));

function validatorSet(...weights: bigint[]): Validator[] {
  return weights.map((weight, i) => ({ nodeID: nodeOf(i + 1), publicKey: signers[i]?.publicKey, weight }));
}

/** The questions an aggregator asks the node's API, answered as the test says. */
class FakeNodeApi {
  height = 100n;
  proposed = 98n;
  sets = new Map<SubnetID, (height: bigint) => readonly Validator[]>([
    [SUBNET, () => validatorSet(40n, 30n, 20n, 10n)],
    [OTHER_SUBNET, () => validatorSet(10n, 10n)],
    [PRIMARY_NETWORK_ID, () => validatorSet(25n, 25n, 25n, 25n)],
  ]);
  /** Instead of any answer. */
  failure: Error | undefined;
  hangs = false;
  calls: string[] = [];

  async getHeight(signal: AbortSignal): Promise<bigint> {
    return this.#answer('getHeight', signal, () => this.height);
  }

  async getProposedHeight(signal: AbortSignal): Promise<bigint> {
    return this.#answer('getProposedHeight', signal, () => this.proposed);
  }

  async getValidatorsAt(subnetID: SubnetID, height: bigint | 'proposed', signal: AbortSignal) {
    return this.#answer('getValidatorsAt', signal, () => {
      if (height === 'proposed' || height > this.height) throw rejected();
      return this.sets.get(subnetID)?.(height) ?? [];
    });
  }

  async validatedBy(chainID: BlockchainID, signal: AbortSignal): Promise<SubnetID> {
    return this.#answer('validatedBy', signal, () => {
      if (chainID !== CHAIN) throw rejected();
      return SUBNET;
    });
  }

  async getSubnet(subnetID: SubnetID, signal: AbortSignal) {
    return this.#answer('getSubnet', signal, () => {
      if (subnetID !== EMPTY_SUBNET) throw rejected();
      return { isPermissioned: true, conversionID: undefined, managerChainID: undefined, managerAddress: undefined };
    });
  }

  #answer<T>(method: string, signal: AbortSignal, answer: () => T): Promise<T> {
    this.calls.push(method);
    if (this.hangs) {
      return new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason), { once: true });
      });
    }
    if (this.failure !== undefined) return Promise.reject(this.failure);
    return Promise.try(answer);
  }
}

function createHarness(limits: Partial<AggregatorLimits> = {}) {
  const clock = new FakeClock();
  const source = new ScriptedSource(clock);
  const api = new FakeNodeApi();
  const registry = new Registry();
  for (const { nodeID, sign } of signers) {
    source.add(nodeID, ({ message }) => ({
      afterMs: ANSWER_MS,
      outcome: { kind: 'signature', signature: sign(message) },
    }));
  }
  const aggregator = createAggregator({
    networkID: NETWORK_ID,
    directory: createSubnetDirectory(api, clock),
    validatorSets: createValidatorSets({ api, clock, build: createWarpSet }),
    epochs: { heightOf: async () => undefined },
    funds: { soonInactive: async () => new Set() },
    source,
    store: createMemorySignatureStore({ maxSignatures: 1_000, maxPerSigner: 100 }),
    bls: createInlineBls(modelBackend),
    clock,
    metrics: createAggregatorMetrics(registry),
    limits: { ...LIMITS, ...limits },
  });

  function start(more: Partial<AggregationRequest> = {}, signal = new AbortController().signal) {
    const result = aggregator.aggregate(request(more), signal);
    result.catch(() => undefined);
    return result;
  }

  /** Lets time pass until it has settled. */
  async function finish<T>(result: Promise<T>): Promise<T> {
    let isSettled = false;
    const settled = (): void => {
      isSettled = true;
    };
    result.then(settled, settled);
    for (let steps = 0; steps < 2_000; steps += 1) {
      await drain();
      if (isSettled) return result;
      await clock.advance(10);
    }
    throw new Error('nothing came in 20 s');
  }

  async function failure(more: Partial<AggregationRequest> = {}): Promise<AggregatorError> {
    try {
      await finish(start(more));
    } catch (error) {
      if (error instanceof AggregatorError) return error;
      throw error;
    }
    throw new Error('expected a failure');
  }

  function silence(...numbers: number[]): void {
    for (const number of numbers) {
      source.add(nodeOf(number), () => ({ afterMs: Number.POSITIVE_INFINITY, outcome: { kind: 'timed out' } }));
    }
  }

  const leftovers = () => ({ timers: clock.pendingTimers, listeners: source.listenerCount, requests: source.inFlight });
  return { clock, source, api, registry, start, finish, failure, silence, leftovers };
}

function request(more: Partial<AggregationRequest> = {}): AggregationRequest {
  return {
    message: createUnsignedMessage(NETWORK_ID, CHAIN, Uint8Array.of(1)),
    justification: new Uint8Array(),
    signingSubnetID: undefined,
    quorumNum: 67n,
    quorumBuffer: 0n,
    pChainHeight: 0n,
    destination: undefined,
    ...more,
  };
}

describe('who signs', () => {
  test('the subnet of the source chain at the proposed height, where the caller says nothing', async () => {
    const { start, finish, leftovers } = createHarness();
    const result = await finish(start());
    expect(result).toMatchObject({
      signingSubnetID: SUBNET,
      pChainHeight: 98n,
      signedWeight: 70n,
      totalWeight: 100n,
    });
    expect(parseSignedMessage(result.signedMessage).unsignedMessage.bytes).toEqual(request().message.bytes);
    expect(leftovers()).toEqual(NOTHING_LEFT);
  });

  test('the subnet and the height that the caller says', async () => {
    const { start, finish, api } = createHarness();
    const result = await finish(start({ signingSubnetID: OTHER_SUBNET, pChainHeight: 12n }));
    expect(result).toMatchObject({ signingSubnetID: OTHER_SUBNET, pChainHeight: 12n, totalWeight: 20n });
    expect(api.calls).not.toContain('getProposedHeight');
  });

  test('the primary network for a message of the P-Chain', async () => {
    const { start, finish } = createHarness();
    const message = createUnsignedMessage(NETWORK_ID, P_CHAIN_ID, Uint8Array.of(1));
    expect(await finish(start({ message }))).toMatchObject({ signingSubnetID: PRIMARY_NETWORK_ID, signedWeight: 75n });
  });
});

describe('equal requests', () => {
  test('under way at the same time are one, and one caller leaving does not fail the other', async () => {
    const { start, finish, source } = createHarness();
    const leaver = new AbortController();
    const first = start({}, leaver.signal);
    const second = start();
    await drain();
    leaver.abort(new Error('gone'));
    await expect(first).rejects.toThrow('gone');
    expect((await finish(second)).signedWeight).toBe(70n);
    expect(source.calls).toHaveLength(2);
    expect(source.abortedCalls).toBe(0);
  });

  test('under way at two heights with the same set are one, each with its own height', async () => {
    const { start, finish, source } = createHarness();
    // Knows the set, and one signature.
    await finish(start({ quorumNum: 10n }));
    const results = [98n, 99n].map((pChainHeight) => start({ pChainHeight }));
    expect((await finish(Promise.all(results))).map(({ pChainHeight }) => pChainHeight)).toEqual([98n, 99n]);
    expect(source.calls).toHaveLength(2);
  });

  test('that all leave end the queries', async () => {
    const { start, source, leftovers } = createHarness();
    const leavers = [new AbortController(), new AbortController()];
    const results = leavers.map(({ signal }) => start({}, signal));
    await drain();
    expect(source.inFlight).toBe(2);
    for (const leaver of leavers) leaver.abort(new Error('gone'));
    for (const result of results) await expect(result).rejects.toThrow('gone');
    await drain();
    expect(source.abortedCalls).toBe(2);
    expect(leftovers()).toEqual(NOTHING_LEFT);
  });

  test('one after the other ask nobody again: neither validators nor the API within its second', async () => {
    const { start, finish, source, api, registry } = createHarness();
    const first = await finish(start());
    const [asked, called] = [source.calls.length, api.calls.length];
    expect(await finish(start())).toEqual(first);
    expect(source.calls).toHaveLength(asked);
    expect(api.calls).toHaveLength(called);
    expect(await registry.metrics()).toContain('signature_aggregator_result_cache_hits_total 1');
  });

  test('at a later height with the same set have the same answer, with their own height', async () => {
    const { start, finish, source, api, clock } = createHarness();
    const first = await finish(start());
    api.proposed = 99n;
    await clock.advance(1_000);
    expect(await finish(start())).toEqual({ ...first, pChainHeight: 99n });
    expect(source.calls).toHaveLength(2);
  });

  test('at a height with another set are asked and made anew, from the signatures known', async () => {
    const { start, finish, source, api, clock } = createHarness();
    await finish(start());
    api.sets.set(SUBNET, () => validatorSet(40n, 20n, 30n, 10n));
    api.proposed = 99n;
    await clock.advance(1_000);
    const second = await finish(start());
    // The first two have signed already, and the third is missing.
    expect(second).toMatchObject({ signedWeight: 90n });
    expect(source.calls).toHaveLength(3);
  });

  test('share nothing with requests that differ in quorum, buffer, subnet, justification or message', async () => {
    const { start, finish, registry } = createHarness();
    const others: Partial<AggregationRequest>[] = [
      { quorumNum: 71n },
      { quorumBuffer: 5n },
      { signingSubnetID: OTHER_SUBNET },
      { justification: Uint8Array.of(1) },
      { message: createUnsignedMessage(NETWORK_ID, CHAIN, Uint8Array.of(2)) },
    ];
    for (const more of [{}, ...others]) await finish(start(more));
    expect(await registry.metrics()).toContain('signature_aggregator_result_cache_hits_total 0');
    const keys = [{}, ...others, { pChainHeight: 5n }].map((more) => requestKey(request(more)));
    expect(new Set(keys).size).toBe(keys.length);
    expect(signatureKey(request({ quorumNum: 1n }))).toBe(signatureKey(request()));
  });

  test('with a subnet named or left out are one', async () => {
    const { start, finish, source } = createHarness();
    await finish(start());
    await finish(start({ signingSubnetID: SUBNET }));
    expect(source.calls).toHaveLength(2);
  });

  test('are tried again where the buffer was missed', async () => {
    const { start, finish, source, silence } = createHarness();
    silence(4);
    const first = await finish(start({ quorumBuffer: 33n }));
    expect(first.signedWeight).toBe(90n);
    const [{ sign }] = signers.slice(3) as [(typeof signers)[number]];
    source.add(nodeOf(4), ({ message }) => ({ afterMs: 0, outcome: { kind: 'signature', signature: sign(message) } }));
    expect((await finish(start({ quorumBuffer: 33n }))).signedWeight).toBe(100n);
  });

  test('a failure is not kept', async () => {
    const { start, finish, failure, silence, source } = createHarness();
    silence(1, 2);
    expect((await failure()).code).toBe('insufficient_weight');
    for (const { nodeID, sign } of signers) {
      source.add(nodeID, ({ message }) => ({ afterMs: 0, outcome: { kind: 'signature', signature: sign(message) } }));
    }
    expect((await finish(start())).signedWeight).toBe(70n);
  });
});

describe('what fails', () => {
  async function expectFailure(
    code: AggregatorErrorCode,
    message: string | RegExp,
    more: Partial<AggregationRequest>,
    prepare: (harness: ReturnType<typeof createHarness>) => void = () => {},
  ): Promise<AggregatorError> {
    const harness = createHarness();
    prepare(harness);
    const error = await harness.failure(more);
    expect([error.code, error.message]).toEqual([
      code,
      typeof message === 'string' ? message : expect.stringMatching(message),
    ]);
    expect(harness.leftovers()).toEqual(NOTHING_LEFT);
    expect(await harness.registry.metrics()).toContain(
      `signature_aggregator_aggregation_duration_seconds_count{outcome="${code}"} 1`,
    );
    return error;
  }

  test('a message of another network, without a question to anybody', async () => {
    const message = createUnsignedMessage(5, CHAIN, Uint8Array.of(1));
    const { failure, api } = createHarness();
    const error = await failure({ message });
    expect([error.code, error.message]).toEqual([
      'invalid_request',
      'message is of network ID 5, this service serves network ID 1337',
    ]);
    expect(api.calls).toEqual([]);
  });

  test('an unknown source chain', async () => {
    const message = createUnsignedMessage(NETWORK_ID, UNKNOWN_CHAIN, Uint8Array.of(1));
    await expectFailure(
      'unknown_source_chain',
      `message has the source chain ${UNKNOWN_CHAIN}, which the P-Chain does not know`,
      { message },
    );
  });

  test('an unknown subnet', async () => {
    await expectFailure('unknown_subnet', `signingSubnetId: the P-Chain knows no subnet ${UNKNOWN_SUBNET}`, {
      signingSubnetID: UNKNOWN_SUBNET,
    });
  });

  test('a subnet without validators at that height', async () => {
    await expectFailure(
      'invalid_request',
      `signingSubnetId: subnet ${EMPTY_SUBNET} has no validators at P-Chain height 98`,
      { signingSubnetID: EMPTY_SUBNET },
    );
  });

  test("a height above the chain's", async () => {
    await expectFailure('invalid_request', /^pChainHeight: P-Chain height 101 is above the chain's height 100$/, {
      pChainHeight: 101n,
    });
  });

  test('an API node that lags behind the one that gave the height is not the caller to blame', async () => {
    await expectFailure('p_chain_unavailable', /a P-Chain API node lags behind/, {}, ({ api }) => {
      api.height = 90n;
    });
  });

  test('an API that is down', async () => {
    await expectFailure('p_chain_unavailable', 'the P-Chain API failed: no connection', {}, ({ api }) => {
      api.failure = new ApiError('unavailable', 'no connection');
    });
  });

  test('an API that goes down after the first questions', async () => {
    await expectFailure(
      'p_chain_unavailable',
      /the P-Chain API failed/,
      { signingSubnetID: UNKNOWN_SUBNET },
      ({ api }) => {
        api.getSubnet = () => Promise.reject(new ApiError('unavailable', 'no connection'));
      },
    );
  });

  test('an API that answers nonsense', async () => {
    await expectFailure('p_chain_invalid', 'the P-Chain API failed: no JSON', {}, ({ api }) => {
      api.failure = new ApiError('invalid response', 'no JSON');
    });
  });

  test('an API that gives a validator set that cannot be', async () => {
    await expectFailure('p_chain_invalid', /weights sum to \d+, beyond u64/, {}, ({ api }) => {
      api.sets.set(SUBNET, () => validatorSet(2n ** 63n, 2n ** 63n));
    });
  });

  test('an API that does not answer in time', async () => {
    const harness = createHarness();
    harness.api.hangs = true;
    const error = await harness.failure();
    expect([error.code, error.message]).toEqual(['p_chain_unavailable', 'the P-Chain API did not answer in time']);
    expect(harness.clock.monotonicMs()).toBe(LIMITS.resolveTimeoutMs);
    expect(harness.leftovers()).toEqual(NOTHING_LEFT);
  });

  test('too little weight that signs, with the inequality that clients look for, and who did what', async () => {
    const error = await expectFailure(
      'insufficient_weight',
      'failed to collect a threshold of stake: signature weight is insufficient: 67*100 > 100*60 (no answer from 1)',
      {},
      ({ silence }) => silence(1),
    );
    expect(error.report?.tally).toMatchObject({
      neededWeight: 67n,
      signedWeight: 60n,
      timedOut: { weight: 40n, count: 1 },
    });
  });

  test('nodes of an L1 that live and are silent about its blockchain: they do not admit us, as far as one can tell', async () => {
    const silent = (harness: ReturnType<typeof createHarness>) =>
      harness.source.add(nodeOf(1), () => ({ afterMs: LIMITS.peerTimeoutMs - 1, outcome: { kind: 'ignored' } }));
    const inequality = 'failed to collect a threshold of stake: signature weight is insufficient: 67*100 > 100*60';
    const error = await expectFailure(
      'insufficient_weight',
      `${inequality} (1 refused or unreachable: not admitted: connected, but silent about this blockchain; they may run it ` +
        "for the peers on their subnet's list only (validatorOnly, allowedNodes), or not at all)",
      {},
      silent,
    );
    expect(error.report?.tally).toMatchObject({ ignored: { weight: 40n, count: 1 }, timedOut: { count: 0 } });
    // A chain of the primary network is open to all: there silence is just that.
    const message = createUnsignedMessage(NETWORK_ID, P_CHAIN_ID, Uint8Array.of(1));
    await expectFailure(
      'insufficient_weight',
      `${inequality} (no answer from 1)`,
      { message, signingSubnetID: SUBNET },
      silent,
    );
  });

  test("refusals, with the validators' own words", async () => {
    await expectFailure(
      'insufficient_weight',
      'failed to collect a threshold of stake: signature weight is insufficient: 67*100 > 100*0 ' +
        '(refused by 1: unregistered handler (code -2))',
      {},
      ({ source }) => {
        for (const { nodeID } of signers) {
          source.add(nodeID, () => ({
            afterMs: 0,
            outcome: { kind: 'refused', code: -2, text: 'unregistered handler' },
          }));
        }
      },
    );
  });

  test('a quorum of 0 that nobody signs: no inequality that would be false', async () => {
    await expectFailure(
      'insufficient_weight',
      'failed to collect a threshold of stake: signature weight is insufficient: nobody signed (no answer from 4)',
      { quorumNum: 0n },
      ({ silence }) => silence(1, 2, 3, 4),
    );
  });

  test('validators without a key: time will not mend it, even where nobody is connected', async () => {
    await expectFailure('insufficient_weight', /\(1 without an active BLS key\)$/, {}, ({ api, source }) => {
      const [heaviest, ...others] = validatorSet(40n, 30n, 20n, 10n);
      api.sets.set(SUBNET, () => [{ ...(heaviest as Validator), publicKey: undefined }, ...others]);
      for (const { nodeID } of signers.slice(2)) source.disconnect(nodeID);
    });
  });

  test('too little weight connected, which may change', async () => {
    const error = await expectFailure(
      'not_connected',
      'too little weight is connected: the quorum needs 67 of 100, 60 can be reached, 40 cannot (refused or ' +
        'unreachable: no address known); ' +
        'try again in a moment',
      {},
      ({ source }) => source.disconnect(nodeOf(1)),
    );
    expect(error.report?.tally.unreachable.weight).toBe(40n);
  });
});

describe('bounds', () => {
  test('one more aggregation than allowed is refused, an equal one is not', async () => {
    const { start, finish, failure, leftovers } = createHarness();
    const messages = [1, 2, 3].map((byte) => createUnsignedMessage(NETWORK_ID, CHAIN, Uint8Array.of(byte)));
    const [first, second, third] = messages as [
      AggregationRequest['message'],
      AggregationRequest['message'],
      AggregationRequest['message'],
    ];
    const running = [start({ message: first }), start({ message: second })];
    await drain();
    const equal = start({ message: first });
    const error = await failure({ message: third });
    expect([error.code, error.message]).toEqual([
      'overloaded',
      '2 aggregations are under way, which is all this service takes at once',
    ]);
    for (const result of [...running, equal]) expect((await finish(result)).signedWeight).toBe(70n);
    expect((await finish(start({ message: third }))).signedWeight).toBe(70n);
    expect(leftovers()).toEqual(NOTHING_LEFT);
  });

  test('results are kept within their bytes', async () => {
    const { start, finish, registry } = createHarness({ resultCacheBytes: 1_024 });
    for (const byte of [1, 2, 3]) {
      await finish(start({ message: createUnsignedMessage(NETWORK_ID, CHAIN, Uint8Array.of(byte)) }));
    }
    for (const byte of [3, 1]) {
      await finish(start({ message: createUnsignedMessage(NETWORK_ID, CHAIN, Uint8Array.of(byte)) }));
    }
    // Only the last one was still there.
    expect(await registry.metrics()).toContain('signature_aggregator_result_cache_hits_total 1');
  });
});

describe('measured', () => {
  test("a caller's abort is one, a bug is another, and nothing stays in flight", async () => {
    const { start, registry, source, finish } = createHarness();
    const caller = new AbortController();
    const aborted = start({}, caller.signal);
    await drain();
    caller.abort(new Error('gone'));
    await expect(aborted).rejects.toThrow('gone');
    source.add(nodeOf(1), () => {
      throw new TypeError('a bug');
    });
    await expect(finish(start())).rejects.toThrow('a bug');
    await finish(start({ quorumNum: 10n, signingSubnetID: PRIMARY_NETWORK_ID })).catch(() => undefined);
    const metrics = await registry.metrics();
    for (const outcome of ['aborted', 'internal error']) {
      expect(metrics).toContain(`signature_aggregator_aggregation_duration_seconds_count{outcome="${outcome}"}`);
    }
    expect(metrics).toContain('signature_aggregator_aggregations_in_flight 0');
  });

  test('an abort before the start asks nobody', async () => {
    const { start, api, source } = createHarness();
    await expect(start({}, AbortSignal.abort(new Error('gone')))).rejects.toThrow('gone');
    expect(source.calls).toEqual([]);
    expect(api.calls).toEqual([]);
  });
});
