import { afterEach, expect, test } from 'vitest';
import type { ApiError } from '../../../src/pchain/rpc/api-error.ts';
import { createChainApi } from '../../../src/pchain/rpc/chain-api.ts';
import { createDataApi } from '../../../src/pchain/rpc/data-api.ts';
import { type BlockchainID, idFromBytes, P_CHAIN_ID, type TxID, type ValidationID } from '../../../src/warp/ids.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { readRpcExchanges, readTransaction, rpcResult } from '../../vectors/vectors.ts';
import { LocalApi, openClient, type Reply } from './local-api.ts';

const SIGNAL = new AbortController().signal;
const CHAIN = idFromBytes<BlockchainID>(new Uint8Array(32).fill(1), 'chain');
const VALIDATION = idFromBytes<ValidationID>(new Uint8Array(32).fill(2), 'validation');

const opened: AsyncDisposable[] = [];
afterEach(async () => {
  for (const one of opened.splice(0).toReversed()) await one[Symbol.asyncDispose]();
});

async function open(reply: () => Reply) {
  const server = await LocalApi.start(reply);
  const client = openClient(server.baseUrl);
  opened.push(server, client);
  return { server, chains: createChainApi(client) };
}

test('the API of a chain returns the epoch of a real chain', async () => {
  const result = rpcResult(readRpcExchanges('pchain'), 'proposervm.getCurrentEpoch');
  const { server, chains } = await open(() => ({ result }));
  expect(await chains.getCurrentEpoch(CHAIN, SIGNAL)).toEqual({
    number: 2n,
    pChainHeight: 3n,
    startTime: 1_795_251_081n,
  });
  expect(server.requests[0]).toMatchObject({
    url: `/ext/bc/${CHAIN}/proposervm`,
    method: 'proposervm.getCurrentEpoch',
  });
});

test.each([
  [P_CHAIN_ID, 'P'],
  // The C-Chains of mainnet and Fuji, the X-Chain of Fuji.
  ['2q9e4r6Mu3U68nU1fYjgbR6JvwrRx36CohpAX5UQxse55x1Q5', 'C'],
  ['yH8D7ThNJkxmtkuv2jgBa4P1Rn3Qpr4pPr7QYNfcdoS6k6HWp', 'C'],
  ['2JVSBoinj9C2J33VntvzYtVJNZdN2NKiwwKjcumHUWEb5DbBrm', 'X'],
])('the API of the chain %s has the name %s', async (chainID, alias) => {
  const { server, chains } = await open(() => ({ result: { number: '0', startTime: '0', pChainHeight: '0' } }));
  expect(await chains.getCurrentEpoch(chainID as BlockchainID, SIGNAL)).toEqual({
    number: 0n,
    pChainHeight: 0n,
    startTime: 0n,
  });
  expect(server.requests[0]?.url).toBe(`/ext/bc/${alias}/proposervm`);
});

test('the API of a chain accepts a transaction of the X-Chain only if its bytes hash to the ID', async () => {
  const { txID, hex } = readTransaction('ConvertSubnetToL1Tx');
  const { server, chains } = await open(() => ({ result: hex.response.result }));
  await chains.findXChainTx(txID as TxID, SIGNAL);
  expect(server.requests[0]).toMatchObject({ url: '/ext/bc/X', method: 'avm.getTx', params: { encoding: 'hex' } });
  const other = idFromBytes<TxID>(new Uint8Array(32).fill(3), 'tx');
  await expect(chains.findXChainTx(other, SIGNAL)).rejects.toMatchObject({ code: 'invalid_response' });
});

const TIMEOUT_MS = 500;

async function start(reply: Reply) {
  const clock = new FakeClock();
  const server = await LocalApi.start(() => {
    if (reply === 'hang') void clock.advance(TIMEOUT_MS);
    return reply;
  });
  const endpoint = {
    baseUrl: `${server.baseUrl}/glacier/`,
    httpHeaders: { 'x-glacier-api-key': 'secret' },
    queryParameters: { token: 'more' },
  };
  const dataApi = createDataApi({ endpoint, network: 'fuji', clock, timeoutMs: TIMEOUT_MS });
  opened.push(server, dataApi);
  return { server, find: () => dataApi.transactionsOf(VALIDATION, SIGNAL) };
}

test('the data API receives a request for the oldest transactions of a validation, and returns at most one page', async () => {
  const txHash = readTransaction('ConvertSubnetToL1Tx').txID;
  const transactions = Array(1_000).fill({ txHash, more: 1 });
  const { server, find } = await start({ status: 200, text: JSON.stringify({ transactions }) });
  expect(await find()).toEqual(Array(10).fill(txHash));
  expect(server.requests[0]?.url).toBe(
    `/glacier/v1/networks/fuji/blockchains/p-chain/transactions?l1ValidationId=${VALIDATION}&sortOrder=asc&pageSize=10&token=more`,
  );
  expect(server.requests[0]?.headers['x-glacier-api-key']).toBe('secret');
});

test.each<[string, Reply, string]>([
  ['a wrong key', { status: 403, text: '{}' }, 'invalid_response'],
  ['too many requests', { status: 429, text: '{}' }, 'unavailable'],
  ['an outage', { status: 502, text: '<html>' }, 'unavailable'],
  ['no response', 'hang', 'unavailable'],
  ['invalid JSON', { status: 200, text: '<html>' }, 'invalid_response'],
  ['another shape', { status: 200, text: '{"transactions": {}}' }, 'invalid_response'],
  ['an invalid hash', { status: 200, text: '{"transactions": [{"txHash": "x"}]}' }, 'invalid_response'],
  [
    'a body above the limit',
    { status: 200, text: `{"transactions": []${' '.repeat(5 * 1024 * 1024)}}` },
    'invalid_response',
  ],
])('the data API fails after %s, without its key in the error', async (_, reply, code) => {
  const { find } = await start(reply);
  const error = await find().catch((caught: unknown) => caught);
  expect(error).toMatchObject({ name: 'ApiError', code });
  const { message, detail } = error as ApiError;
  expect(`${message} ${detail}`).not.toMatch(/secret|token/);
  expect(message).not.toContain('127.0.0.1');
  expect(detail).toMatch(/^the data API at 127\.0\.0\.1:\d+/);
});
