import { bech32 } from '@scure/base';
import { afterAll, describe, expect, test } from 'vitest';
import { encodeCb58 } from '../../src/lib/encoding/cb58.ts';
import { type Answer, startUpstreamService, type UpstreamService } from '../integration/proxy/upstream-service.ts';
import { useRealNetwork } from './network-fixture.ts';
import { PRIMARY_NETWORK_ID } from './real-network.ts';

/** The node RPC routes before a real node: the service returns, byte for byte, what the node returns to the same call. */

/** Holds all funds of a fresh local network. */
const RICH_ADDRESS = 'local18jma8ppw3nhx5r4ap8clazz0dps7rv5u00z96u';
/** Receives the payments of this test. */
const OWNER = Buffer.alloc(20, 0x11);
const ADDRESS = bech32.encode('local', bech32.toWords(OWNER));
const UTXOS_OF_A_PAYMENT = 600;
const UTXOS = 2 * UTXOS_OF_A_PAYMENT;
const EXPORTED_UTXOS = 3;
/** The node's limit for one response. */
const MAX_UTXOS = 1_024;
const UNKNOWN_ID = encodeCb58(new Uint8Array(32).fill(0x77));
const UNKNOWN_NODE_ID = `NodeID-${encodeCb58(new Uint8Array(20).fill(0x77))}`;

const X = '/ext/bc/X';
const P = '/ext/bc/P';

let service: UpstreamService | undefined;
/** IDs of the X-Chain's transactions. */
const payments: string[] = [];
const network = useRealNetwork(async ({ nodes, onChain }) => {
  const owner = OWNER.toString('hex');
  for (let count = 0; count < UTXOS / UTXOS_OF_A_PAYMENT; count += 1) {
    payments.push((await onChain('payOnXChain', { owner, outputs: UTXOS_OF_A_PAYMENT })).txID);
  }
  await onChain('exportToXChain', { owner, outputs: EXPORTED_UTXOS });
  service = await startUpstreamService({ settings: { nodeRpc: { baseUrl: nodes[0]?.apiUrl } } });
});
afterAll(() => service?.[Symbol.asyncDispose]());

const callOf = (method: string, params: object) => ({ jsonrpc: '2.0', id: 7, method, params });

async function askNode(path: string, body: unknown): Promise<Pick<Answer, 'status' | 'text'>> {
  const response = await fetch(`${network().nodes[0]?.apiUrl}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return { status: response.status, text: await response.text() };
}

/** Sends the call to the service and to the node, and expects equal responses. */
async function askBoth(path: string, body: unknown): Promise<unknown> {
  const [answer, ofNode] = [await service!.post(path, body), await askNode(path, body)];
  expect(withoutUptime(answer)).toEqual(withoutUptime(ofNode));
  expect(answer.status).toBe(200);
  return answer.body;
}

/** The node's uptime differs between two calls. */
function withoutUptime({ status, text }: Pick<Answer, 'status' | 'text'>) {
  return { status, text: text.replaceAll(/"uptime":"[\d.]+"/g, '"uptime":""') };
}

async function resultOf(path: string, method: string, params: object = {}): Promise<Record<string, unknown>> {
  const answer = await askBoth(path, callOf(method, params));
  expect(answer).toEqual({ jsonrpc: '2.0', id: 7, result: expect.any(Object) });
  return (answer as { result: Record<string, unknown> }).result;
}

const amount = expect.stringMatching(/^[1-9]\d*$/);

test.each<[method: string, params: () => object, expected: object]>([
  ['avm.getHeight', () => ({}), { height: amount }],
  ['avm.getBlockByHeight', () => ({ height: '1', encoding: 'json' }), { block: { height: 1 }, encoding: 'json' }],
  ['avm.getTx', () => ({ txID: payments[0], encoding: 'json' }), { tx: { unsignedTx: { networkID: 12_345 } } }],
  ['avm.getTxStatus', () => ({ txID: payments[0] }), { status: 'Accepted' }],
  ['avm.getAssetDescription', () => ({ assetID: 'AVAX' }), { symbol: 'AVAX', denomination: '9' }],
  ['avm.getAllBalances', () => ({ address: `X-${ADDRESS}` }), { balances: [{ asset: 'AVAX', balance: amount }] }],
  ['avm.getBalance', () => ({ address: `X-${ADDRESS}`, assetID: 'AVAX' }), { balance: amount }],
  ['platform.getBlockByHeight', () => ({ height: 1, encoding: 'json' }), { block: { height: 1 }, encoding: 'json' }],
  ['platform.getBlockchainStatus', () => ({ blockchainID: network().l1ChainID }), { status: 'Validating' }],
  ['platform.getCurrentValidators', () => ({ subnetID: UNKNOWN_ID }), { validators: [] }],
  ['platform.getBalance', () => ({ addresses: [`P-${RICH_ADDRESS}`] }), { balance: amount, unlocked: amount }],
])('%s returns what the node returns (%#)', async (method, params, expected) => {
  expect(await resultOf(method.startsWith('avm') ? X : P, method, params())).toMatchObject(expected);
});

test.each<[method: string, params: object, message: RegExp]>([
  ['avm.getBlock', { blockID: UNKNOWN_ID }, /not found/],
  ['avm.getUTXOs', { addresses: [] }, /^no addresses provided$/],
  ['avm.getUTXOs', { addresses: [`X-${ADDRESS}`], sourceChain: 'nowhere' }, /no ID with alias: nowhere/],
  ['platform.getCurrentValidators', { nodeIDs: ['no NodeID'] }, /^couldn't unmarshal an argument/],
])('%s with %j returns the error of the node', async (method, params, message) => {
  const answer = await askBoth(method.startsWith('avm') ? X : P, callOf(method, params));
  const error = { code: -32_000, message: expect.stringMatching(message), data: null };
  expect(answer).toEqual({ jsonrpc: '2.0', id: 7, error });
});

describe('avm.getUTXOs', () => {
  const getUTXOs = (params: object) => resultOf(X, 'avm.getUTXOs', { addresses: [`X-${ADDRESS}`], ...params });

  test('returns each UTXO of an address once, page by page', async () => {
    const utxos = new Set<unknown>();
    let startIndex: unknown;
    for (const count of [500, 500, UTXOS - 1_000]) {
      const page = await getUTXOs({ limit: 500, ...(startIndex !== undefined && { startIndex }) });
      expect(page['numFetched']).toBe(String(count));
      for (const utxo of page['utxos'] as unknown[]) utxos.add(utxo);
      startIndex = page['endIndex'];
    }
    expect(utxos.size).toBe(UTXOS);
  });

  test('returns at most 1,024 UTXOs, whatever the limit', async () => {
    for (const limit of [undefined, MAX_UTXOS + 1, 1_000_000]) {
      expect(await getUTXOs({ limit })).toMatchObject({ numFetched: String(MAX_UTXOS) });
    }
  });

  test('returns what was exported from the source chain', async () => {
    for (const sourceChain of ['P', PRIMARY_NETWORK_ID]) {
      expect(await getUTXOs({ sourceChain })).toMatchObject({ numFetched: String(EXPORTED_UTXOS) });
    }
    expect(await getUTXOs({ sourceChain: 'C' })).toMatchObject({ numFetched: '0', utxos: [] });
  });
});

test('platform.getCurrentValidators returns those of the primary network, of an L1, and those requested by NodeID', async () => {
  const nodeIDsOf = async (params: object) => {
    const { validators } = await resultOf(P, 'platform.getCurrentValidators', params);
    return (validators as { nodeID: string }[]).map(({ nodeID }) => nodeID).toSorted();
  };
  const { subnetID, nodes, l1Validators } = network();
  const [primary, ofL1] = [nodes, l1Validators].map((all) => all.map(({ nodeID }) => nodeID).toSorted());
  expect(await nodeIDsOf({})).toEqual(primary);
  expect(await nodeIDsOf({ subnetID })).toEqual(ofL1);
  expect(await nodeIDsOf({ nodeIDs: [UNKNOWN_NODE_ID, nodes[0]?.nodeID] })).toEqual([nodes[0]?.nodeID]);
});

describe('/ext/bc/{blockchainId}', () => {
  test('serves the X-Chain and the P-Chain by their IDs', async () => {
    const alias = { alias: 'X' };
    const { blockchainID } = await network().callApi<{ blockchainID: string }>(
      '/ext/info',
      'info.getBlockchainID',
      alias,
    );
    const params = { height: '1', encoding: 'json' };
    const ofX = await resultOf(`/ext/bc/${blockchainID}`, 'avm.getBlockByHeight', params);
    expect(ofX).toEqual(await resultOf(X, 'avm.getBlockByHeight', params));
    expect(await resultOf(`/ext/bc/${PRIMARY_NETWORK_ID}`, 'platform.getHeight')).toEqual({ height: amount });
  });

  test('is 404 for a chain that the node does not run, and for one whose API is elsewhere', async () => {
    for (const blockchainID of [UNKNOWN_ID, network().cChainID, network().l1ChainID]) {
      const path = `/ext/bc/${blockchainID}`;
      const call = callOf('avm.getHeight', {});
      expect((await askNode(path, call)).status).toBe(404);
      expect(await service!.post(path, call)).toMatchObject({ status: 404, body: { code: 'upstream_error' } });
    }
  });
});

test('a batch is passed on, and the node rejects it', async () => {
  const answer = await askBoth(P, [callOf('platform.getHeight', {}), callOf('platform.getCurrentSupply', {})]);
  expect(answer).toMatchObject({ id: null, error: { code: -32_700, message: expect.stringMatching(/^json: cannot/) } });
});
