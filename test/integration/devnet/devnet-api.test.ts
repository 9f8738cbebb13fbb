import { hash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Devnet, startDevnet } from '../../../src/devnet/devnet.ts';
import { createNetworkModel, type ModelNode } from '../../../src/devnet/network-model.ts';
import { createNodeApiServer } from '../../../src/devnet/node/node-api-server.ts';
import { parsePChainTransaction } from '../../../src/pchain/codec/l1-transaction.ts';
import { SEND_WARP_MESSAGE, WARP_PRECOMPILE } from '../../../src/pchain/codec/send-warp-log.ts';
import { type ChainApi, createChainApi } from '../../../src/pchain/rpc/chain-api.ts';
import { createNodeApi, type NodeApi } from '../../../src/pchain/rpc/node-api.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';
import { createWarpSet } from '../../../src/validators/warp-set.ts';
import {
  type BlockchainID,
  idFromBytes,
  type NodeID,
  P_CHAIN_ID,
  PRIMARY_NETWORK_ID,
  type TxID,
  type ValidationID,
} from '../../../src/warp/ids.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { type RpcExchange, readRpcExchanges } from '../../vectors/vectors.ts';
import { openClient } from '../pchain/local-api.ts';

const SIGNAL = new AbortController().signal;
const UNKNOWN = idFromBytes<BlockchainID & TxID & ValidationID>(new Uint8Array(32).fill(1), 'ID');
const rejected = { code: 'rejected', rejection: { code: -32_000 } };
const clock = new FakeClock();
let devnet: Devnet;
let api: NodeApi;
let chains: ChainApi;
let cleanup: AsyncDisposableStack;
beforeAll(async () => {
  cleanup = new AsyncDisposableStack();
  const logger = createLogger('silent');
  devnet = cleanup.use(await startDevnet({ validators: 40, clock, logger }));
  const client = cleanup.use(openClient(devnet.apiUrl, clock));
  api = createNodeApi(client, client);
  chains = createChainApi(client);
});
afterAll(() => cleanup.disposeAsync());

async function post(path: string, body: string, contentType = 'application/json') {
  const headers = { 'content-type': contentType };
  const response = await fetch(`${devnet.apiUrl}${path}`, { method: 'POST', headers, body });
  return { status: response.status, contentType: response.headers.get('content-type'), text: await response.text() };
}

async function call<Result>(path: string, method: string, params?: object): Promise<Result> {
  const { text } = await post(path, JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }));
  const { result, error } = JSON.parse(text) as { result?: Result; error?: unknown };
  return result === undefined ? (error as Result) : result;
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

  const FREE = new Set(['proofOfPossession', 'vmVersions']);

  /** What a value is made of: every list and every object by NodeID by the shape of its elements. A validator may have no key. */
  function shapeOf(value: unknown): unknown {
    if (Array.isArray(value)) return [...new Set(value.map((element) => JSON.stringify(shapeOf(element))))].slice(0, 1);
    if (typeof value !== 'object' || value === null) return typeof value;
    const entries = Object.entries(value).map(([key, field]): [string, unknown] => [
      key.startsWith('NodeID-') ? 'NodeID' : key,
      FREE.has(key) || (key === 'publicKey' && field === null) ? 'string' : shapeOf(field),
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
    expect(shapeOf(result ?? null)).toEqual(shapeOf(expected));
  });

  test('on the other path of the P-Chain', async () => {
    expect(await call('/ext/P', 'platform.getHeight')).toEqual({ height: '200' });
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
    const node = devnet.validator(0);
    const validators = devnet.nodeIDs.map((_, index) => devnet.validator(index));
    const [l1Only, inactiveNode] = [validators.slice(40), validators[5] as ModelNode];
    const primaryNodes = validators.slice(0, 40).map(({ nodeID, publicKey }, index) => {
      return { nodeID, publicKey: index === 6 ? inactiveNode.publicKey : publicKey };
    });
    const [shared, keyless] = [devnet.nodeIDs.slice(5, 7), devnet.nodeIDs[7] as NodeID];
    const nodes = { primaryNodes, l1OnlyNodes: l1Only, inactiveNode, keyless: new Set([keyless]) };
    const server = createNodeApiServer({
      model: createNetworkModel({ seed: 1, clock, ...nodes }),
      seed: 1,
      node,
      peers: [],
    });
    cleanup.defer(() => server.close());
    const client = cleanup.use(openClient(await server.listen(), clock));
    const served = createNodeApi(client, client);
    const set = createWarpSet(await served.getValidatorsAt(PRIMARY_NETWORK_ID, 'proposed', SIGNAL));
    expect(set.validators).toHaveLength(38);
    const merged = set.validators.filter(({ nodeIDs }) => nodeIDs.length > 1);
    expect(merged.map(({ nodeIDs }) => new Set(nodeIDs))).toEqual([new Set(shared)]);
    expect(set.validators.some(({ nodeIDs }) => nodeIDs.includes(keyless))).toBe(false);
    const current = await served.getCurrentValidators(PRIMARY_NETWORK_ID, SIGNAL);
    expect(current).toHaveLength(40);
    expect(current.reduce((sum, { weight }) => sum + weight, 0n)).toBe(set.totalWeight);
  });

  test('of the present validators those with the NodeIDs that were asked for', async () => {
    const { subnetID } = devnet.subnets.l1;
    const nodeIDsOf = async (params: object) => {
      const answer = await call<{ validators: { nodeID: string }[] }>(
        '/ext/bc/P',
        'platform.getCurrentValidators',
        params,
      );
      return answer.validators.map(({ nodeID }) => nodeID);
    };
    const ofPrimary = await nodeIDsOf({});
    const [first = '', second = ''] = ofPrimary;
    expect(await nodeIDsOf({ nodeIDs: [second, first] })).toEqual([first, second]);
    const ofL1 = await nodeIDsOf({ subnetID });
    expect(ofL1).toHaveLength(5);
    const ofL1Alone = ofL1.filter((nodeID) => !ofPrimary.includes(nodeID)).slice(0, 1);
    expect(await nodeIDsOf({ subnetID, nodeIDs: ofL1Alone })).toEqual(ofL1Alone);
    expect(await nodeIDsOf({ nodeIDs: ofL1Alone })).toEqual([]);
  });

  test('no set beyond the last height', async () => {
    const height = await api.getHeight(SIGNAL);
    expect(await api.getValidatorsAt(PRIMARY_NETWORK_ID, height, SIGNAL)).toHaveLength(40);
    const beyond = api.getValidatorsAt(PRIMARY_NETWORK_ID, 2n ** 64n - 1n, SIGNAL);
    const message = `failed to get validator set at 18446744073709551615: failed to fetch validator set at unfinalized height with SubnetID = ${PRIMARY_NETWORK_ID}: current P-chain height (${height}) < requested P-Chain height (18446744073709551615)`;
    await expect(beyond).rejects.toMatchObject({ code: 'height_not_reached', rejection: { code: -32_000, message } });
  });
});

test('the canonical sets of all subnets are those of each subnet with validators', async () => {
  const setsAt = async (height: unknown) =>
    (await call<{ validatorSets: object }>('/ext/bc/P', 'platform.getAllValidatorsAt', { height })).validatorSets;
  const height = await api.getProposedHeight(SIGNAL);
  const expected = [PRIMARY_NETWORK_ID, devnet.subnets.l1.subnetID].toSorted().map(async (subnetID) => {
    const { validators, totalWeight } = createWarpSet(await api.getValidatorsAt(subnetID, height, SIGNAL));
    const entries = validators.map(({ publicKeyHex, weight, nodeIDs }) => ({
      publicKey: `0x${publicKeyHex}`,
      weight: String(weight),
      nodeIDs,
    }));
    return [subnetID, { validators: entries, totalWeight: String(totalWeight) }];
  });
  for (const wanted of ['proposed', Number(height), String(height)]) {
    expect(Object.entries(await setsAt(wanted))).toEqual(await Promise.all(expected));
  }
  expect(Object.keys(await setsAt(99))).toEqual([PRIMARY_NETWORK_ID]);
  expect(await call('/ext/bc/P', 'platform.getAllValidatorsAt', { height: 999 })).toMatchObject({
    code: -32_000,
    message: expect.stringContaining('failed to get validator sets at 999'),
  });
});

describe('the ledger', () => {
  test('has blocks that follow each other from the first to the last', async () => {
    const height = await api.getHeight(SIGNAL);
    let parentID: string | undefined;
    const origins: string[] = [];
    for (let at = 0n; at <= height; at += 1n) {
      const block = await api.getBlockByHeight(at, SIGNAL);
      if (parentID !== undefined) expect(block.parentID).toBe(parentID);
      parentID = block.id;
      origins.push(...block.origins.map(({ validationID }) => validationID));
    }
    // Five of the conversion and two registrations.
    expect(new Set(origins).size).toBe(7);
    await expect(api.getBlockByHeight(height + 10n, SIGNAL)).rejects.toMatchObject(rejected);
  });

  test('has a block in bytes that hash to its ID in JSON', async () => {
    const params = { height: '165', encoding: 'hex' };
    const { block } = await call<{ block: string }>('/ext/bc/P', 'platform.getBlockByHeight', params);
    const encoded = Buffer.from(block.slice(2), 'hex');
    const id = hash('sha256', encoded.subarray(0, -4), 'buffer');
    expect((await api.getBlockByHeight(165n, SIGNAL)).id).toBe(idFromBytes(new Uint8Array(id), 'id'));
    expect(encoded.subarray(-4)).toEqual(id.subarray(-4));
    // In a block, a transaction has no separate codec version.
    const transaction = await api.getTx(devnet.transactions.usedUpRegistration, SIGNAL);
    expect(encoded.subarray(-4 - transaction.length + 2, -4)).toEqual(Buffer.from(transaction.subarray(2)));
  });

  test('has transactions with a status, in bytes and in JSON', async () => {
    const { usedUpRegistration, processing, ofXChain } = devnet.transactions;
    const ids = [usedUpRegistration, processing, ofXChain];
    const statuses = await Promise.all(ids.map(async (id) => (await api.getTxStatus(id, SIGNAL)).status));
    expect(statuses).toEqual(['Committed', 'Processing', 'Unknown']);
    const transaction = parsePChainTransaction(await api.getTx(usedUpRegistration, SIGNAL));
    expect(transaction.kind).toBe('RegisterL1ValidatorTx');
    const params = { txID: usedUpRegistration, encoding: 'json' };
    const { tx } = await call<{ tx: object }>('/ext/bc/P', 'platform.getTx', params);
    expect(tx).toMatchObject({ id: usedUpRegistration, unsignedTx: { proofOfPossession: { length: 96 } } });
    const odd = await call('/ext/bc/P', 'platform.getTx', { ...params, encoding: 'x' });
    expect(odd).toMatchObject({ message: 'invalid encoding' });
    for (const id of [processing, UNKNOWN]) await expect(api.getTx(id, SIGNAL)).rejects.toMatchObject(rejected);
    await chains.findXChainTx(ofXChain, SIGNAL);
    await expect(chains.findXChainTx(usedUpRegistration, SIGNAL)).rejects.toMatchObject(rejected);
  });

  test('has the manager of the L1, and present validators with balance, weight and nonce', async () => {
    const { subnetID, blockchainID } = devnet.subnets.l1;
    expect(await api.getSubnet(subnetID, SIGNAL)).toMatchObject({ managerChainID: blockchainID });
    expect(await call('/ext/bc/P', 'platform.getSubnet', { subnetID })).toMatchObject({ isPermissioned: false });
    const listed = await api.getCurrentValidators(subnetID, SIGNAL);
    expect(listed.map(({ balance }) => Number(balance))).toEqual([1e9, 1e9, 0, 1e9, 2e9]);
    const { validationID, nodeID } = listed.find(({ weight }) => weight === 350n) ?? {};
    expect(await api.getL1Validator(validationID as ValidationID, SIGNAL)).toEqual({
      subnetID,
      nodeID,
      weight: 350n,
      minNonce: 2n,
      balance: 1_000_000_000n,
    });
    const raw = await call('/ext/bc/P', 'platform.getL1Validator', { validationID });
    expect(raw).toMatchObject({ weight: '350', minNonce: '2' });
    await expect(api.getL1Validator(UNKNOWN, SIGNAL)).rejects.toMatchObject(rejected);
    expect(await api.getValidatorFeePrice(SIGNAL)).toBe(1n);
  });

  test('has the same epoch for every chain, at a height below the last', async () => {
    const { cChainID, xChainID } = devnet.subnets.primary;
    const ids = [P_CHAIN_ID, cChainID, xChainID, devnet.subnets.l1.blockchainID];
    const [epoch, ...others] = await Promise.all(ids.map((id) => chains.getCurrentEpoch(id, SIGNAL)));
    for (const other of others) expect(other).toEqual(epoch);
    expect(epoch?.number).toBeGreaterThan(0n);
    expect(epoch?.pChainHeight).toBeLessThan(await api.getHeight(SIGNAL));
    await expect(chains.getCurrentEpoch(UNKNOWN, SIGNAL)).rejects.toMatchObject({ code: 'method_refused' });
  });
});

describe('the RPC of an EVM chain', () => {
  const emit = () => devnet.emit('C', Buffer.from('logs'));
  const logs = (filter: object) => call('/ext/bc/C/rpc', 'eth_getLogs', [filter]);

  test('has the logs of a block, by its hash or number, contract and topic', async () => {
    const { block, transactionHash } = emit();
    const expected = [{ blockHash: block.hash, transactionHash, address: WARP_PRECOMPILE }];
    const number = `0x${block.number.toString(16)}`;
    expect(await call('/ext/bc/C/rpc', 'eth_blockNumber', [])).toBe(number);
    for (const filter of [
      { blockHash: block.hash },
      { fromBlock: number, toBlock: 'latest' },
      {},
      { address: [WARP_PRECOMPILE], topics: [[SEND_WARP_MESSAGE], null] },
    ]) {
      expect(await logs(filter)).toMatchObject(expected);
    }
    for (const filter of [
      { blockHash: `0x${'00'.repeat(32)}` },
      { address: `0x${'00'.repeat(20)}` },
      { topics: [null, SEND_WARP_MESSAGE] },
      { toBlock: 'earliest' },
    ]) {
      expect(await logs(filter)).toEqual([]);
    }
    expect(await logs({ fromBlock: 'x' })).toMatchObject({ code: -32_000, message: 'invalid block number' });
  });

  test('has no logs and no receipt of a block that is accepted and not executed', async () => {
    const { C } = devnet.chains;
    using restored = new DisposableStack();
    restored.defer(() => {
      C.executionLagMs = 0;
    });
    C.executionLagMs = 1_000;
    const { block, transactionHash } = emit();
    const seen = async () => [
      await logs({ blockHash: block.hash }),
      await call('/ext/bc/C/rpc', 'eth_getTransactionReceipt', [transactionHash]),
    ];
    expect(await seen()).toEqual([[], null]);
    await clock.advance(1_000);
    expect(await seen()).toMatchObject([[{ transactionHash }], { blockHash: block.hash }]);
  });
});

test('Helicon is active, and validators may renew themselves', async () => {
  const { heliconTime } = await call<{ heliconTime: string }>('/ext/info', 'info.upgrades');
  expect(Date.parse(heliconTime)).toBeLessThan(clock.now());
  const { validators } = await call<{ validators: object[] }>('/ext/bc/P', 'platform.getCurrentValidators', {});
  expect(validators).toContainEqual(
    expect.objectContaining({
      validatorAuthority: expect.objectContaining({ threshold: '1' }),
      nextPeriod: expect.stringMatching(/^[0-9]+$/),
      autoCompoundRewardShares: expect.stringMatching(/^[0-9]+$/),
    }),
  );
});

describe('a bad call is refused', () => {
  const METHOD = { jsonrpc: '2.0', id: 1, method: 'platform.getSubnet' };
  test.each<[string, unknown, number]>([
    ['no object', [], -32_700],
    ['another JSON-RPC', { ...METHOD, jsonrpc: '1.0' }, -32_600],
    ['an unknown method', { ...METHOD, method: 'platform.issueTx' }, -32_000],
    ['a method of all objects', { ...METHOD, method: 'constructor' }, -32_000],
    ['an invalid ID', { ...METHOD, params: { subnetID: 'x' } }, -32_000],
    ['params that are no object', { ...METHOD, params: 5 }, -32_000],
  ])('%s', async (_, body, code) => {
    const { status, text } = await post('/ext/bc/P', JSON.stringify(body));
    expect([status, JSON.parse(text)]).toMatchObject([200, { jsonrpc: '2.0', error: { code, data: null } }]);
  });

  test('no JSON, another content type, another method, another path', async () => {
    expect(JSON.parse((await post('/ext/bc/P', '{')).text)).toMatchObject({ error: { code: -32_700 } });
    expect(await post('/ext/bc/P', '{}', 'text/plain')).toMatchObject({ status: 415 });
    expect(await fetch(`${devnet.apiUrl}/ext/info`)).toMatchObject({ status: 404 });
    expect(await post('/ext/bc/Y', '{}')).toMatchObject({ status: 404 });
  });
});
