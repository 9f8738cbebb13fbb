import { describe, expect, test } from 'vitest';
import { createEvmMessages } from '../../../../src/aggregation/transactions/messages-of-evm-transactions.ts';
import type { EvmReceipt } from '../../../../src/pchain/codec/evm-receipt.ts';
import { ApiError } from '../../../../src/pchain/rpc/api-error.ts';
import type { EvmChainID } from '../../../../src/pchain/rpc/evm-api.ts';
import { type BlockchainID, idFromBytes, PRIMARY_NETWORK_ID, type SubnetID } from '../../../../src/warp/ids.ts';
import { createUnsignedMessage } from '../../../../src/warp/unsigned-message.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { CHAIN, SUBNET, TX } from '../aggregator-fixture.ts';
import { hang, NOT_FOUND } from '../api-failures.ts';

const SIGNAL = new AbortController().signal;
const OTHER_CHAIN = idFromBytes<BlockchainID>(new Uint8Array(32).fill(4), 'chain');
const UNTRACKED_CHAIN = idFromBytes<BlockchainID>(new Uint8Array(32).fill(5), 'chain');
const MESSAGE = createUnsignedMessage(1, CHAIN, Buffer.from('hello'));
const RECEIPT: EvmReceipt = { hasFailed: false, logCount: 1, messages: [{ logIndex: 0, message: MESSAGE }] };

type Answer = EvmReceipt | undefined | Error | 'hangs';

function createHarness(answers: Partial<Record<EvmChainID, Answer>>, tracked: readonly SubnetID[] = []) {
  const clock = new FakeClock();
  const asked: EvmChainID[] = [];
  const state = {
    answers,
    chains: [CHAIN, OTHER_CHAIN] as BlockchainID[] | Error,
    listed: 0,
    aborted: [] as EvmChainID[],
  };
  const messages = createEvmMessages({
    evm: {
      async getReceipt(chain, _, signal) {
        asked.push(chain);
        const answer = state.answers[chain];
        if (answer instanceof Error) throw answer;
        if (answer !== 'hangs') return answer;
        return hang(signal).finally(() => state.aborted.push(chain));
      },
    },
    api: {
      async getBlockchains() {
        state.listed += 1;
        if (state.chains instanceof Error) throw state.chains;
        const ofTracked = state.chains.map((blockchainID) => ({ blockchainID, subnetID: SUBNET }));
        return [{ blockchainID: UNTRACKED_CHAIN, subnetID: PRIMARY_NETWORK_ID }, ...ofTracked];
      },
    },
    directory: { validatedBy: async (chain) => (chain === OTHER_CHAIN ? undefined : SUBNET) },
    subnets: { tracked: new Set(tracked) },
    networkID: 5,
    clock,
    timeoutMs: 1_000,
  });
  return { clock, asked, state, messages };
}

describe('a search', () => {
  test('asks all chains at once: the first that knows it wins, and the others are abandoned', async () => {
    const { clock, asked, state, messages } = createHarness({ C: 'hangs', [OTHER_CHAIN]: RECEIPT }, [
      PRIMARY_NETWORK_ID,
      SUBNET,
    ]);
    expect(await messages.search(TX, undefined, SIGNAL)).toMatchObject({ message: MESSAGE });
    expect(asked).toEqual(['C', CHAIN, OTHER_CHAIN]);
    await clock.advance(0);
    expect(state.aborted).toEqual(['C']);
  });

  test('reads the chains of tracked subnets once a minute, and asks at most 16', async () => {
    const { clock, asked, state, messages } = createHarness({}, [SUBNET]);
    state.chains = Array.from({ length: 40 }, (_, n) => idFromBytes(new Uint8Array(32).fill(100 + n), 'chain'));
    for (const _ of [1, 2]) expect(await messages.search(TX, undefined, SIGNAL)).toEqual({ failures: [] });
    expect([state.listed, new Set(asked).size]).toEqual([1, 1 + 16]);
    await clock.advance(60_000);
    await messages.search(TX, undefined, SIGNAL);
    expect(state.listed).toBe(2);
  });

  test('names the chains that could not be asked', async () => {
    const { state, messages } = createHarness({ C: new ApiError('invalid_response', 'HTTP status 404') }, [SUBNET]);
    state.chains = new ApiError('unavailable', 'no answer');
    expect(await messages.search(TX, undefined, SIGNAL)).toEqual({
      failures: expect.arrayContaining([expect.stringContaining('tracked subnets')]),
      cChainFailure: expect.objectContaining({ code: 'chain_rpc_invalid' }),
    });
  });

  test('ends in half of the time for a chain that does not answer', async () => {
    const { clock, state, messages } = createHarness({ C: 'hangs' }, [PRIMARY_NETWORK_ID]);
    const result = messages.search(TX, undefined, SIGNAL);
    await clock.advance(500);
    expect(state.listed).toBe(0);
    expect(await result).toEqual({
      failures: [],
      cChainFailure: expect.objectContaining({ code: 'chain_rpc_unavailable' }),
    });
  });

  test("ends with the client's reason", async () => {
    const { messages } = createHarness({ C: 'hangs' });
    const client = new AbortController();
    const result = messages.search(TX, undefined, client.signal);
    client.abort(new Error('gone'));
    await expect(result).rejects.toThrow('gone');
  });
});

describe('a transaction of a given chain', () => {
  const ofChain = ({ messages }: ReturnType<typeof createHarness>, chain: EvmChainID) =>
    messages.ofChain(TX, chain, undefined, SIGNAL);

  test('is read once in ten minutes', async () => {
    const harness = createHarness({ [CHAIN]: RECEIPT });
    for (const _ of [1, 2, 3]) expect(await ofChain(harness, CHAIN)).toMatchObject({ message: MESSAGE });
    expect(harness.asked).toHaveLength(1);
    await harness.clock.advance(10 * 60_000);
    await ofChain(harness, CHAIN);
    expect(harness.asked).toHaveLength(2);
  });

  test('is read again while the chain does not know it', async () => {
    const harness = createHarness({ C: undefined });
    await expect(ofChain(harness, 'C')).rejects.toMatchObject({
      code: 'unknown_transaction',
      message: expect.stringMatching(/^the C-Chain of fuji has not accepted a transaction 0x/),
      retryAfterMs: 2_000,
    });
    harness.state.answers = { C: RECEIPT };
    expect(await ofChain(harness, 'C')).toMatchObject({ message: MESSAGE });
  });

  test.each<[string, ApiError, string]>([
    ['unavailable', new ApiError('unavailable', 'no answer'), 'chain_rpc_unavailable'],
    ['wrong', new ApiError('invalid_response', 'HTTP status 404'), 'chain_rpc_invalid'],
    ['unable to find it', NOT_FOUND, 'unknown_transaction'],
  ])('of an RPC that is %s', async (_, error, code) => {
    await expect(ofChain(createHarness({ [CHAIN]: error }), CHAIN)).rejects.toMatchObject({ code });
  });

  test('that the P-Chain does not know', async () => {
    const harness = createHarness({ [OTHER_CHAIN]: new ApiError('invalid_response', 'HTTP status 404') });
    await expect(ofChain(harness, OTHER_CHAIN)).rejects.toMatchObject({
      code: 'unknown_source_chain',
      field: 'sourceChainID',
    });
  });
});
