import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { ApiError } from '../../../src/pchain/rpc/api-error.ts';
import { JsonRpcClient } from '../../../src/pchain/rpc/json-rpc.ts';
import { createNodeApi } from '../../../src/pchain/rpc/node-api.ts';
import { createSubnetDirectory, type SubnetDirectory } from '../../../src/pchain/state/subnet-directory.ts';
import {
  createValidatorSets,
  HeightNotReached,
  type ValidatorSets,
  type ValidatorSetsLimits,
} from '../../../src/pchain/state/validator-sets.ts';
import type { SharedValidatorSets } from '../../../src/store/redis/shared-validator-sets.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import type { Validator } from '../../../src/validators/validator.ts';
import {
  type BlockchainID,
  idFromBytes,
  nodeIDFromBytes,
  P_CHAIN_ID,
  PRIMARY_NETWORK_ID,
  type SubnetID,
} from '../../../src/warp/ids.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { LocalApi, type ReceivedRequest, type Reply } from './local-api.ts';

const SIGNAL = new AbortController().signal;
const L1 = idFromBytes<SubnetID>(new Uint8Array(32).fill(1), 'subnetID');
const CHAIN = idFromBytes<BlockchainID>(new Uint8Array(32).fill(2), 'blockchainID');
const EMPTY_ID = PRIMARY_NETWORK_ID;
const CONVERSION_ID = idFromBytes<SubnetID>(new Uint8Array(32).fill(3), 'conversionID');
const NOT_FOUND: Reply = { error: { code: -32000, message: 'not found' } };

interface Setup extends AsyncDisposable {
  readonly api: LocalApi;
  readonly clock: FakeClock;
  readonly sets: ValidatorSets<{ readonly validators: readonly Validator[] }>;
  readonly directory: SubnetDirectory;
  /** How often a set was built. */
  readonly built: () => number;
}

async function setUp(
  reply: (request: ReceivedRequest) => Reply,
  limits: Partial<ValidatorSetsLimits> = {},
  shared?: SharedValidatorSets,
): Promise<Setup> {
  const api = await LocalApi.start(reply);
  const clock = new FakeClock();
  const client = new JsonRpcClient({
    endpoints: [{ baseUrl: api.baseUrl }],
    clock,
    random: () => 0,
    metrics: createMetrics(new Registry()),
    limits: { maxRounds: 1 },
  });
  const node = createNodeApi(client, client);
  let built = 0;
  const build = async (validators: readonly Validator[]): Promise<{ readonly validators: readonly Validator[] }> => {
    built += 1;
    return { validators };
  };
  return {
    api,
    clock,
    sets: createValidatorSets({ api: node, clock, build, limits, shared }),
    directory: createSubnetDirectory(node, clock),
    built: () => built,
    async [Symbol.asyncDispose]() {
      await client[Symbol.asyncDispose]();
      await api[Symbol.asyncDispose]();
    },
  };
}

/** Three validators, one without a key, whose weights are the height. */
function validatorsAt({ params }: ReceivedRequest): Reply {
  const entries = Array.from({ length: 3 }, (_, index) => {
    const nodeID = nodeIDFromBytes(new Uint8Array(20).fill(index + 1));
    return [nodeID, { publicKey: index === 0 ? null : `0x${'0'.repeat(95)}${index}`, weight: params.height }];
  });
  return { result: Object.fromEntries(entries) };
}

/** A node whose chain is at height 20 and whose proposed height is 18. */
function node(request: ReceivedRequest): Reply {
  switch (request.method) {
    case 'platform.getProposedHeight':
      return { result: { height: '18' } };
    case 'platform.getHeight':
      return { result: { height: '20' } };
    case 'platform.getValidatorsAt':
      return Number(request.params.height) <= 20 ? validatorsAt(request) : NOT_FOUND;
    case 'platform.validatedBy':
      return { result: { subnetID: L1 } };
    default:
      return NOT_FOUND;
  }
}

describe('a repeated request', () => {
  it('makes no API call within a second, and then only for the height', async () => {
    await using setup = await setUp(node);
    const request = async (): Promise<unknown> => {
      const subnetID = await setup.directory.validatedBy(CHAIN, SIGNAL);
      if (subnetID === undefined || !(await setup.directory.exists(subnetID, SIGNAL))) return expect.fail('no subnet');
      return setup.sets.at(subnetID, await setup.sets.proposedHeight(SIGNAL), SIGNAL);
    };
    const set = await request();
    expect(setup.api.requests.map(({ method }) => method)).toEqual([
      'platform.validatedBy',
      'platform.getProposedHeight',
      'platform.getValidatorsAt',
    ]);
    await setup.clock.advance(999);
    expect(await request()).toBe(set);
    expect(setup.api.requests).toHaveLength(3);
    await setup.clock.advance(1);
    expect(await request()).toBe(set);
    expect(setup.api.requests.slice(3).map(({ method }) => method)).toEqual(['platform.getProposedHeight']);
  });
});

describe('ValidatorSets', () => {
  it('shares equal calls in flight', async () => {
    await using setup = await setUp(node);
    const heights = await Promise.all(Array.from({ length: 10 }, () => setup.sets.proposedHeight(SIGNAL)));
    expect(new Set(heights)).toEqual(new Set([18n]));
    const sets = await Promise.all(Array.from({ length: 10 }, () => setup.sets.at(L1, 18n, SIGNAL)));
    expect(new Set(sets).size).toBe(1);
    expect(setup.api.requests).toHaveLength(2);
    expect(setup.built()).toBe(1);
  });

  it('builds once for heights with equal validators, and again after a change', async () => {
    const nodeID = (name: string) => nodeIDFromBytes(new Uint8Array(20).fill(name.charCodeAt(0)));
    const publicKey = (key: string) => (key === '-' ? null : `0x${key.repeat(96)}`);
    // Node, key and weight of each validator, by height.
    const results = [
      'aA1 b-2',
      'aA1 b-2',
      'aA1 b-3',
      'aB1 b-3',
      'aB1 bA3',
      'a-1 bA3',
      'a-1 bA3 cA4',
      'a-1 bA3',
      'a-1 cA3',
      '',
    ]
      .map((text) => text.split(' ').filter((validator) => validator !== ''))
      .map((set) =>
        set.map(([id = '', key = '', weight]) => [nodeID(id), { publicKey: publicKey(key), weight }] as const),
      );
    await using setup = await setUp(({ params }) => {
      return { result: Object.fromEntries(results[Number(params.height)] ?? []) };
    });
    const sets = [];
    for (const height of results.keys()) sets.push(await setup.sets.at(L1, BigInt(height), SIGNAL));
    expect(sets[1]).toBe(sets[0]);
    expect(new Set(sets).size).toBe(results.length - 1);
    expect(setup.built()).toBe(results.length - 1);
    expect(sets.map(({ validators }) => validators.length)).toEqual(results.map(({ length }) => length));
  });

  it('bounds the sets and their validators', async () => {
    await using few = await setUp(node, { maxSets: 2 });
    for (const height of [1n, 2n, 3n, 2n, 3n]) await few.sets.at(L1, height, SIGNAL);
    expect(few.api.requests).toHaveLength(3);
    await few.sets.at(L1, 1n, SIGNAL);
    expect(few.api.requests).toHaveLength(4);

    // Three validators and one for the set itself: two sets fit.
    await using small = await setUp(node, { maxValidators: 8 });
    for (const height of [1n, 2n, 3n, 2n, 3n]) await small.sets.at(L1, height, SIGNAL);
    expect(small.api.requests).toHaveLength(3);
    await small.sets.at(L1, 1n, SIGNAL);
    expect(small.api.requests).toHaveLength(4);

    // A set too large to keep is still given.
    await using tiny = await setUp(node, { maxValidators: 3 });
    expect((await tiny.sets.at(L1, 1n, SIGNAL)).validators).toHaveLength(3);
  });

  it('heights named by clients do not evict sets at proposed heights', async () => {
    await using setup = await setUp(node, { maxSets: 4, maxPinnedSets: 2, maxPinnedValidators: 8 });
    const { api, sets } = setup;
    const readHeights = (): unknown[] => api.requests.splice(0).map(({ params }) => params.height);
    const current = await sets.at(L1, 18n, SIGNAL);
    for (let height = 1n; height <= 17n; height += 1n) await sets.atPinned(L1, height, SIGNAL);
    expect(readHeights()).toHaveLength(18);
    expect(await sets.at(L1, 18n, SIGNAL)).toBe(current);
    expect(await sets.atPinned(L1, 18n, SIGNAL)).toBe(current);
    expect(sets.newest()).toEqual([[L1, current]]);
    expect(readHeights()).toEqual([]);
    // Of the others the last two are.
    for (const height of [16n, 17n, 15n]) await sets.atPinned(L1, height, SIGNAL);
    expect(readHeights()).toEqual([15]);
  });

  it('reads heights named by clients from the shared store, and writes none of them', async () => {
    const put: bigint[] = [];
    const shared: SharedValidatorSets = {
      at: async (_, height) => (height === 7n ? [] : undefined),
      put: (_, height) => void put.push(height),
    };
    await using setup = await setUp(node, {}, shared);
    expect((await setup.sets.atPinned(L1, 7n, SIGNAL)).validators).toEqual([]);
    await setup.sets.atPinned(L1, 8n, SIGNAL);
    await setup.sets.at(L1, 18n, SIGNAL);
    expect(setup.api.requests.map(({ params }) => params.height)).toEqual([8, 18]);
    expect(put).toEqual([18n]);
  });

  it('bounds the validators in sets at heights named by clients', async () => {
    await using setup = await setUp(node, { maxPinnedSets: 10, maxPinnedValidators: 8 });
    for (const height of [1n, 2n, 3n, 2n, 3n, 1n]) await setup.sets.atPinned(L1, height, SIGNAL);
    expect(setup.api.requests.map(({ params }) => params.height)).toEqual([1, 2, 3, 1]);
  });

  it('builds a set once for a height that is named by a client and proposed', async () => {
    await using setup = await setUp((request) =>
      validatorsAt({ ...request, params: { ...request.params, height: 1 } }),
    );
    const pinned = await setup.sets.atPinned(L1, 5n, SIGNAL);
    expect(await setup.sets.at(L1, 6n, SIGNAL)).toBe(pinned);
    expect(await setup.sets.atPinned(L1, 7n, SIGNAL)).toBe(pinned);
    expect([setup.api.requests.length, setup.built()]).toEqual([3, 1]);
  });

  it('distinguishes a height above the chain from other errors, and caches neither', async () => {
    await using setup = await setUp(node);
    const refused = setup.sets.at(L1, 21n, SIGNAL);
    await expect(refused).rejects.toBeInstanceOf(HeightNotReached);
    await expect(refused).rejects.toMatchObject({ height: 21n, chainHeight: 20n });
    setup.api.reply = (request) => validatorsAt(request);
    expect((await setup.sets.at(L1, 21n, SIGNAL)).validators).toHaveLength(3);

    setup.api.reply = (request) => (request.method === 'platform.getValidatorsAt' ? NOT_FOUND : node(request));
    await expect(setup.sets.at(L1, 4n, SIGNAL)).rejects.toMatchObject({ kind: 'rejected' });
    setup.api.reply = node;
    expect((await setup.sets.at(L1, 4n, SIGNAL)).validators).toHaveLength(3);
  });

  it('returns the set of a height that the chain reaches during the call', async () => {
    let height = 20;
    await using setup = await setUp((request) => {
      if (request.method === 'platform.getHeight') height = 21;
      else if (Number(request.params.height) > height) return NOT_FOUND;
      return request.method === 'platform.getHeight' ? { result: { height } } : validatorsAt(request);
    });
    expect((await setup.sets.at(L1, 21n, SIGNAL)).validators).toHaveLength(3);
  });

  it('does not cache a failure or its proposed height', async () => {
    await using setup = await setUp(() => ({ status: 500, text: '' }));
    await expect(setup.sets.proposedHeight(SIGNAL)).rejects.toBeInstanceOf(ApiError);
    await expect(setup.sets.at(L1, 5n, SIGNAL)).rejects.toMatchObject({ kind: 'unavailable' });
    setup.api.reply = node;
    expect(await setup.sets.proposedHeight(SIGNAL)).toBe(18n);
    expect((await setup.sets.at(L1, 5n, SIGNAL)).validators).toHaveLength(3);
  });

  it('an aborted caller does not affect the others', async () => {
    await using setup = await setUp(() => 'hang');
    const abort = new AbortController();
    const leaving = setup.sets.at(L1, 5n, abort.signal);
    const staying = setup.sets.at(L1, 5n, SIGNAL).catch((error: unknown) => error);
    await setup.api.received(1);
    abort.abort(new Error('left'));
    await expect(leaving).rejects.toThrow('left');
    await setup.clock.advance(4_000);
    expect(await staying).toMatchObject({ kind: 'unavailable' });
    expect(setup.api.requests).toHaveLength(1);
    await expect(setup.sets.proposedHeight(AbortSignal.abort(new Error('gone')))).rejects.toThrow('gone');
  });
});

describe('SubnetDirectory', () => {
  const subnet = (conversionID: string): Reply => ({
    result: { isPermissioned: conversionID === EMPTY_ID, conversionID, managerChainID: CHAIN, managerAddress: '0x01' },
  });

  it('needs no call for the P-Chain and the primary network', async () => {
    await using setup = await setUp(node);
    expect(await setup.directory.validatedBy(P_CHAIN_ID, SIGNAL)).toBe(PRIMARY_NETWORK_ID);
    expect(await setup.directory.exists(PRIMARY_NETWORK_ID, SIGNAL)).toBe(true);
    expect(await setup.directory.getSubnet(PRIMARY_NETWORK_ID, SIGNAL)).toMatchObject({ conversionID: undefined });
    expect(setup.api.requests).toHaveLength(0);
  });

  it('caches the subnet of a blockchain, and an unknown blockchain for some seconds', async () => {
    await using setup = await setUp(() => NOT_FOUND);
    expect(await setup.directory.validatedBy(CHAIN, SIGNAL)).toBeUndefined();
    setup.api.reply = node;
    await setup.clock.advance(2_999);
    expect(await setup.directory.validatedBy(CHAIN, SIGNAL)).toBeUndefined();
    expect(setup.directory.knownSubnetOf(CHAIN)).toBeUndefined();
    expect(setup.api.requests).toHaveLength(1);
    await setup.clock.advance(1);
    const answers = await Promise.all(Array.from({ length: 5 }, () => setup.directory.validatedBy(CHAIN, SIGNAL)));
    expect(answers).toEqual(Array.from({ length: 5 }, () => L1));
    expect(await setup.directory.exists(L1, SIGNAL)).toBe(true);
    expect(setup.directory.knownSubnetOf(CHAIN)).toBe(L1);
    expect(setup.api.requests).toHaveLength(2);
  });

  it('caches the existence of a subnet, and an unknown subnet for some seconds', async () => {
    await using setup = await setUp(() => NOT_FOUND);
    expect(await setup.directory.exists(L1, SIGNAL)).toBe(false);
    setup.api.reply = () => subnet(EMPTY_ID);
    await setup.clock.advance(2_999);
    expect(await setup.directory.getSubnet(L1, SIGNAL)).toBeUndefined();
    expect(setup.directory.isKnown(L1)).toBe(false);
    expect(setup.api.requests).toHaveLength(1);
    await setup.clock.advance(1);
    expect(await setup.directory.exists(L1, SIGNAL)).toBe(true);
    expect(await setup.directory.exists(L1, SIGNAL)).toBe(true);
    expect(setup.directory.isKnown(L1)).toBe(true);
    expect(setup.api.requests).toHaveLength(2);
  });

  it('knows a subnet through its chain, also after a negative entry', async () => {
    await using setup = await setUp(() => NOT_FOUND);
    expect(await setup.directory.exists(L1, SIGNAL)).toBe(false);
    setup.api.reply = (request) => (request.method === 'platform.getSubnet' ? subnet(EMPTY_ID) : node(request));
    expect(await setup.directory.validatedBy(CHAIN, SIGNAL)).toBe(L1);
    expect(await setup.directory.getSubnet(L1, SIGNAL)).toMatchObject({ conversionID: undefined });
  });

  it('unknown chains do not evict existing ones', async () => {
    const others = Array.from({ length: 10_050 }, (_, index) => {
      const bytes = new Uint8Array(32).fill(7);
      new DataView(bytes.buffer).setUint32(0, index);
      return idFromBytes<BlockchainID>(bytes, 'blockchainID');
    });
    const asked: BlockchainID[] = [];
    const api: Parameters<typeof createSubnetDirectory>[0] = {
      async validatedBy(chainID) {
        asked.push(chainID);
        if (chainID === CHAIN) return L1;
        throw new ApiError('rejected', 'refused', { rejection: { code: -32_000, message: 'not found' } });
      },
      getSubnet: () => Promise.reject(new Error('nobody asks')),
    };
    const directory = createSubnetDirectory(api, new FakeClock());
    for (const chainID of [CHAIN, ...others]) await directory.validatedBy(chainID, SIGNAL);
    asked.length = 0;
    // Those that came last are remembered, the first of them are not: there is a bound.
    for (const chainID of [CHAIN, ...others.slice(-10_000)]) await directory.validatedBy(chainID, SIGNAL);
    expect(asked).toEqual([]);
    await directory.validatedBy(others[0] as BlockchainID, SIGNAL);
    expect(asked).toEqual([others[0]]);
  });

  it('notices and caches the conversion of a subnet', async () => {
    await using setup = await setUp(() => subnet(EMPTY_ID));
    expect(await setup.directory.getSubnet(L1, SIGNAL)).toMatchObject({
      isPermissioned: true,
      conversionID: undefined,
    });
    setup.api.reply = () => subnet(CONVERSION_ID);
    const l1 = await setup.directory.getSubnet(L1, SIGNAL);
    expect(l1).toMatchObject({
      isPermissioned: false,
      conversionID: new Uint8Array(32).fill(3),
      managerChainID: CHAIN,
    });
    expect(await setup.directory.getSubnet(L1, SIGNAL)).toBe(l1);
    expect(setup.api.requests).toHaveLength(2);
  });

  it('caches only the error of the method as unknown', async () => {
    await using setup = await setUp(() => ({ error: { code: -32601, message: 'no such method' } }));
    await expect(setup.directory.validatedBy(CHAIN, SIGNAL)).rejects.toMatchObject({ kind: 'rejected' });
    setup.api.reply = () => ({ status: 503, text: '' });
    await expect(setup.directory.exists(L1, SIGNAL)).rejects.toMatchObject({ kind: 'unavailable' });
  });
});
