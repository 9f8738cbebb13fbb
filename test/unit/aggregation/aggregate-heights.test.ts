import { describe, expect, test } from 'vitest';
import type { ProgressEvent } from '../../../src/aggregation/collection/progress.ts';
import type { DeliveryAdvice } from '../../../src/aggregation/signers/delivery-advice.ts';
import { indicesOf } from '../../../src/aggregation/signers/signers-at-height.ts';
import type { Caller } from '../../../src/aggregation/stages/calls.ts';
import { ApiError } from '../../../src/pchain/rpc/api-error.ts';
import type { Epoch } from '../../../src/pchain/rpc/chain-api.ts';
import { createWarpSet, type WarpSet } from '../../../src/validators/warp-set.ts';
import { type BlockchainID, idFromBytes, type NodeID, P_CHAIN_ID, type ValidationID } from '../../../src/warp/ids.ts';
import { encodeL1Message } from '../../../src/warp/l1-message.ts';
import { createSourcelessCall } from '../../../src/warp/payload.ts';
import { parseSignedMessage } from '../../../src/warp/signed-message.ts';
import { createUnsignedMessage } from '../../../src/warp/unsigned-message.ts';
import {
  CHAIN,
  createHarness as createAggregatorHarness,
  FOUND,
  LIMITS,
  messageOf,
  NETWORK_ID,
  NO_EPOCH,
  nodeOf as node,
  type RequestOptions,
  SUBNET,
  TX,
  UNKNOWN_CHAIN,
  validatorSet,
} from './aggregator-fixture.ts';
import { hang } from './api-failures.ts';
import { ANSWER_MS } from './collection/collection-fixture.ts';

const DESTINATION = idFromBytes<BlockchainID>(new Uint8Array(32).fill(12), 'chain');
const PROPOSED = 100n;
const EPOCH = 80n;
const epochAt = (pChainHeight: bigint): Epoch => ({ number: 5n, pChainHeight, startTime: 1_700_000_000n });

/** Set of the signers 1, 2, … with these weights; 0 is not in the set. */
function setOf(...weights: bigint[]): WarpSet {
  return createWarpSet(validatorSet(...weights).filter(({ weight }) => weight > 0n));
}

const NOT_SERVED = new ApiError('height_not_served', 'only the current height is served');

function createHarness() {
  const state = {
    /** Heights that were asked for as those of clients. */
    pinned: [] as bigint[],
    proposed: PROPOSED,
    sets: new Map<bigint, WarpSet>([
      [PROPOSED, setOf(40n, 30n, 20n, 10n)],
      [EPOCH, setOf(25n, 25n, 25n, 0n, 25n)],
    ]),
    epoch: async (_signal: AbortSignal): Promise<Epoch> => epochAt(EPOCH),
    funds: async (_signal: AbortSignal): Promise<ReadonlySet<NodeID>> => new Set(),
    heightFailure: undefined as Error | undefined,
    isServed: (_height: bigint): boolean => true,
  };
  const l1Message = {
    ...FOUND,
    message: messageOf(255),
    justification: new Uint8Array(),
    managerChainID: DESTINATION,
  };
  const harness = createAggregatorHarness(
    { maxAggregationsInFlight: 10, resultCacheBytes: 100_000 },
    {
      directory: {
        validatedBy: async (chainID) => (chainID === UNKNOWN_CHAIN ? undefined : SUBNET),
        exists: async () => true,
        knownSubnetOf: () => undefined,
        isKnown: () => true,
        getSubnet: async () => ({ conversionID: new Uint8Array(32), managerChainID: CHAIN }),
      },
      validatorSets: {
        async proposedHeight() {
          if (state.heightFailure !== undefined) throw state.heightFailure;
          return state.proposed;
        },
        async at(_, height) {
          if (!state.isServed(height)) throw NOT_SERVED;
          return state.sets.get(height) ?? setOf();
        },
        async atProposed() {
          if (state.heightFailure !== undefined) throw state.heightFailure;
          return { height: state.proposed, set: state.sets.get(state.proposed) ?? setOf() };
        },
        async atPinned(_, height) {
          state.pinned.push(height);
          if (!state.isServed(height)) throw NOT_SERVED;
          return state.sets.get(height) ?? setOf();
        },
        knownProposedHeight: () => undefined,
        known: () => undefined,
        newest: () => [],
      },
      epochs: { get: async (_, signal) => state.epoch(signal), peek: () => undefined },
      funds: { soonInactive: async (_, __, signal) => state.funds(signal), knownSoonInactive: () => undefined },
      l1Messages: { ofTransaction: async () => l1Message, ofJustification: async () => l1Message },
    },
  );
  let count = 0;
  function withNewMessage(more: RequestOptions = {}): RequestOptions {
    count += 1;
    return { message: messageOf(count), ...more };
  }
  return {
    ...harness,
    state,
    aggregate: (more?: RequestOptions, options?: Partial<Caller>) =>
      harness.finish(harness.start(withNewMessage(more), options)),
    failure: (more: RequestOptions) => harness.failure(withNewMessage(more)),
  };
}

/** A destination that the caller gave; else that of a transaction's message, the chain of the validator manager. */
const asked = (isRequired: boolean, chainID = DESTINATION): RequestOptions =>
  isRequired ? { destinationChainID: chainID } : { subject: { kind: 'transaction', txID: TX } };

test('a height that the client names is asked for as one, and no other', async () => {
  const { aggregate, state } = createHarness();
  for (const more of [{}, asked(true), asked(false)]) await aggregate(more);
  expect(state.pinned).toEqual([]);
  await aggregate({ pChainHeight: EPOCH });
  expect(state.pinned).toEqual([EPOCH]);
});

describe('a destination', () => {
  test.each([true, false])(
    'is signed for at the height of its epoch, if it has one (asked for: %s)',
    async (isRequired) => {
      const { state, aggregate } = createHarness();
      const expected = { pChainHeight: EPOCH, totalWeight: 100n, signedWeight: 75n };
      expect(await aggregate(asked(isRequired))).toMatchObject(expected);
      state.epoch = async () => NO_EPOCH;
      expect(await aggregate(asked(isRequired))).toMatchObject({ pChainHeight: PROPOSED });
    },
  );

  test('whose API does not answer does not fail a request that did not name it', async () => {
    const { state, aggregate } = createHarness();
    for (const kind of ['unavailable', 'rejected', 'invalid_response'] as const) {
      state.epoch = () => Promise.reject(new ApiError(kind, 'HTTP status 404'));
      expect(await aggregate(asked(false))).toMatchObject({ pChainHeight: PROPOSED });
    }
    state.epoch = hang;
    expect(await aggregate(asked(false))).toMatchObject({ pChainHeight: PROPOSED });
  });

  test('that was asked for and whose API is elsewhere is an error of the caller, and none if the API is down', async () => {
    const { state, failure } = createHarness();
    state.epoch = () => Promise.reject(new ApiError('invalid_response', 'HTTP status 404'));
    const expected = { code: 'invalid_request', field: 'destinationChainID' };
    expect(await failure(asked(true))).toMatchObject(expected);
    expect(await failure(asked(true, UNKNOWN_CHAIN))).toMatchObject(expected);
    state.epoch = () => Promise.reject(new ApiError('unavailable', 'no answer'));
    expect(await failure(asked(true))).toMatchObject({ code: 'p_chain_unavailable' });
  });

  test('in whose epoch there are no validators yet: later, or at the proposed height', async () => {
    const { state, aggregate, failure } = createHarness();
    state.sets.delete(EPOCH);
    expect(await aggregate(asked(false))).toMatchObject({ pChainHeight: PROPOSED });
    const expected = { code: 'no_validators_yet', field: 'destinationChainID', retryAfterMs: 10_000 };
    const failed = await failure(asked(true));
    expect(failed).toMatchObject(expected);
    expect(failed.message).toMatch(
      /the next epoch needs two blocks of that chain, the first of them after the epoch's minimum time/,
    );
  });
});

describe("a validator manager's message to the P-Chain", () => {
  const validationID = idFromBytes<ValidationID>(new Uint8Array(32).fill(7), 'validation');
  let nonce = 0n;
  const weightChange = (sourceChainID = CHAIN) => {
    const payload = encodeL1Message({ kind: 'L1ValidatorWeight', validationID, nonce: (nonce += 1n), weight: 5n });
    return createUnsignedMessage(NETWORK_ID, sourceChainID, createSourcelessCall(payload));
  };

  async function sign({ aggregate }: ReturnType<typeof createHarness>, more: RequestOptions) {
    let advice: DeliveryAdvice | undefined;
    const { pChainHeight } = await aggregate(more, { onAdvice: (given) => (advice = given) });
    return {
      pChainHeight,
      epochHeight: advice?.epoch?.pChainHeight,
      warnings: advice?.warnings.map(({ code }) => code),
      text: advice?.warnings[0]?.message,
    };
  }

  test('is signed for the epoch of the P-Chain, also by named signers and with a named quorum, without a warning', async () => {
    const harness = createHarness();
    const more = { pChainMessages: 'epoch' } as const;
    for (const named of [{}, { signingSubnetID: SUBNET }, { quorumNum: 60n }]) {
      const signed = await sign(harness, { message: weightChange(), ...more, ...named });
      expect(signed).toMatchObject({ pChainHeight: EPOCH, epochHeight: EPOCH, warnings: [] });
    }
  });

  test('is not, where the request names a height, the P-Chain sent it, or the payload is another one', async () => {
    const harness = createHarness();
    const more = { pChainMessages: 'epoch' } as const;
    expect(await sign(harness, { message: weightChange(), ...more, pChainHeight: PROPOSED })).toMatchObject({
      pChainHeight: PROPOSED,
      epochHeight: undefined,
    });
    for (const message of [weightChange(P_CHAIN_ID), messageOf(99)]) {
      expect(await sign(harness, { message, ...more })).toMatchObject({ pChainHeight: PROPOSED, warnings: undefined });
    }
  });

  test('is signed at the proposed height where that is configured, with a warning unless it is asked for by the Go routes', async () => {
    const harness = createHarness();
    expect(await sign(harness, { message: weightChange(), pChainMessages: 'proposed' })).toMatchObject({
      pChainHeight: PROPOSED,
      epochHeight: EPOCH,
      warnings: ['set_differs_from_epoch'],
    });
    harness.state.epoch = () => Promise.reject(new Error('is not read'));
    const signed = await sign(harness, { message: weightChange(), pChainMessages: undefined });
    expect(signed).toMatchObject({ pChainHeight: PROPOSED, warnings: undefined });
  });

  test('is signed at the proposed height with a warning where the epoch cannot be read, which is waited for once', async () => {
    const harness = createHarness();
    let reads = 0;
    harness.state.epoch = (signal) => {
      reads += 1;
      return hang(signal);
    };
    for (let time = 0; time < 2; time += 1) {
      const signed = await sign(harness, { message: weightChange(), pChainMessages: 'epoch' });
      expect(signed).toMatchObject({ pChainHeight: PROPOSED, warnings: ['epoch_unreadable'] });
    }
    expect(reads).toBe(1);
  });

  test('is signed at the proposed height where the set of the epoch is empty or not served, and the warning says what ends it', async () => {
    const harness = createHarness();
    harness.state.sets.delete(EPOCH);
    const message = weightChange();
    const empty = await sign(harness, { message, pChainMessages: 'epoch' });
    expect(empty).toMatchObject({ pChainHeight: PROPOSED, warnings: ['set_differs_from_epoch'] });
    expect(empty.text).toMatch(
      /has no validators: it refuses the message until its next epoch, which needs two P-Chain blocks.*any P-Chain transaction makes one/,
    );
    harness.state.isServed = (height) => height === PROPOSED;
    const unserved = await sign(harness, { message, pChainMessages: 'epoch' });
    expect(unserved).toMatchObject({ pChainHeight: PROPOSED, warnings: ['epoch_unreadable'] });
  });

  test('is told what ends the epoch where the set of the epoch cannot reach the quorum, and only there', async () => {
    const harness = createHarness();
    const endsByTwoBlocks = /needs two P-Chain blocks.*any P-Chain transaction makes one/;
    const differs = await sign(harness, { message: weightChange(), pChainMessages: 'proposed' });
    expect(differs.text).not.toMatch(endsByTwoBlocks);
    const withoutKeys = [{ nodeID: node(9), publicKey: undefined, weight: 60n }, ...validatorSet(40n)];
    harness.state.sets.set(EPOCH, createWarpSet(withoutKeys));
    const proposed = await sign(harness, { message: weightChange(), pChainMessages: 'proposed' });
    expect(proposed).toMatchObject({ warnings: ['set_differs_from_epoch'] });
    expect(proposed.text).toMatch(endsByTwoBlocks);
    const failure = await harness.failure({ message: weightChange(), pChainMessages: 'epoch' });
    expect(failure).toMatchObject({ code: 'quorum_unreachable' });
    expect(failure.message).toMatch(endsByTwoBlocks);
    harness.state.sets.set(PROPOSED, createWarpSet(withoutKeys));
    const elsewhere = await harness.failure({ message: messageOf(98) });
    expect(elsewhere).toMatchObject({ code: 'quorum_unreachable' });
    expect(elsewhere.message).not.toMatch(endsByTwoBlocks);
  });
});

describe('an API that serves only the proposed height', () => {
  const start = () => {
    const harness = createHarness();
    harness.state.isServed = (height) => height === PROPOSED;
    return harness;
  };

  test('is enough for a request that names no height, and no destination', async () => {
    const { aggregate } = start();
    for (const more of [{}, asked(false)]) expect(await aggregate(more)).toMatchObject({ pChainHeight: PROPOSED });
  });

  test('has an error of its own for the height of the request, which names its field', async () => {
    const { failure } = start();
    const expected = {
      code: 'height_not_served',
      message: 'only the current height is served',
      retryAfterMs: undefined,
    };
    expect(await failure({ pChainHeight: EPOCH })).toMatchObject({ ...expected, field: 'pChainHeight' });
    expect(await failure(asked(true))).toMatchObject({ ...expected, field: 'destinationChainID' });
  });
});

test('the wait that the P-Chain API asks for is the advice of the error', async () => {
  const { state, failure } = createHarness();
  state.heightFailure = new ApiError('unavailable', 'slow down', { retryAfterMs: 30_000 });
  expect(await failure({})).toMatchObject({ code: 'p_chain_unavailable', retryAfterMs: 30_000 });
});

test('an L1 whose conversion the proposed height trails has no validators yet', async () => {
  const { state, failure } = createHarness();
  state.sets.clear();
  for (const more of [{}, asked(false)]) {
    expect(await failure(more)).toMatchObject({ code: 'no_validators_yet', field: 'signingSubnetID' });
  }
  expect(await failure({ pChainHeight: 90n })).toMatchObject({ code: 'invalid_request' });
});

describe('validators about to run out of balance', () => {
  test('are those of which each node is', () => {
    const [nodes, other] = [[node(1), node(2)], node(3)];
    const [key, otherKey] = [new Uint8Array(48).fill(1), new Uint8Array(48).fill(2)];
    const warpSet = createWarpSet([
      ...nodes.map((nodeID) => ({ nodeID, publicKey: key, weight: 1n })),
      { nodeID: other, publicKey: otherKey, weight: 1n },
    ]);
    const avoided = (...nodeIDs: readonly NodeID[]) => [...indicesOf(warpSet, new Set(nodeIDs))];
    expect([avoided(), avoided(nodes[0]!), avoided(...nodes), avoided(nodes[1]!, other)]).toEqual([[], [], [0], [1]]);
  });

  const signersOf = async (result: Promise<{ signers: readonly NodeID[] }>) => new Set((await result).signers);

  test('are not asked while the others are late, and are when they have failed', async () => {
    const { state, aggregate, signs } = createHarness();
    state.sets.set(PROPOSED, setOf(40n, 30n, 30n, 30n));
    state.funds = async () => new Set([node(1)]);
    signs(2, 2 * LIMITS.hedgeAfterMs);
    expect(await signersOf(aggregate({ quorumNum: 60n }))).toEqual(new Set([node(2), node(3), node(4)]));
    signs(2, LIMITS.peerTimeoutMs + 1);
    expect(await signersOf(aggregate({ quorumNum: 60n }))).toEqual(new Set([node(1), node(3), node(4)]));
  });

  test('get no signed message out of the cache that they signed before', async () => {
    const { state, aggregate } = createHarness();
    state.sets.set(PROPOSED, setOf(40n, 30n, 30n, 30n));
    const message = messageOf(200);
    const before = await signersOf(aggregate({ message, quorumNum: 60n }));
    expect(before.has(node(1))).toBe(true);
    state.funds = async () => new Set([node(1)]);
    expect((await signersOf(aggregate({ message, quorumNum: 60n }))).has(node(1))).toBe(false);
  });

  test('are unknown if the API does not report balances, and then none is avoided', async () => {
    const { state, aggregate } = createHarness();
    state.funds = () => Promise.reject(new ApiError('unavailable', 'no answer'));
    expect(await aggregate()).toMatchObject({ signedWeight: 70n });
    state.funds = hang;
    expect(await aggregate()).toMatchObject({ signedWeight: 70n });
  });
});

describe('a validator set that changes meanwhile', () => {
  const CHANGED = 101n;
  /** The set changes while the first signatures are on their way. */
  function change(harness: ReturnType<typeof createHarness>, set: WarpSet): void {
    harness.state.sets.set(CHANGED, set);
    harness.clock.after(ANSWER_MS / 2, () => {
      harness.state.proposed = CHANGED;
    });
  }

  test('is noticed, and the message is built again from known signatures', async () => {
    const harness = createHarness();
    const changed = setOf(40n, 30n, 20n, 10n, 15n);
    change(harness, changed);
    const shown: bigint[] = [];
    const onProgress = (event: ProgressEvent) => event.kind === 'state' && shown.push(event.state.totalWeight);
    const result = await harness.aggregate({}, { onProgress });
    expect(result).toMatchObject({ pChainHeight: CHANGED, totalWeight: 115n });
    expect(shown).toEqual([100n, 115n]);
    const bits = parseSignedMessage(result.signedMessage).signature.signers;
    expect(bits.map((index) => changed.validators[index]?.nodeIDs[0])).toEqual(result.signers);
    const times = new Map<NodeID, number>();
    for (const { nodeID } of harness.source.calls) times.set(nodeID, (times.get(nodeID) ?? 0) + 1);
    expect([...times.values()].every((count) => count === 1)).toBe(true);
  });

  test('without the quorum any more is a failure, not a message that no destination accepts', async () => {
    const harness = createHarness();
    harness.source.disconnect(node(5));
    change(harness, setOf(10n, 0n, 0n, 0n, 90n));
    expect(await harness.failure({})).toMatchObject({ code: 'not_connected' });
  });

  test('again and again is followed twice', async () => {
    const harness = createHarness();
    let height = PROPOSED;
    harness.state.sets = { get: () => setOf(40n, 30n, 20n, 10n, (height += 1n)) } as unknown as Map<bigint, WarpSet>;
    expect(await harness.aggregate()).toMatchObject({ totalWeight: 100n + PROPOSED + 3n });
  });

  test('that cannot be asked for again leaves the message as it is', async () => {
    const harness = createHarness();
    harness.clock.after(ANSWER_MS / 2, () => {
      harness.state.heightFailure = new ApiError('unavailable', 'no answer');
    });
    expect(await harness.aggregate()).toMatchObject({ pChainHeight: PROPOSED, signedWeight: 70n });
  });
});
