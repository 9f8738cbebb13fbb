import { Registry } from 'prom-client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Devnet, startDevnet } from '../../../src/devnet/devnet.ts';
import { ApiError } from '../../../src/pchain/rpc/api-error.ts';
import { JsonRpcClient } from '../../../src/pchain/rpc/json-rpc.ts';
import { createNodeApi, type NodeApi } from '../../../src/pchain/rpc/node-api.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { createWarpSet } from '../../../src/validators/warp-set.ts';
import { PRIMARY_NETWORK_ID } from '../../../src/warp/ids.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { type RpcExchange, readRpcExchanges } from '../../vectors/vectors.ts';

const SIGNAL = new AbortController().signal;
const clock = new FakeClock();
let devnet: Devnet;
let client: JsonRpcClient;
let api: NodeApi;
let cleanup: AsyncDisposableStack;
beforeAll(async () => {
  cleanup = new AsyncDisposableStack();
  devnet = cleanup.use(
    await startDevnet({
      validators: 40,
      clock,
      logger: createLogger('silent'),
      ...{ sharedBlsKeys: [[5, 6]], keyless: [7] },
    }),
  );
  const endpoints = [{ baseUrl: devnet.apiUrl }];
  client = cleanup.use(
    new JsonRpcClient({ endpoints, clock, random: () => 0, metrics: createMetrics(new Registry()) }),
  );
  api = createNodeApi(client, client);
});
afterAll(() => cleanup.disposeAsync());

async function post(path: string, body: string, contentType = 'application/json') {
  const response = await fetch(`${devnet.apiUrl}${path}`, {
    method: 'POST',
    headers: { 'content-type': contentType },
    body,
  });
  return { status: response.status, contentType: response.headers.get('content-type'), text: await response.text() };
}

async function call(path: string, method: string, params?: unknown): Promise<Record<string, unknown>> {
  const { text } = await post(path, JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }));
  return JSON.parse(text);
}

describe('answers have the shape of those of a real node', () => {
  const real = [...readRpcExchanges('pchain'), ...readRpcExchanges('info')];
  const l1ID = 'BKBZ6xXTnT86B4L5fp8rvtcmNSpvtNz8En9jG61ywV2uWyeHy';
  const l1Chain = 'C8B3Aw6QFwB1AiFqM2FpxphUPTYZfmW8ZpeQKXR5nPEXjW4u8';
  const served = new Set([
    'platform.getHeight',
    'platform.getProposedHeight',
    'platform.getValidatorsAt',
    'platform.getCurrentValidators',
    'platform.validatedBy',
    'platform.getSubnet',
    'platform.getTx',
    'platform.getBlockchains',
    'info.getNetworkID',
    'info.getNodeVersion',
    'info.getNodeID',
    'info.getNodeIP',
    'info.peers',
    'info.upgrades',
  ]);

  /** What a value is made of: every list and every object by NodeID by the shape of its elements. */
  function shapeOf(value: unknown): unknown {
    if (Array.isArray(value)) return [...new Set(value.map((element) => JSON.stringify(shapeOf(element))))].slice(0, 1);
    if (typeof value !== 'object' || value === null) return typeof value;
    const entries = Object.entries(value).map(([key, field]): [string, unknown] => [
      key.startsWith('NodeID-') ? 'NodeID' : key,
      key === 'proofOfPossession' || key === 'vmVersions' ? 'left out or other' : shapeOf(field),
    ]);
    return Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)));
  }

  /** The vectors' request, about our subnets and chains. */
  function ours({ request, url }: RpcExchange) {
    const text = JSON.stringify(request)
      .replaceAll(l1ID, devnet.subnets.l1.subnetID)
      .replaceAll(l1Chain, devnet.subnets.l1.blockchainID)
      .replaceAll('2owdGqyG6FFzTHy5qhenDXQcEghvr571KZE3gSfRJERSJinuwC', devnet.subnets.primary.cChainID)
      .replaceAll('2eNy1mUFdmaxXNj1eQHUe7Np4gju9sJsEtWQ4MX3ToiNKuADed', devnet.subnets.primary.xChainID);
    return { path: new URL(url).pathname, text };
  }

  const cases = real
    .filter(({ request }) => served.has(request.method))
    .map((exchange) => ({ exchange, name: `${exchange.request.method} ${JSON.stringify(exchange.request.params)}` }));

  test('of each method that is served', () => {
    expect(new Set(cases.map(({ exchange }) => exchange.request.method))).toEqual(served);
  });

  test.each(cases)('$name', async ({ exchange }) => {
    const { path, text } = ours(exchange);
    const answer = await post(path, text);
    expect(answer).toMatchObject({ status: 200, contentType: 'application/json; charset=utf-8' });
    const { result, error } = JSON.parse(answer.text) as RpcExchange['response'];
    expect(error).toEqual(exchange.response.error);
    const expected = JSON.parse(JSON.stringify(exchange.response.result ?? null));
    for (const validator of expected?.validators ?? []) delete validator.signer?.proofOfPossession;
    // A validator without a key is of another shape; the first of the list stands for all.
    expect(shapeOf(result ?? null)).toEqual(shapeOf(expected));
  });

  test('on the other path of the P-Chain', async () => {
    expect(await call('/ext/P', 'platform.getHeight')).toMatchObject({ result: { height: '200' } });
  });
});

describe('the client of this project gets', () => {
  test('some peers: not the node itself, nor the validators of the L1 alone, nor who stopped', async () => {
    await devnet.validator(2).stop();
    const peers = await api.getPeers(SIGNAL);
    await devnet.validator(2).start();
    const listed = [1, ...Array.from({ length: 30 }, (_, index) => index + 3)];
    expect(peers).toEqual(
      listed.map((index) => {
        const { nodeID, address } = devnet.validator(index);
        return { nodeID, host: address.host, port: address.port };
      }),
    );
  });

  test('validator sets in which two validators share a key and one has none', async () => {
    const set = createWarpSet(await api.getValidatorsAt(PRIMARY_NETWORK_ID, 'proposed', SIGNAL));
    expect(set.validators).toHaveLength(38);
    const shared = set.validators.filter(({ nodeIDs }) => nodeIDs.length > 1);
    expect(shared.map(({ nodeIDs }) => new Set(nodeIDs))).toEqual([new Set(devnet.nodeIDs.slice(5, 7))]);
    expect(set.validators.some(({ nodeIDs }) => nodeIDs.includes(devnet.validator(7).nodeID))).toBe(false);
    const current = await api.getCurrentValidators(PRIMARY_NETWORK_ID, SIGNAL);
    expect(current).toHaveLength(40);
    expect(current.reduce((sum, { weight }) => sum + weight, 0n)).toBe(set.totalWeight);
  });

  test('another set of the L1 at an older height', async () => {
    const { subnetID, olderHeight } = devnet.subnets.l1;
    const older = await api.getValidatorsAt(subnetID, BigInt(olderHeight), SIGNAL);
    const now = await api.getValidatorsAt(subnetID, 'proposed', SIGNAL);
    expect(older.map(({ nodeID }) => nodeID)).toContain(devnet.nodeIDs[1]);
    expect(now.map(({ nodeID }) => nodeID)).not.toContain(devnet.nodeIDs[1]);
    expect(await api.getValidatorsAt(subnetID, 99n, SIGNAL)).toEqual([]);
  });

  test('heights that rise, and none beyond', async () => {
    const before = await api.getHeight(SIGNAL);
    await clock.advance(20_000);
    const height = await api.getHeight(SIGNAL);
    expect(height).toBe(before + 2n);
    expect(await api.getProposedHeight(SIGNAL)).toBe(height - 1n);
    expect(await api.getValidatorsAt(PRIMARY_NETWORK_ID, height, SIGNAL)).toHaveLength(40);
    const refused = await api
      .getValidatorsAt(PRIMARY_NETWORK_ID, 2n ** 64n - 1n, SIGNAL)
      .catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(ApiError);
    expect((refused as ApiError).rejection).toEqual({
      code: -32000,
      message: `failed to get validator set at 18446744073709551615: failed to fetch validator set at unfinalized height with SubnetID = ${PRIMARY_NETWORK_ID}: current P-chain height (${height}) < requested P-Chain height (18446744073709551615)`,
    });
  });

  test('the conversion of the L1, with its validators', async () => {
    const { subnetID, blockchainID, managerAddress } = devnet.subnets.l1;
    const subnet = await api.getSubnet(subnetID, SIGNAL);
    expect(subnet).toMatchObject({ isPermissioned: false, managerChainID: blockchainID });
    expect(`0x${Buffer.from(subnet.managerAddress ?? []).toString('hex')}`).toBe(managerAddress);
    const validators = await api.getCurrentValidators(subnetID, SIGNAL);
    expect(validators.map(({ balance, minNonce }) => [balance, minNonce])).toEqual([
      [1_000_000_000n, 0n],
      [1_000_000_000n, 2n],
      [0n, 0n],
      [1_000_000_000n, 0n],
      [1_000_000_000n, 0n],
    ]);
  });
});

describe('the canonical sets of all subnets, in the form of a node', () => {
  async function warpSets(height: unknown): Promise<Record<string, WarpSet>> {
    const { result } = await call('/ext/bc/P', 'platform.getAllValidatorsAt', { height });
    return (result as { validatorSets: Record<string, WarpSet> }).validatorSets;
  }

  interface WarpSet {
    readonly validators: readonly { publicKey: string; weight: string; nodeIDs: string[] }[];
    readonly totalWeight: string;
  }

  test.each(['proposed', 201, '201'])('at height %s', async (height) => {
    const sets = await warpSets(height);
    const { subnetID } = devnet.subnets.l1;
    expect(Object.keys(sets)).toEqual([PRIMARY_NETWORK_ID, subnetID].toSorted());
    for (const id of [PRIMARY_NETWORK_ID, subnetID]) {
      const { validators, totalWeight } = createWarpSet(await api.getValidatorsAt(id, 'proposed', SIGNAL));
      expect(sets[id]).toEqual({
        validators: validators.map(({ publicKeyHex, weight, nodeIDs }) => ({
          publicKey: `0x${publicKeyHex}`,
          weight: String(weight),
          nodeIDs,
        })),
        totalWeight: String(totalWeight),
      });
    }
  });

  test('without a subnet that has no validators yet, and at no height beyond the last', async () => {
    expect(Object.keys(await warpSets(99))).toEqual([PRIMARY_NETWORK_ID]);
    const height = await api.getHeight(SIGNAL);
    expect(await call('/ext/bc/P', 'platform.getAllValidatorsAt', { height: 999 })).toMatchObject({
      error: {
        code: -32000,
        message: `failed to get validator sets at 999: failed to fetch validator set at unfinalized height: current P-chain height (${height}) < requested P-Chain height (999)`,
      },
    });
  });
});

describe('a bad call is refused', () => {
  test.each([
    ['no JSON', '{', -32700],
    ['no object', '[]', -32700],
    ['another JSON-RPC', '{"jsonrpc":"1.0","id":1,"method":"platform.getHeight"}', -32600],
    ['an unknown method', '{"jsonrpc":"2.0","id":1,"method":"platform.issueTx"}', -32000],
    ['a method of all objects', '{"jsonrpc":"2.0","id":1,"method":"constructor"}', -32000],
    ['an ID that is none', '{"jsonrpc":"2.0","id":1,"method":"platform.getSubnet","params":{"subnetID":"x"}}', -32000],
    [
      'a negative height',
      '{"jsonrpc":"2.0","id":1,"method":"platform.getValidatorsAt","params":{"height":-1}}',
      -32000,
    ],
    ['params that are none', '{"jsonrpc":"2.0","id":1,"method":"platform.getHeight","params":5}', -32000],
  ])('%s', async (_, body, code) => {
    const { status, text } = await post('/ext/bc/P', body);
    expect([status, JSON.parse(text)]).toMatchObject([200, { jsonrpc: '2.0', error: { code, data: null } }]);
  });

  test('another content type, another method, another path', async () => {
    expect(await post('/ext/bc/P', '{}', 'text/plain')).toMatchObject({ status: 415 });
    expect(await fetch(`${devnet.apiUrl}/ext/info`)).toMatchObject({ status: 404 });
    expect(await post('/ext/bc/Y', '{}')).toMatchObject({ status: 404 });
  });
});
