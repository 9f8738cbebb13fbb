import { EventEmitter } from 'node:events';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createValidatorConnections } from '../../../../src/aggregation/validators/validator-connections.ts';
import type { AttemptOutcome } from '../../../../src/aggregation/validators/validator-outcome.ts';
import type { PeerNetwork } from '../../../../src/p2p/peer-network.ts';
import { ApiError } from '../../../../src/pchain/rpc/api-error.ts';
import type { ValidatorSets } from '../../../../src/pchain/state/validator-sets.ts';
import { createMetrics } from '../../../../src/telemetry/metrics.ts';
import { createWarpSet, type WarpSet } from '../../../../src/validators/warp-set.ts';
import {
  type BlockchainID,
  idFromBytes,
  type NodeID,
  PRIMARY_NETWORK_ID,
  type SubnetID,
} from '../../../../src/warp/ids.ts';
import { encodeSignatureResponse } from '../../../../src/warp/signature-request.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { CHAIN, OTHER_SUBNET as L1, nodeOf, SUBNET } from '../aggregator-fixture.ts';
import { hang } from '../api-failures.ts';
import { drain } from '../collection/collection-fixture.ts';

type AppOutcome = Awaited<ReturnType<PeerNetwork['appRequest']>>;

const REFRESH_MS = 60_000;
const KEEP_MS = 600_000;

/** The name under which those are wanted whom requests name. */
function asked(subnetID: SubnetID): string {
  return `${subnetID} asked for`;
}

/** Node n with weight n, for each number. */
function setOf(...numbers: number[]): WarpSet {
  return createWarpSet(
    numbers.map((number) => ({
      nodeID: nodeOf(number),
      publicKey: Uint8Array.of(...new Uint8Array(47), number),
      weight: BigInt(number),
    })),
  );
}

class FakePeerNetwork implements Pick<PeerNetwork, 'want' | 'unwant' | 'isConnected' | 'lastFailure' | 'appRequest'> {
  readonly wanted = new Map<string, readonly NodeID[]>();
  readonly preferred = new Set<string>();
  readonly #connected = new Set<NodeID>();
  readonly #changes = new EventEmitter();
  failure: string | undefined;
  outcome: AppOutcome = { kind: 'timed_out', reason: 'no_answer' };
  readonly requests: { nodeID: NodeID; chainID: BlockchainID; appBytes: Uint8Array }[] = [];

  connect(...numbers: number[]): void {
    this.#change(numbers, (nodeID) => this.#connected.add(nodeID));
  }

  disconnect(...numbers: number[]): void {
    this.#change(numbers, (nodeID) => this.#connected.delete(nodeID));
  }

  #change(numbers: readonly number[], change: (nodeID: NodeID) => void): void {
    for (const nodeID of numbers.map(nodeOf)) {
      change(nodeID);
      this.#changes.emit('node', nodeID);
    }
    this.#changes.emit('any');
  }

  want(name: string, nodeIDs: ReadonlySet<NodeID>, isPreferred = false): void {
    this.wanted.set(name, [...nodeIDs]);
    if (isPreferred) this.preferred.add(name);
    else this.preferred.delete(name);
  }

  unwant(name: string): void {
    this.wanted.delete(name);
    this.preferred.delete(name);
  }

  isConnected(nodeID: NodeID): boolean {
    return this.#connected.has(nodeID);
  }

  lastFailure(): string | undefined {
    return this.failure;
  }

  onNodeChange(listener: (nodeID: NodeID) => void): () => void {
    this.#changes.on('node', listener);
    return () => this.#changes.off('node', listener);
  }

  onConnectionChange(listener: () => void): () => void {
    this.#changes.on('any', listener);
    return () => this.#changes.off('any', listener);
  }

  async appRequest(nodeID: NodeID, chainID: BlockchainID, appBytes: Uint8Array): Promise<AppOutcome> {
    this.requests.push({ nodeID, chainID, appBytes });
    return this.outcome;
  }
}

function createHarness({ trackedSubnetIDs = [SUBNET], failure = undefined as Error | undefined } = {}) {
  const clock = new FakeClock();
  const network = new FakePeerNetwork();
  const registry = new Registry();
  const sets = new Map<SubnetID, WarpSet>([
    [PRIMARY_NETWORK_ID, setOf(1, 2, 3)],
    [SUBNET, setOf(4)],
  ]);
  const state = {
    failure,
    unreadable: undefined as { subnetID: SubnetID; how: 'fails' | 'hangs' } | undefined,
  };
  const validatorSets: ValidatorSets<WarpSet> = {
    async proposedHeight() {
      if (state.failure !== undefined) throw state.failure;
      return 5n;
    },
    async atProposed(subnetID, signal) {
      const height = await validatorSets.proposedHeight(signal);
      return { height, set: await validatorSets.at(subnetID, height, signal) };
    },
    async at(subnetID, _height, signal) {
      if (state.unreadable?.subnetID !== subnetID) return sets.get(subnetID) ?? setOf();
      if (state.unreadable.how === 'fails') throw new ApiError('rejected', 'refused');
      return hang(signal);
    },
    atPinned: () => Promise.reject(new Error('no client is here')),
    knownProposedHeight: () => undefined,
    known: () => undefined,
    newest: () => [],
  };
  const connections = createValidatorConnections({
    network: network as unknown as PeerNetwork,
    validatorSets,
    clock,
    logger: pino({ level: 'silent' }),
    metrics: createMetrics(registry),
    trackedSubnetIDs,
    readyQuorumNum: 67n,
    refreshIntervalMs: REFRESH_MS,
    keepMs: KEEP_MS,
    refreshTimeoutMs: 10_000,
  });
  onTestFinished(() => connections[Symbol.asyncDispose]());
  /** In steps, since each reading of the sets takes some turns of the event loop. */
  async function pass(ms: number): Promise<void> {
    for (let passedMs = 0; passedMs < ms; passedMs += REFRESH_MS / 2) {
      await drain();
      await clock.advance(Math.min(REFRESH_MS / 2, ms - passedMs));
    }
    await drain();
  }
  return { clock, network, registry, sets, state, connections, pass };
}

test('a listener for readiness is called for changed connections and for sets that were read without such a change', async () => {
  const { network, connections, pass } = createHarness({ trackedSubnetIDs: [] });
  network.connect(1, 2, 3);
  const heard: (string | undefined)[] = [];
  const stop = connections.onReadinessChange(() => heard.push(connections.readiness()[0]?.reason ?? 'up'));
  await pass(0);
  expect(heard).toEqual(['up']);
  network.disconnect(1, 2, 3);
  expect(heard).toEqual(['up', '0.00 % of its weight is connected, and 67 % is needed']);
  stop();
  network.connect(1);
  await pass(2 * REFRESH_MS);
  expect(heard).toHaveLength(2);
});

describe('whom it keeps connected', () => {
  test('the primary network and the tracked subnets, from the start, and as their sets change', async () => {
    const { network, sets, pass } = createHarness();
    await pass(0);
    expect(network.wanted).toEqual(
      new Map([
        [PRIMARY_NETWORK_ID, [1, 2, 3].map(nodeOf)],
        [SUBNET, [nodeOf(4)]],
      ]),
    );
    sets.set(SUBNET, setOf(4, 5));
    await pass(REFRESH_MS);
    expect(network.wanted.get(SUBNET)).toEqual([4, 5].map(nodeOf));
  });

  test('who left a set stays for a while: signatures at earlier heights are asked for', async () => {
    const { network, sets, pass } = createHarness();
    await pass(0);
    sets.set(SUBNET, setOf(5));
    await pass(REFRESH_MS);
    expect(network.wanted.get(SUBNET)).toEqual([4, 5].map(nodeOf));
    await pass(KEEP_MS + REFRESH_MS);
    expect(network.wanted.get(SUBNET)).toEqual([nodeOf(5)]);
  });

  test('those of a subnet asked for, until no request has named them for a while', async () => {
    const { network, connections, pass } = createHarness();
    await pass(0);
    connections.track(L1, new Set([7, 8].map(nodeOf)));
    expect(network.wanted.get(asked(L1))).toEqual([7, 8].map(nodeOf));
    await pass(KEEP_MS - REFRESH_MS);
    connections.track(L1, new Set([nodeOf(8)]));
    await pass(2 * REFRESH_MS);
    expect(network.wanted.get(asked(L1))).toEqual([nodeOf(8)]);
    await pass(KEEP_MS);
    expect(network.wanted.has(asked(L1))).toBe(false);
    // The tracked ones are there all the time.
    expect(network.wanted.get(SUBNET)).toEqual([nodeOf(4)]);
  });

  test('a bounded number of subnets asked for, of which the least recent one goes, and all of the operator', async () => {
    const { network, connections, pass } = createHarness();
    await pass(0);
    const subnetOf = (number: number): SubnetID =>
      idFromBytes<SubnetID>(Uint8Array.of(...new Uint8Array(29).fill(9), 1, number >> 8, number & 0xff), 'subnet');
    const track = (number: number) => connections.track(subnetOf(number), new Set([nodeOf(9)]));
    for (let number = 0; number < 1_000; number += 1) track(number);
    track(0);
    track(1_000);
    expect(network.wanted.has(asked(subnetOf(1)))).toBe(false);
    for (const number of [0, 1_000]) expect(network.wanted.has(asked(subnetOf(number)))).toBe(true);
    for (const subnetID of [SUBNET, PRIMARY_NETWORK_ID]) expect(network.wanted.has(subnetID)).toBe(true);
    expect(network.wanted.size).toBe(1_002);
  });
});

test('current validators of the operator’s subnets are connected before those that requests name of the same subnets', async () => {
  const { network, connections, pass } = createHarness();
  await pass(0);
  connections.track(PRIMARY_NETWORK_ID, new Set([1, 2, 7, 8].map(nodeOf)));
  connections.track(SUBNET, new Set([nodeOf(9)]));
  expect([...network.preferred].toSorted()).toEqual([SUBNET, PRIMARY_NETWORK_ID].toSorted());
  expect(network.wanted).toEqual(
    new Map([
      [PRIMARY_NETWORK_ID, [1, 2, 3].map(nodeOf)],
      [SUBNET, [nodeOf(4)]],
      [asked(PRIMARY_NETWORK_ID), [7, 8].map(nodeOf)],
      [asked(SUBNET), [nodeOf(9)]],
    ]),
  );
  await pass(KEEP_MS + REFRESH_MS);
  expect([...network.wanted.keys()].toSorted()).toEqual([SUBNET, PRIMARY_NETWORK_ID].toSorted());
});

test('subnets can be tracked and left while it runs; those left stay connected as long as those of a request', async () => {
  const { clock, network, sets, connections, pass } = createHarness();
  await pass(0);
  await clock.advance(100);
  let changes = 0;
  connections.onReadinessChange(() => {
    changes += 1;
  });
  const IDs = () => connections.readiness().map(({ subnetID }) => subnetID);
  connections.trackSubnets([L1]);
  expect(changes).toBe(1);
  expect(IDs()).toEqual([PRIMARY_NETWORK_ID, L1]);
  // What stays is not read from the start.
  expect(connections.readiness()[0]?.connected?.totalWeight).toBe(6n);
  await pass(REFRESH_MS);
  expect(connections.readiness()[1]?.reason).toBe('it has no validators');
  expect([...network.preferred]).not.toContain(SUBNET);
  expect(network.wanted.has(SUBNET)).toBe(false);
  expect(network.wanted.get(asked(SUBNET))).toEqual([nodeOf(4)]);
  // A request need not wait as for one that was never named before.
  expect(connections.track(SUBNET, new Set([nodeOf(4)]))).toBe(0);
  await pass(KEEP_MS + 2 * REFRESH_MS);
  expect(network.wanted.has(asked(SUBNET))).toBe(false);
  connections.trackSubnets([SUBNET]);
  await pass(0);
  expect(IDs()).toEqual([PRIMARY_NETWORK_ID, SUBNET]);
  expect(network.wanted.get(SUBNET)).toEqual([nodeOf(4)]);
  const firstMs = connections.track(L1, new Set([nodeOf(7)]));
  await pass(REFRESH_MS);
  sets.set(L1, setOf(7));
  connections.trackSubnets([L1]);
  await pass(0);
  expect(network.preferred).toContain(L1);
  expect(connections.track(L1, new Set([nodeOf(7)]))).toBe(firstMs);
});

describe('readiness', () => {
  const isUp = ({ connections }: ReturnType<typeof createHarness>) =>
    connections.readiness().map((subnet) => subnet.isUp);

  test('needs the quorum of each subnet, and says what is missing', async () => {
    const harness = createHarness();
    const { network, connections, pass, registry } = harness;
    const reading = { isUp: false, reason: 'its validator set is being read', connected: undefined };
    expect(connections.readiness()).toEqual([
      { subnetID: PRIMARY_NETWORK_ID, ...reading },
      { subnetID: SUBNET, ...reading },
    ]);
    await pass(0);
    network.connect(1, 3);
    expect(connections.readiness()).toMatchObject([
      {
        isUp: false,
        reason: '66.66 % of its weight is connected, and 67 % is needed',
        connected: { weight: 4n, totalWeight: 6n },
      },
      { isUp: false, connected: { weight: 0n, totalWeight: 4n } },
    ]);
    network.connect(4);
    expect(isUp(harness)).toEqual([false, true]);
    network.connect(2);
    network.disconnect(1);
    expect(connections.readiness()).toMatchObject([
      { isUp: true, reason: undefined, connected: { weight: 5n, totalWeight: 6n } },
      { isUp: true, reason: undefined },
    ]);
    // Read on scrape, without a prior call of readiness().
    network.disconnect(4);
    const metrics = await registry.metrics();
    expect(metrics).toContain(
      `signature_aggregator_connected_weight_ratio{subnet_id="${PRIMARY_NETWORK_ID}"} 0.8333\n`,
    );
    expect(metrics).toContain(`signature_aggregator_connected_weight_ratio{subnet_id="${SUBNET}"} 0\n`);
  });

  test('does not come for a tracked subnet without validators, and comes soon after it has some', async () => {
    const harness = createHarness({ trackedSubnetIDs: [L1] });
    const { network, connections, sets, pass, clock, registry } = harness;
    await pass(0);
    network.connect(1, 2, 3, 5);
    expect(isUp(harness)).toEqual([true, false]);
    expect(connections.readiness()[1]?.reason).toBe('it has no validators');
    expect(await registry.metrics()).not.toContain(`connected_weight_ratio{subnet_id="${L1}"`);
    sets.set(L1, setOf(5));
    await clock.advance(1_000);
    await drain();
    expect(isUp(harness)).toEqual([true, true]);
  });
});

describe('an API that fails', () => {
  test('is asked again: soon at the start, else at the next refresh', async () => {
    const { state, network, connections, pass, clock } = createHarness({
      failure: new ApiError('unavailable', 'no connection'),
    });
    await pass(0);
    const reason = 'its validator set cannot be read: no connection';
    expect(connections.readiness()).toMatchObject(Array(2).fill({ reason, isApiDown: true }));
    state.failure = undefined;
    await clock.advance(1_000);
    await drain();
    expect(network.wanted.size).toBe(2);
    state.failure = new Error('down again');
    await pass(REFRESH_MS);
    expect(network.wanted.size).toBe(2);
  });

  test('leaves a subnet up whose validators are connected, with the reason until it is read again', async () => {
    const { state, network, connections, pass } = createHarness();
    await pass(0);
    network.connect(1, 2, 3, 4);
    state.failure = new ApiError('unavailable', 'no connection');
    await pass(REFRESH_MS);
    expect(connections.readiness()).toMatchObject(
      Array(2).fill({ isUp: true, reason: 'its validator set cannot be read anew: no connection' }),
    );
    state.failure = undefined;
    await pass(REFRESH_MS);
    expect(connections.readiness()).toMatchObject(Array(2).fill({ isUp: true, reason: undefined }));
  });

  test.each(['fails', 'hangs'] as const)('for one subnet (it %s) leaves the others as fresh as ever', async (how) => {
    const { state, sets, network, connections, pass } = createHarness({ trackedSubnetIDs: [L1, SUBNET] });
    state.unreadable = { subnetID: L1, how };
    await pass(0);
    expect(network.wanted.get(SUBNET)).toEqual([nodeOf(4)]);
    sets.set(SUBNET, setOf(4, 5));
    sets.set(PRIMARY_NETWORK_ID, setOf(1, 2, 3, 6));
    await pass(REFRESH_MS);
    expect(network.wanted.get(SUBNET)).toEqual([4, 5].map(nodeOf));
    expect(network.wanted.get(PRIMARY_NETWORK_ID)).toEqual([1, 2, 3, 6].map(nodeOf));
    expect(connections.readiness()[1]).toMatchObject({
      isUp: false,
      reason:
        how === 'fails'
          ? 'its validator set cannot be read: refused'
          : 'its validator set cannot be read: reading the validator set took longer than 10000 ms',
    });
    state.unreadable = undefined;
    sets.set(L1, setOf(7));
    await pass(REFRESH_MS);
    expect(network.wanted.get(L1)).toEqual([nodeOf(7)]);
  });
});

const SIGNATURE = new Uint8Array(96).fill(5);
test.each<[string, AppOutcome, AttemptOutcome]>([
  [
    'a signature',
    { kind: 'response', bytes: encodeSignatureResponse(SIGNATURE) },
    { kind: 'signed', signature: SIGNATURE },
  ],
  [
    'a signature of another length',
    { kind: 'response', bytes: encodeSignatureResponse(SIGNATURE.subarray(1)) },
    { kind: 'invalid_signature', reason: expect.stringContaining('95 bytes') },
  ],
  ['a refusal', { kind: 'refused', code: 9, text: 'no' }, { kind: 'refused', code: 9, text: 'no' }],
  ['silence', { kind: 'timed_out', reason: 'request_dropped' }, { kind: 'timed_out', reason: 'request_dropped' }],
])('a signature request is sent to the source chain, and returns %s', async (_, answer, expected) => {
  const { connections, network } = createHarness();
  network.outcome = answer;
  const appBytes = Uint8Array.of(4);
  const query = { sourceChainID: CHAIN, message: Uint8Array.of(1), justification: Uint8Array.of(3), appBytes };
  const options = { timeoutMs: 100, signal: new AbortController().signal };
  expect(await connections.requestSignature(nodeOf(1), query, options)).toEqual(expected);
  expect(network.requests).toEqual([{ nodeID: nodeOf(1), chainID: CHAIN, appBytes }]);
});

test('says why a node is not connected, also before the first attempt', () => {
  const { connections, network } = createHarness();
  expect(connections.whyUnreachable(nodeOf(1))).toBe('not connected yet');
  network.failure = 'no address known';
  expect(connections.whyUnreachable(nodeOf(1))).toBe('no address known');
});
