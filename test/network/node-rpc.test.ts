import { afterAll, describe, expect, test } from 'vitest';
import { startUpstreamService, type UpstreamService } from '../integration/upstream/upstream-service.ts';
import { useRealNetwork } from './network-fixture.ts';

/** The node RPC routes before a real node: what comes through the service is what the node says when it is asked itself. */

/** The X-Chain address with all funds of a fresh local network. */
const RICH_ADDRESS = 'X-local18jma8ppw3nhx5r4ap8clazz0dps7rv5u00z96u';

let service: UpstreamService | undefined;
const network = useRealNetwork(async ({ nodes }) => {
  service = await startUpstreamService({ settings: { nodeRpc: { baseUrl: nodes[0]?.apiUrl } } });
});
afterAll(() => service?.[Symbol.asyncDispose]());

interface RpcAnswer {
  readonly jsonrpc: string;
  readonly id: number;
  readonly result?: Record<string, unknown>;
  readonly error?: { readonly code: number; readonly message: string };
}

async function ask(path: string, method: string, params: object = {}): Promise<RpcAnswer> {
  const answer = await service!.post(path, { jsonrpc: '2.0', id: 7, method, params });
  expect(answer.status).toBe(200);
  return answer.body as unknown as RpcAnswer;
}

async function askDirectly(path: string, method: string, params: object = {}): Promise<unknown> {
  const response = await fetch(`${network().nodes[0]?.apiUrl}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 7, method, params }),
  });
  return response.json();
}

/** Asks both, and gives the result. */
async function resultOf(path: string, method: string, params: object = {}): Promise<Record<string, unknown>> {
  const answer = await ask(path, method, params);
  expect(answer).toEqual(await askDirectly(path, method, params));
  expect(answer).toMatchObject({ jsonrpc: '2.0', id: 7, result: expect.any(Object) });
  return answer.result ?? {};
}

describe('the X-Chain', () => {
  const X = '/ext/bc/X';

  test('avm.getHeight and avm.getBlockByHeight, in both encodings, and avm.getBlock', async () => {
    const { height } = await resultOf(X, 'avm.getHeight');
    expect(height).toMatch(/^\d+$/);
    const hex = await resultOf(X, 'avm.getBlockByHeight', { height, encoding: 'hex' });
    expect(hex).toMatchObject({ block: expect.stringMatching(/^0x/), encoding: 'hex' });
    const json = await resultOf(X, 'avm.getBlockByHeight', { height, encoding: 'json' });
    expect(json).toMatchObject({ block: expect.any(Object), encoding: 'json' });
    const { id } = json['block'] as { id?: string };
    if (id !== undefined) await resultOf(X, 'avm.getBlock', { blockID: id, encoding: 'hex' });
  });

  test('avm.getUTXOs page by page', async () => {
    const all = await resultOf(X, 'avm.getUTXOs', { addresses: [RICH_ADDRESS] });
    const found = all['utxos'] as string[];
    expect(found.length).toBeGreaterThan(0);
    const paged = new Set<string>();
    let startIndex: object | undefined;
    for (let page = 0; page <= found.length; page += 1) {
      const { utxos, endIndex } = await resultOf(X, 'avm.getUTXOs', {
        addresses: [RICH_ADDRESS],
        limit: 1,
        ...(startIndex && { startIndex }),
      });
      for (const utxo of utxos as string[]) paged.add(utxo);
      startIndex = endIndex as object;
    }
    expect([...paged].toSorted()).toEqual(found.toSorted());
  });

  test('avm.getAssetDescription and avm.getTx of the transaction that made the asset', async () => {
    const description = await resultOf(X, 'avm.getAssetDescription', { assetID: 'AVAX' });
    expect(description).toMatchObject({ symbol: 'AVAX', denomination: '9' });
    const tx = await resultOf(X, 'avm.getTx', { txID: description['assetID'], encoding: 'json' });
    expect(tx).toMatchObject({ tx: { unsignedTx: expect.any(Object) }, encoding: 'json' });
  });

  test('avm.getTxFee', async () => {
    expect(await resultOf(X, 'avm.getTxFee')).toMatchObject({ txFee: expect.stringMatching(/^\d+$/) });
  });

  test.each([
    ['avm.getAllBalances', { address: RICH_ADDRESS }],
    ['avm.getBalance', { address: RICH_ADDRESS, assetID: 'AVAX' }],
    ['avm.getTxStatus', { txID: '11111111111111111111111111111111LpoYY' }],
  ])('%s, deprecated: whatever the node says', async (method, params) => {
    const answer = await ask(X, method, params);
    expect(answer).toEqual(await askDirectly(X, method, params));
  });
});

describe('the P-Chain', () => {
  const P = '/ext/bc/P';

  test('platform.getHeight and platform.getBlock', async () => {
    const { height } = await resultOf(P, 'platform.getHeight');
    const last = await resultOf(P, 'platform.getBlockByHeight', { height: Number(height), encoding: 'json' });
    const { parentID } = last['block'] as { parentID: string };
    expect(await resultOf(P, 'platform.getBlock', { blockID: parentID, encoding: 'hex' })).toMatchObject({
      block: expect.stringMatching(/^0x/),
    });
  });

  test('platform.getBlockchainStatus and platform.getCurrentSupply', async () => {
    const { l1ChainID, cChainID } = network();
    for (const blockchainID of [l1ChainID, cChainID]) {
      expect(await resultOf(P, 'platform.getBlockchainStatus', { blockchainID })).toEqual({ status: 'Validating' });
    }
    expect(await resultOf(P, 'platform.getCurrentSupply')).toMatchObject({ supply: expect.stringMatching(/^\d+$/) });
  });

  test('platform.getCurrentValidators', async () => {
    const { result = {} } = await ask(P, 'platform.getCurrentValidators');
    const nodeIDs = (result['validators'] as { nodeID: string }[]).map(({ nodeID }) => nodeID);
    expect(nodeIDs.toSorted()).toEqual(
      network()
        .nodes.map(({ nodeID }) => nodeID)
        .toSorted(),
    );
    const { subnetID, l1Validators } = network();
    const ofL1 = await ask(P, 'platform.getCurrentValidators', { subnetID });
    expect(ofL1.result?.['validators']).toHaveLength(l1Validators.length);
  });

  test.each([
    ['platform.getBlockchains', {}],
    ['platform.getBalance', { addresses: [RICH_ADDRESS.replace('X-', 'P-')] }],
  ])('%s, deprecated: whatever the node says', async (method, params) => {
    const answer = await ask(P, method, params);
    expect(answer).toEqual(await askDirectly(P, method, params));
  });

  test('an error of the node is an answer', async () => {
    const answer = await ask(P, 'platform.getTx', { txID: 'x' });
    expect(answer.error?.message).toEqual(expect.any(String));
  });
});
