import { createHash } from 'node:crypto';
import { bech32 } from '@scure/base';
import { afterAll, describe, expect, test } from 'vitest';
import { encodeCb58 } from '../../src/lib/encoding/cb58.ts';
import { type Answer, startUpstreamService, type UpstreamService } from '../integration/proxy/upstream-service.ts';
import { useRealNetwork } from './network-fixture.ts';
import { PRIMARY_NETWORK_ID } from './real-network.ts';

/**
 * The node RPC routes before a real node. What comes through the service is, byte for byte, what the node says when it is
 * asked itself; the tests below it hold the node against the documents.
 */

/** Has all funds of a fresh local network. */
const RICH_ADDRESS = 'local18jma8ppw3nhx5r4ap8clazz0dps7rv5u00z96u';
/** Has nothing but what it is paid here. */
const OWNER = Buffer.alloc(20, 0x11);
const ADDRESS = bech32.encode('local', bech32.toWords(OWNER));
const UTXOS_OF_A_PAYMENT = 600;
const UTXOS = 2 * UTXOS_OF_A_PAYMENT;
const UTXO_AMOUNT = 1_000;
const EXPORTED_UTXOS = 3;
/** The most of one answer. */
const MAX_UTXOS = 1_024;
/** Of nothing that there is. */
const UNKNOWN_ID = encodeCb58(new Uint8Array(32).fill(0x77));
const UNKNOWN_NODE_ID = `NodeID-${encodeCb58(new Uint8Array(20).fill(0x77))}`;

const X = '/ext/bc/X';
const P = '/ext/bc/P';

let service: UpstreamService | undefined;
/** The X-Chain's transactions, one in each of its blocks after the first. */
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

/** Asks the service and the node. */
async function askBoth(path: string, body: unknown): Promise<unknown> {
  const [answer, ofNode] = [await service!.post(path, body), await askNode(path, body)];
  expect(withoutUptime(answer)).toEqual(withoutUptime(ofNode));
  expect(answer.status).toBe(200);
  return answer.body;
}

/** The share of the time since the node's start: another one at each moment. */
function withoutUptime({ status, text }: Pick<Answer, 'status' | 'text'>) {
  return { status, text: text.replaceAll(/"uptime":"[\d.]+"/g, '"uptime":""') };
}

async function resultOf<Result = Record<string, unknown>>(
  path: string,
  method: string,
  params: object = {},
): Promise<Result> {
  const answer = await askBoth(path, callOf(method, params));
  expect(answer).toEqual({ jsonrpc: '2.0', id: 7, result: expect.any(Object) });
  return (answer as { result: Result }).result;
}

async function errorOf(path: string, method: string, params: object = {}): Promise<string> {
  const answer = await askBoth(path, callOf(method, params));
  expect(answer).toEqual({ jsonrpc: '2.0', id: 7, error: { code: -32_000, message: expect.any(String), data: null } });
  return (answer as { error: { message: string } }).error.message;
}

/** What the node's hex stands for, which ends with a checksum. */
function bytesOf(hex: unknown): Buffer {
  const bytes = Buffer.from(String(hex).replace(/^0x/, ''), 'hex');
  const content = bytes.subarray(0, -4);
  expect(bytes.subarray(-4)).toEqual(sha256(content).subarray(-4));
  return content;
}

/** IDs of blocks and transactions are the hashes of their bytes. */
const idOf = (hex: unknown): string => encodeCb58(sha256(bytesOf(hex)));
const sha256 = (bytes: Uint8Array): Buffer => createHash('sha256').update(bytes).digest();

interface Block {
  readonly parentID: string;
  readonly height: number;
  readonly txs: readonly { readonly id: string; readonly unsignedTx: object; readonly credentials: unknown }[];
}

describe.each([
  ['avm.getBlock', X, 'X'],
  ['platform.getBlock', P, 'P'],
])('%s', (getBlock, path, chain) => {
  test('gives the blocks that getBlockByHeight gives, up to getHeight, each with the ID of the one before', async () => {
    const { height } = await resultOf<{ height: string }>(path, getBlock.replace('Block', 'Height'));
    expect(Number(height)).toBeGreaterThanOrEqual(2);
    let parentID: unknown;
    for (let number = Number(height) - 1; number <= Number(height); number += 1) {
      const at = { height: chain === 'X' ? String(number) : number };
      const byHeight = await resultOf(path, `${getBlock}ByHeight`, at);
      const blockID = idOf(byHeight['block']);
      expect(await resultOf(path, getBlock, { blockID })).toEqual(byHeight);
      expect(await resultOf(path, getBlock, { blockID, encoding: 'hex' })).toEqual({ ...byHeight, encoding: 'hex' });

      const asJson = await resultOf<{ block: Block }>(path, `${getBlock}ByHeight`, { ...at, encoding: 'json' });
      expect(asJson).toMatchObject({ block: { height: number, id: blockID }, encoding: 'json' });
      expect(asJson.block.txs).toEqual([
        expect.objectContaining({ unsignedTx: expect.any(Object), credentials: expect.any(Array) }),
      ]);
      expect(await resultOf(path, getBlock, { blockID, encoding: 'json' })).toEqual(asJson);
      if (parentID !== undefined) expect(asJson.block.parentID).toBe(parentID);
      parentID = blockID;
    }
  });

  test('of what does not exist: the node says so', async () => {
    expect(await errorOf(path, getBlock, { blockID: UNKNOWN_ID })).toBe(
      `couldn't get block with id ${UNKNOWN_ID}: not found`,
    );
    expect(await errorOf(path, `${getBlock}ByHeight`, { height: '1000000' })).toContain('not found');
    expect(await errorOf(path, getBlock, { blockID: 'no ID' })).toMatch(/^couldn't unmarshal an argument/);
  });
});

describe('avm.getUTXOs', () => {
  interface Page {
    readonly numFetched: string;
    readonly utxos: readonly string[];
    readonly endIndex: { readonly address: string; readonly utxo: string };
    readonly encoding: string;
  }
  const getUTXOs = (params: object) => resultOf<Page>(X, 'avm.getUTXOs', { addresses: [`X-${ADDRESS}`], ...params });

  /** More than any test needs. */
  const MAX_PAGES = 10;
  /** From the first page on to one that is not full. */
  async function pagesOf(limit: number, params: object = {}): Promise<Page[]> {
    const pages: Page[] = [];
    while (pages.length < MAX_PAGES) {
      const startIndex = pages.at(-1)?.endIndex;
      const page = await getUTXOs({ limit, ...params, ...(startIndex && { startIndex }) });
      pages.push(page);
      expect(page.numFetched).toBe(String(page.utxos.length));
      expect(page.utxos.length).toBeLessThanOrEqual(limit);
      if (page.utxos.length < limit) return pages;
    }
    throw new Error(`${MAX_PAGES} pages are not all`);
  }

  const utxosOf = (pages: readonly Page[]): string[] => pages.flatMap(({ utxos }) => utxos);

  test('page by page gives each UTXO of the address, and says which was the last', async () => {
    const pages = await pagesOf(500);
    expect(pages.map(({ numFetched }) => numFetched)).toEqual(['500', '500', '200']);
    expect(new Set(utxosOf(pages)).size).toBe(UTXOS);
    for (const utxo of utxosOf(pages)) expect(bytesOf(utxo).includes(OWNER)).toBe(true);
    for (const { utxos, endIndex, encoding } of pages) {
      expect(encoding).toBe('hex');
      expect(endIndex).toEqual({ address: `X-${ADDRESS}`, utxo: utxoIdOf(utxos.at(-1)) });
    }
  });

  test('has at most 1,024 in an answer, whatever the limit', async () => {
    const first = await getUTXOs({});
    expect(first.numFetched).toBe(String(MAX_UTXOS));
    expect(first.utxos).toHaveLength(MAX_UTXOS);
    for (const limit of [MAX_UTXOS, MAX_UTXOS + 1, 1_000_000]) expect(await getUTXOs({ limit })).toEqual(first);
    const rest = await getUTXOs({ startIndex: first.endIndex });
    expect(rest.numFetched).toBe(String(UTXOS - MAX_UTXOS));
    expect(new Set(utxosOf([first, rest])).size).toBe(UTXOS);
  });

  test('of several addresses goes on with the next one', async () => {
    const addresses = [`X-${RICH_ADDRESS}`, `X-${ADDRESS}`];
    const ofRich = await getUTXOs({ addresses: [`X-${RICH_ADDRESS}`] });
    expect(ofRich.utxos.length).toBeGreaterThan(0);
    const pages = await pagesOf(700, { addresses });
    expect(new Set(utxosOf(pages))).toEqual(new Set([...utxosOf(await pagesOf(700)), ...ofRich.utxos]));
    expect(pages.at(-1)?.endIndex.address).not.toBe(pages[0]?.endIndex.address);
  });

  test('with a source chain gives what was exported from there', async () => {
    for (const sourceChain of ['P', PRIMARY_NETWORK_ID]) {
      const exported = await getUTXOs({ sourceChain });
      expect(exported.numFetched).toBe(String(EXPORTED_UTXOS));
      for (const utxo of exported.utxos) expect(bytesOf(utxo).includes(OWNER)).toBe(true);
      // The node repeats the last one of a page on the next.
      const pages = await pagesOf(2, { sourceChain });
      expect(pages.length).toBeGreaterThan(1);
      expect(new Set(utxosOf(pages))).toEqual(new Set(exported.utxos));
    }
    expect(await getUTXOs({ sourceChain: 'C' })).toMatchObject({ numFetched: '0', utxos: [] });
  });

  test('is in hex only, and of addresses only', async () => {
    expect(await getUTXOs({ limit: 1, encoding: 'hex' })).toEqual(await getUTXOs({ limit: 1 }));
    const asked = { addresses: [`X-${ADDRESS}`] };
    expect(await errorOf(X, 'avm.getUTXOs', { ...asked, limit: 1, encoding: 'json' })).toMatch(/unsupported encoding/);
    expect(await errorOf(X, 'avm.getUTXOs', { ...asked, encoding: 'cb58' })).toMatch(/^couldn't unmarshal an argument/);
    expect(await errorOf(X, 'avm.getUTXOs', { ...asked, sourceChain: 'nowhere' })).toContain(
      'no ID with alias: nowhere',
    );
    expect(await errorOf(X, 'avm.getUTXOs', { addresses: [] })).toBe('no addresses provided');
  });

  /** The hash of the output's index as 8 bytes and the transaction's ID. */
  function utxoIdOf(utxo: unknown): string {
    const bytes = bytesOf(utxo);
    const [txID, index] = [bytes.subarray(2, 34), bytes.subarray(34, 38)];
    return encodeCb58(sha256(Buffer.concat([Buffer.alloc(4), index, txID])));
  }
});

describe('the X-Chain', () => {
  test('avm.getTx, in both encodings', async () => {
    const [txID] = payments;
    const { assetID } = await resultOf(X, 'avm.getAssetDescription', { assetID: 'AVAX' });
    const output = { addresses: [`X-${ADDRESS}`], amount: UTXO_AMOUNT, locktime: 0, threshold: 1 };
    const byDefault = await resultOf(X, 'avm.getTx', { txID });
    expect(byDefault).toEqual(await resultOf(X, 'avm.getTx', { txID, encoding: 'hex' }));
    expect(byDefault['encoding']).toBe('hex');
    expect(idOf(byDefault['tx'])).toBe(txID);

    const { tx, encoding } = await resultOf<{
      tx: { unsignedTx: { outputs: { output: { addresses: string[] } }[] } };
      encoding: string;
    }>(X, 'avm.getTx', { txID, encoding: 'json' });
    expect(encoding).toBe('json');
    expect(tx).toMatchObject({
      unsignedTx: {
        networkID: 12_345,
        blockchainID: expect.any(String),
        inputs: [
          {
            txID: expect.any(String),
            outputIndex: expect.any(Number),
            assetID,
            fxID: expect.any(String),
            input: { amount: expect.any(Number), signatureIndices: [0] },
          },
        ],
        memo: '0x',
      },
      credentials: [
        { fxID: expect.any(String), credential: { signatures: [expect.stringMatching(/^0x[0-9a-f]{130}$/)] } },
      ],
      id: txID,
    });
    const paid = tx.unsignedTx.outputs.filter(({ output }) => output.addresses.includes(`X-${ADDRESS}`));
    expect(paid).toEqual(Array(UTXOS_OF_A_PAYMENT).fill({ assetID, fxID: expect.any(String), output }));

    expect(await errorOf(X, 'avm.getTx', { txID: UNKNOWN_ID })).toBe('not found');
  });

  test('avm.getAssetDescription', async () => {
    const ofName = await resultOf(X, 'avm.getAssetDescription', { assetID: 'AVAX' });
    expect(ofName).toEqual({ assetID: expect.any(String), name: 'Avalanche', symbol: 'AVAX', denomination: '9' });
    expect(await resultOf(X, 'avm.getAssetDescription', { assetID: ofName['assetID'] })).toEqual(ofName);
    expect(await errorOf(X, 'avm.getAssetDescription', { assetID: UNKNOWN_ID })).toContain('not found');
  });

  test('avm.getTxFee', async () => {
    const amount = expect.stringMatching(/^[1-9]\d*$/);
    expect(await resultOf(X, 'avm.getTxFee')).toEqual({ txFee: amount, createAssetTxFee: amount });
  });

  test('what is deprecated is answered still', async () => {
    const balance = String(UTXOS * UTXO_AMOUNT);
    expect(await resultOf(X, 'avm.getAllBalances', { address: `X-${ADDRESS}` })).toEqual({
      balances: [{ asset: 'AVAX', balance }],
    });
    const ofAsset = await resultOf(X, 'avm.getBalance', { address: `X-${ADDRESS}`, assetID: 'AVAX' });
    expect(ofAsset).toEqual({ balance, utxoIDs: expect.any(Array) });
    expect(ofAsset['utxoIDs']).toHaveLength(UTXOS);
    expect(ofAsset['utxoIDs']).toContainEqual({ txID: payments[1], outputIndex: expect.any(Number) });
    expect(await resultOf(X, 'avm.getTxStatus', { txID: payments[0] })).toEqual({ status: 'Accepted' });
    expect(await resultOf(X, 'avm.getTxStatus', { txID: UNKNOWN_ID })).toEqual({ status: 'Unknown' });
  });
});

describe('the P-Chain', () => {
  test('platform.getBlockchainStatus', async () => {
    const { l1ChainID, cChainID } = network();
    for (const [blockchainID, status] of [
      [l1ChainID, 'Validating'],
      [cChainID, 'Validating'],
      [UNKNOWN_ID, 'Unknown'],
    ]) {
      expect(await resultOf(P, 'platform.getBlockchainStatus', { blockchainID })).toEqual({ status });
    }
    expect(await errorOf(P, 'platform.getBlockchainStatus')).toContain("'blockchainID' not given");
  });

  test('platform.getCurrentSupply', async () => {
    const all = await resultOf(P, 'platform.getCurrentSupply');
    expect(all).toMatchObject({ supply: expect.stringMatching(/^[1-9]\d*$/) });
    expect(await resultOf(P, 'platform.getCurrentSupply', { subnetID: PRIMARY_NETWORK_ID })).toEqual(all);
    const ofL1 = { subnetID: network().subnetID };
    expect(await errorOf(P, 'platform.getCurrentSupply', ofL1)).toBe('fetching current supply failed: not found');
  });

  describe('platform.getCurrentValidators', () => {
    interface Validator {
      readonly nodeID: string;
    }
    const nodeIDsOf = (validators: readonly Validator[]) => validators.map(({ nodeID }) => nodeID).toSorted();
    const validatorsOf = async (params: object) =>
      (await resultOf<{ validators: Validator[] }>(P, 'platform.getCurrentValidators', params)).validators;

    test('gives those of the primary network', async () => {
      const validators = await validatorsOf({});
      expect(nodeIDsOf(validators)).toEqual(nodeIDsOf(network().nodes));
      const amount = expect.stringMatching(/^\d+$/);
      const owner = { locktime: '0', threshold: '1', addresses: [`P-${RICH_ADDRESS}`] };
      for (const { nodeID, nodePOP } of network().nodes) {
        expect(validators.find((validator) => validator.nodeID === nodeID)).toMatchObject({
          txID: expect.any(String),
          startTime: amount,
          endTime: amount,
          weight: amount,
          potentialReward: amount,
          delegationFee: expect.stringMatching(/^\d+\.\d{4}$/),
          uptime: expect.stringMatching(/^\d+\.\d{4}$/),
          connected: true,
          signer: nodePOP,
          validationRewardOwner: owner,
          delegationRewardOwner: owner,
          delegatorCount: '0',
          delegatorWeight: '0',
        });
      }
    });

    test('gives those of an L1', async () => {
      const { subnetID, l1Validators, conversion } = network();
      const validators = await validatorsOf({ subnetID });
      expect(nodeIDsOf(validators)).toEqual(nodeIDsOf(l1Validators));
      for (const { nodeID, nodePOP, weight, balance } of l1Validators) {
        expect(validators.find((validator) => validator.nodeID === nodeID)).toMatchObject({
          validationID: conversion.validationIDs[nodeID],
          publicKey: nodePOP.publicKey,
          weight: String(weight),
          balance: expect.stringMatching(/^\d{10,11}$/),
          minNonce: '0',
          startTime: expect.stringMatching(/^\d{10}$/),
        });
        expect(balance).toBe(10_000_000_000n);
      }
    });

    test('gives those asked for by NodeID, and leaves out who is none', async () => {
      const { subnetID, nodes, l1Validators } = network();
      const [first, second] = nodes.map(({ nodeID }) => nodeID) as [string, string];
      const outsider = nodes
        .map(({ nodeID }) => nodeID)
        .find((id) => !l1Validators.some(({ nodeID }) => nodeID === id));
      expect(outsider).toBeDefined();
      expect(nodeIDsOf(await validatorsOf({ nodeIDs: [second] }))).toEqual([second]);
      expect(nodeIDsOf(await validatorsOf({ nodeIDs: [UNKNOWN_NODE_ID, first] }))).toEqual([first]);
      expect(await validatorsOf({ nodeIDs: [UNKNOWN_NODE_ID] })).toEqual([]);
      expect(nodeIDsOf(await validatorsOf({ subnetID, nodeIDs: [outsider, first] }))).toEqual([first]);
      expect(await validatorsOf({ subnetID: UNKNOWN_ID })).toEqual([]);
      // The node gives them in any order.
      const several = await service!.post(P, callOf('platform.getCurrentValidators', { nodeIDs: [first, second] }));
      const { validators } = several.body['result'] as { validators: Validator[] };
      expect(nodeIDsOf(validators)).toEqual([first, second].toSorted());
      const malformed = await errorOf(P, 'platform.getCurrentValidators', { nodeIDs: ['no NodeID'] });
      expect(malformed).toMatch(/^couldn't unmarshal an argument/);
    });
  });

  test('what is deprecated is answered still', async () => {
    const { l1ChainID, cChainID, subnetID } = network();
    const { blockchains } = await resultOf<{ blockchains: object[] }>(P, 'platform.getBlockchains');
    const vmID = expect.any(String);
    expect(blockchains).toHaveLength(3);
    expect(blockchains).toContainEqual({ id: l1ChainID, name: 'l1', subnetID, vmID });
    expect(blockchains).toContainEqual({ id: cChainID, name: 'C-Chain', subnetID: PRIMARY_NETWORK_ID, vmID });
    const id = expect.any(String);
    expect(blockchains).toContainEqual({ id, name: 'X-Chain', subnetID: PRIMARY_NETWORK_ID, vmID });

    const balance = await resultOf(P, 'platform.getBalance', { addresses: [`P-${RICH_ADDRESS}`] });
    const amount = expect.stringMatching(/^[1-9]\d*$/);
    expect(balance).toMatchObject({ balance: amount, unlocked: amount, lockedStakeable: '0', lockedNotStakeable: '0' });
    expect(Object.values(balance['balances'] as object)).toEqual([balance['balance']]);
    expect(balance['utxoIDs']).toContainEqual({ txID: expect.any(String), outputIndex: expect.any(Number) });
  });
});

describe('/ext/bc/{blockchainId}', () => {
  test('is the X-Chain and the P-Chain by their IDs', async () => {
    const { blockchainID } = await network().callApi<{ blockchainID: string }>('/ext/info', 'info.getBlockchainID', {
      alias: 'X',
    });
    const ofX = await resultOf(`/ext/bc/${blockchainID}`, 'avm.getBlockByHeight', { height: '1', encoding: 'json' });
    expect(ofX).toEqual(await resultOf(X, 'avm.getBlockByHeight', { height: '1', encoding: 'json' }));
    const ofP = await resultOf(`/ext/bc/${PRIMARY_NETWORK_ID}`, 'platform.getHeight');
    expect(ofP).toEqual(await resultOf(P, 'platform.getHeight'));
  });

  test('of another virtual machine than the method’s: the node says so', async () => {
    expect(await errorOf(P, 'avm.getHeight')).toContain('can\'t find service "avm.GetHeight"');
    expect(await errorOf(X, 'platform.getHeight')).toContain('can\'t find service "platform.GetHeight"');
  });

  test.each([
    ['which the node does not run', () => UNKNOWN_ID],
    ['of the C-Chain, whose API is elsewhere', () => network().cChainID],
    ['of an L1, whose API is elsewhere', () => network().l1ChainID],
  ])('%s is 404', async (_, blockchainID) => {
    const path = `/ext/bc/${blockchainID()}`;
    const call = callOf('avm.getHeight', {});
    expect((await askNode(path, call)).status).toBe(404);
    const { status, body } = await service!.post(path, call);
    expect([status, body]).toEqual([
      404,
      { message: 'the upstream answered: Not Found', statusCode: 404, error: 'Not Found', code: 'upstream_error' },
    ]);
  });
});

test('a batch is passed on, and the node says that it takes none', async () => {
  const answer = await askBoth(P, [callOf('platform.getHeight', {}), callOf('platform.getCurrentSupply', {})]);
  expect(answer).toMatchObject({ id: null, error: { code: -32_700, message: expect.stringMatching(/^json: cannot/) } });
});
