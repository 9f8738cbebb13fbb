import { hash } from 'node:crypto';
import { Registry } from 'prom-client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Devnet, startDevnet } from '../../../src/devnet/devnet.ts';
import { systemClock } from '../../../src/lib/concurrency/clock.ts';
import { parsePChainTransaction } from '../../../src/pchain/codec/l1-transaction.ts';
import { type ChainApi, createChainApi } from '../../../src/pchain/rpc/chain-api.ts';
import { JsonRpcClient } from '../../../src/pchain/rpc/json-rpc.ts';
import { createNodeApi, type NodeApi } from '../../../src/pchain/rpc/node-api.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import {
  type BlockchainID,
  idFromBytes,
  P_CHAIN_ID,
  type SubnetID,
  type TxID,
  type ValidationID,
} from '../../../src/warp/ids.ts';

// The devnet's P-Chain history, through the client that the aggregator has: it checks hashes itself.

const SIGNAL = new AbortController().signal;
let devnet: Devnet;
let client: JsonRpcClient;
let api: NodeApi;
let chains: ChainApi;
beforeAll(async () => {
  devnet = await startDevnet({ validators: 5, clock: systemClock, logger: createLogger('silent') });
  const endpoints = [{ baseUrl: devnet.apiUrl }];
  client = new JsonRpcClient({
    endpoints,
    clock: systemClock,
    random: () => 0,
    metrics: createMetrics(new Registry()),
  });
  api = createNodeApi(client, client);
  chains = createChainApi(client);
});
afterAll(async () => {
  await client[Symbol.asyncDispose]();
  await devnet[Symbol.asyncDispose]();
});

async function call(path: string, method: string, params: object): Promise<Record<string, unknown>> {
  const response = await fetch(`${devnet.apiUrl}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  });
  return (await response.json()) as Record<string, unknown>;
}

const rejected = { kind: 'rejected', rejection: { code: -32_000 } };

test('blocks follow each other from the first to the last, and there is none above', async () => {
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

test('a block in bytes hashes to its ID in JSON', async () => {
  const hex = (await call('/ext/bc/P', 'platform.getBlockByHeight', { height: '120', encoding: 'hex' }))['result'];
  const encoded = Buffer.from((hex as { block: string }).block.slice(2), 'hex');
  const bytes = encoded.subarray(0, -4);
  const id = new Uint8Array(hash('sha256', bytes, 'buffer'));
  expect((await api.getBlockByHeight(120n, SIGNAL)).id).toBe(idFromBytes(id, 'id'));
  expect(encoded.subarray(-4)).toEqual(Buffer.from(id.subarray(-4)));
});

describe('transactions', () => {
  test('are there in bytes and in JSON with the same content', async () => {
    const { usedUpRegistration } = devnet.transactions();
    const transaction = parsePChainTransaction(await api.getTx(usedUpRegistration, SIGNAL));
    expect(transaction.kind).toBe('RegisterL1ValidatorTx');
    const { result } = await call('/ext/bc/P', 'platform.getTx', { txID: usedUpRegistration, encoding: 'json' });
    const { tx } = result as { tx: { id: string; unsignedTx: { message: string; proofOfPossession: number[] } } };
    expect(tx.id).toBe(usedUpRegistration);
    expect(tx.unsignedTx.proofOfPossession).toHaveLength(96);
    expect(await call('/ext/bc/P', 'platform.getTx', { txID: usedUpRegistration, encoding: 'x' })).toMatchObject({
      error: { message: 'invalid encoding' },
    });
  });

  test('have a status', async () => {
    const { balanceIncrease, processing, ofXChain } = devnet.transactions();
    const statuses = await Promise.all(
      [balanceIncrease, processing, ofXChain].map((id) => api.getTxStatus(id, SIGNAL)),
    );
    expect(statuses.map(({ status }) => status)).toEqual(['Committed', 'Processing', 'Unknown']);
    await expect(api.getTx(processing, SIGNAL)).rejects.toMatchObject(rejected);
  });

  test('of the X-Chain are on the X-Chain', async () => {
    const { balanceIncrease, ofXChain } = devnet.transactions();
    await chains.findXChainTx(ofXChain, SIGNAL);
    await expect(chains.findXChainTx(balanceIncrease, SIGNAL)).rejects.toMatchObject(rejected);
  });
});

test('an L1 validator has its subnet, weight and nonce; one that is gone is not there', async () => {
  const { subnetID } = devnet.subnets.l1;
  const listed = await api.getCurrentValidators(subnetID as SubnetID, SIGNAL);
  const changed = listed.find(({ minNonce }) => minNonce === 2n);
  expect(await api.getL1Validator(changed?.validationID as ValidationID, SIGNAL)).toEqual({
    subnetID,
    weight: 350n,
    minNonce: 2n,
  });
  const gone = idFromBytes<ValidationID>(new Uint8Array(32).fill(1), 'validation');
  await expect(api.getL1Validator(gone, SIGNAL)).rejects.toMatchObject(rejected);
  expect(await api.getValidatorFeePrice(SIGNAL)).toBe(1n);
});

test('every chain has the same epoch, at a height below the last; unknown chains have none', async () => {
  const { cChainID, xChainID } = devnet.subnets.primary;
  const ids = [P_CHAIN_ID, cChainID, xChainID, devnet.subnets.l1.blockchainID];
  const epochs = await Promise.all(ids.map((id) => chains.getCurrentEpoch(id as BlockchainID, SIGNAL)));
  for (const epoch of epochs) expect(epoch).toEqual(epochs[0]);
  expect(epochs[0]?.number).toBeGreaterThan(0n);
  expect(epochs[0]?.pChainHeight).toBeLessThan(await api.getHeight(SIGNAL));
  const unknown = idFromBytes<BlockchainID>(new Uint8Array(32).fill(1), 'chain');
  await expect(chains.getCurrentEpoch(unknown, SIGNAL)).rejects.toMatchObject({ kind: 'invalid response' });
  await expect(api.getTx(unknown as string as TxID, SIGNAL)).rejects.toMatchObject(rejected);
});
