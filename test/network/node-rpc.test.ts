import { bech32 } from '@scure/base';
import { afterAll, expect, test } from 'vitest';
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
/** The node's limit for one response. */
const MAX_UTXOS = 1_024;
const UNKNOWN_ID = encodeCb58(new Uint8Array(32).fill(0x77));

const X = '/ext/bc/X';
const P = '/ext/bc/P';

let service: UpstreamService | undefined;
/** ID of a transaction of the X-Chain. */
let txID: string;
const network = useRealNetwork(async ({ nodes, onChain }) => {
  const payment = { owner: OWNER.toString('hex'), outputs: UTXOS_OF_A_PAYMENT };
  ({ txID } = await onChain('payOnXChain', payment));
  await onChain('payOnXChain', payment);
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

test.each<[method: string, params: () => object, expected: () => object]>([
  ['avm.getHeight', () => ({}), () => ({ height: amount })],
  ['avm.getBlockByHeight', () => ({ height: '1', encoding: 'json' }), () => ({ block: { height: 1 } })],
  ['avm.getTx', () => ({ txID, encoding: 'json' }), () => ({ tx: { unsignedTx: { networkID: 12_345 } } })],
  ['avm.getTxStatus', () => ({ txID }), () => ({ status: 'Accepted' })],
  ['avm.getAssetDescription', () => ({ assetID: 'AVAX' }), () => ({ symbol: 'AVAX', denomination: '9' })],
  ['avm.getAllBalances', () => ({ address: `X-${ADDRESS}` }), () => ({ balances: [{ asset: 'AVAX' }] })],
  ['avm.getBalance', () => ({ address: `X-${ADDRESS}`, assetID: 'AVAX' }), () => ({ balance: amount })],
  ['avm.getUTXOs', () => ({ addresses: [`X-${ADDRESS}`], sourceChain: 'P' }), () => ({ numFetched: '0' })],
  ['platform.getBlockByHeight', () => ({ height: 1, encoding: 'json' }), () => ({ block: { height: 1 } })],
  ['platform.getBlockchainStatus', () => ({ blockchainID: network().l1ChainID }), () => ({ status: 'Validating' })],
  ['platform.getCurrentValidators', () => ({}), () => ({ validators: { length: 5 } })],
  ['platform.getCurrentValidators', () => ({ subnetID: network().subnetID }), () => ({ validators: { length: 4 } })],
  ['platform.getBalance', () => ({ addresses: [`P-${RICH_ADDRESS}`] }), () => ({ unlocked: amount })],
])('%s returns what the node returns (%#)', async (method, params, expected) => {
  expect(await resultOf(method.startsWith('avm') ? X : P, method, params())).toMatchObject(expected());
});

test('avm.getUTXOs returns each UTXO of an address once, page by page, and at most 1,024', async () => {
  const addresses = [`X-${ADDRESS}`];
  const utxos = new Set<unknown>();
  let startIndex: unknown;
  for (const count of [500, 500, 200]) {
    const page = await resultOf(X, 'avm.getUTXOs', { addresses, limit: 500, startIndex });
    expect(page['numFetched']).toBe(String(count));
    for (const utxo of page['utxos'] as unknown[]) utxos.add(utxo);
    startIndex = page['endIndex'];
  }
  expect(utxos.size).toBe(2 * UTXOS_OF_A_PAYMENT);
  for (const limit of [undefined, MAX_UTXOS + 1]) {
    expect(await resultOf(X, 'avm.getUTXOs', { addresses, limit })).toMatchObject({ numFetched: String(MAX_UTXOS) });
  }
});

test.each<[method: string, params: object, message: RegExp]>([
  ['avm.getBlock', { blockID: UNKNOWN_ID }, /not found/],
  ['avm.getUTXOs', { addresses: [] }, /^no addresses provided$/],
  ['platform.getCurrentValidators', { nodeIDs: ['no NodeID'] }, /^couldn't unmarshal an argument/],
])('%s with %j returns the error of the node', async (method, params, message) => {
  const answer = await askBoth(method.startsWith('avm') ? X : P, callOf(method, params));
  const error = { code: -32_000, message: expect.stringMatching(message), data: null };
  expect(answer).toEqual({ jsonrpc: '2.0', id: 7, error });
});

test('the X-Chain and the P-Chain are served by their IDs', async () => {
  const blockchain = { alias: 'X' };
  const ofX = await network().callApi<{ blockchainID: string }>('/ext/info', 'info.getBlockchainID', blockchain);
  const params = { height: '1', encoding: 'json' };
  const block = await resultOf(`/ext/bc/${ofX.blockchainID}`, 'avm.getBlockByHeight', params);
  expect(block).toEqual(await resultOf(X, 'avm.getBlockByHeight', params));
  expect(await resultOf(`/ext/bc/${PRIMARY_NETWORK_ID}`, 'platform.getHeight')).toEqual({ height: amount });
});

test('a chain that the node does not run, and one whose API is elsewhere, are 404', async () => {
  for (const blockchainID of [UNKNOWN_ID, network().cChainID]) {
    const path = `/ext/bc/${blockchainID}`;
    const call = callOf('avm.getHeight', {});
    expect((await askNode(path, call)).status).toBe(404);
    expect(await service!.post(path, call)).toMatchObject({ status: 404, body: { code: 'upstream_error' } });
  }
});

test('a batch is passed on, and the node rejects it', async () => {
  const answer = await askBoth(P, [callOf('platform.getHeight', {}), callOf('platform.getCurrentSupply', {})]);
  expect(answer).toMatchObject({ id: null, error: { code: -32_700, message: expect.stringMatching(/^json: cannot/) } });
});
