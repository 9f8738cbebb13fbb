import { describe, expect, test } from 'vitest';
import { createEvmMethods } from '../../../src/devnet/node/evm-methods.ts';
import { EvmChain } from '../../../src/devnet/pchain/evm-chain.ts';
import { createBlockCalls, createBlockSource } from '../../../src/feed/blocks/block-source.ts';
import { ApiError } from '../../../src/pchain/rpc/api-error.ts';
import { createEvmApi } from '../../../src/pchain/rpc/evm-api.ts';
import type { AskedEndpoint, EndpointCall, JsonRpcClient } from '../../../src/pchain/rpc/json-rpc.ts';
import type { JsonRpcRequest } from '../../../src/pchain/rpc/json-rpc-attempt.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { CHAIN } from './emitted.ts';

const SIGNAL = new AbortController().signal;
const EXECUTION_LAG_MS = 2_000;

/** A chain whose blocks are executed some time after their acceptance, and its node, which may refuse a method. */
function open(refused = '') {
  const clock = new FakeClock();
  const sender = new Uint8Array(20).fill(1);
  const options = { vm: 'coreth', networkID: 1, blockchainID: CHAIN, sender, clock } as const;
  const chain = new EvmChain({ ...options, executionLagMs: EXECUTION_LAG_MS });
  const methods = createEvmMethods(chain);
  async function call<Result>({ method, params, parseResult }: JsonRpcRequest<Result>): Promise<Result> {
    if (method === refused) throw new ApiError('method_refused', 'not served');
    const [filter] = params as readonly unknown[];
    return parseResult(
      methods[method]?.(method === 'eth_getLogs' ? (filter as Record<string, unknown>) : { ...params }),
      '',
    );
  }
  async function callAtEndpoints<Result>({ ask }: EndpointCall<Result>): Promise<Result> {
    const send: AskedEndpoint['send'] = async (request) => ({ status: 'responded', result: await call(request) });
    const attempt = await ask({ send } as AskedEndpoint);
    if (attempt.status === 'responded') return attempt.result;
    throw new Error(attempt.status);
  }
  const client = { call, callAtEndpoints } as Partial<JsonRpcClient> as JsonRpcClient;
  const evm = createEvmApi({ cChain: client, others: client, configured: new Map() });
  return { clock, chain, source: createBlockCalls(createBlockSource(evm, 'C', CHAIN), clock) };
}

function emit(chain: EvmChain, ...texts: readonly string[]): void {
  for (const text of texts) chain.transact([Buffer.from(text)]);
}

describe('a block that is accepted and not executed', () => {
  test.each(['', 'eth_getBlockReceipts'])('has no messages yet, and is not empty (refused: "%s")', async (refused) => {
    const { clock, chain, source } = open(refused);
    emit(chain, 'one');
    const block = await source.block(1, SIGNAL);
    if (block === undefined) throw new Error('no block');
    // What the node answers then, without an error.
    expect(chain.logs({ blockHash: block.hash, fromBlock: 0, toBlock: 0 })).toEqual([]);
    expect(await source.messagesOf(block, SIGNAL)).toBeUndefined();
    await clock.advance(EXECUTION_LAG_MS);
    expect(await source.messagesOf(block, SIGNAL)).toMatchObject([{ blockNumber: 1, blockHash: block.hash }]);
  });

  test('ends no range', async () => {
    const { clock, chain, source } = open();
    emit(chain, 'one', 'two');
    await clock.advance(EXECUTION_LAG_MS);
    emit(chain, 'three');
    const [executed, accepted] = [await source.block(2, SIGNAL), await source.block(3, SIGNAL)];
    if (executed === undefined || accepted === undefined) throw new Error('no block');
    expect(await source.logsIn(1, accepted, SIGNAL)).toBeUndefined();
    expect(await source.logsIn(1, executed, SIGNAL)).toMatchObject([{ blockNumber: 1 }, { blockNumber: 2 }]);
    await clock.advance(EXECUTION_LAG_MS);
    expect(await source.logsIn(1, accepted, SIGNAL)).toHaveLength(3);
  });
});

test('the Warp precompile names the chain', async () => {
  const { chain, source } = open();
  expect(await source.chainID(SIGNAL)).toBe(chain.blockchainID);
});

test('a block without transactions is empty, and one beyond the head does not exist', async () => {
  const { source } = open();
  const genesis = await source.block(0, SIGNAL);
  expect(genesis && (await source.messagesOf(genesis, SIGNAL))).toEqual([]);
  expect(await source.block(1, SIGNAL)).toBeUndefined();
});
