import { Registry } from 'prom-client';
import { afterEach, describe, expect, test } from 'vitest';
import type { ChainSettings } from '../../../src/feed/chains/chain-watcher.ts';
import { type FeedService, MAX_START_MS, openFeed } from '../../../src/feed/feed.ts';
import { endOfBlock } from '../../../src/feed/feed-message.ts';
import { openMessageStore } from '../../../src/feed/message-store.ts';
import { StoreError } from '../../../src/store/local/sqlite.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import type { BlockchainID } from '../../../src/warp/ids.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { createLogLines } from '../../support/log-lines.ts';
import { CHAIN, chainNumbered, OTHER_CHAIN, SIGNED_RESULT, senderNumbered } from './emitted.ts';
import { SimulatedChain } from './simulated-chain.ts';

const SIGNAL = new AbortController().signal;
const ON: ChainSettings = { blockchainId: CHAIN, fromBlock: 1 };
const settingsOf = (...chains: ChainSettings[]) => ({ chains, retentionHours: 1, maxMessages: 100 });

let clock: FakeClock;
let chain: SimulatedChain;
let feed: FeedService;
let registry: Registry;
let stores: number;
/** Why the store cannot be opened. */
let storeFailure: StoreError | undefined;

function start(...chains: ChainSettings[]): void {
  clock = new FakeClock();
  chain = new SimulatedChain(clock);
  registry = new Registry();
  stores = 0;
  feed = openFeed({
    settings: settingsOf(...chains),
    openStore() {
      if (storeFailure !== undefined) throw storeFailure;
      stores += 1;
      return openMessageStore({ directory: undefined, networkID: 1 });
    },
    hasStoredMessages: () => false,
    maxBytes: 1e6,
    aggregator: { aggregate: async () => SIGNED_RESULT },
    identify: async (id) => (id === 'C' ? CHAIN : id),
    openSources: () => [chain.node()],
    openSocket() {
      throw new Error('no chain has a web socket');
    },
    clock,
    random: () => 0.5,
    logger: createLogLines().logger,
    metrics: createMetrics(registry),
  });
}

afterEach(async () => {
  storeFailure = undefined;
  await feed[Symbol.asyncDispose]();
});

async function emit(...blocks: number[]): Promise<void> {
  for (const transactions of blocks) chain.accept(transactions);
  chain.execute();
  await clock.advance(1_000);
}

function stored(chainID: BlockchainID = CHAIN): string[] {
  const after = new Map([[chainID, endOfBlock(0)]]);
  const messages = feed.messages?.page({ after, limit: 1_000 }) ?? [];
  return messages.map(({ blockNumber, outcome }) => `${blockNumber} ${outcome.status}`);
}

test('without chains there is no store, no timer and no metric', async () => {
  start();
  await clock.advance(100_000);
  expect({ stores, timers: clock.pendingTimers, messages: feed.messages }).toEqual({
    stores: 0,
    timers: 0,
    messages: undefined,
  });
  expect(await registry.metrics()).not.toContain('feed');
});

test('it is starting until each chain is in the store, or for a bounded time', async () => {
  start(ON);
  expect(feed.isStarting).toBe(true);
  await emit(1);
  expect(feed.isStarting).toBe(false);
  await feed[Symbol.asyncDispose]();
  start(ON);
  chain.fault = 'down';
  await clock.advance(MAX_START_MS - 1);
  expect(feed.isStarting).toBe(true);
  await clock.advance(1);
  expect(feed.isStarting).toBe(false);
});

test('it watches the chains of its settings, also one that was not read yet', async () => {
  start({ blockchainId: 'C', fromBlock: 1 }, { blockchainId: OTHER_CHAIN });
  chain.fault = 'down';
  await clock.advance(MAX_START_MS);
  expect(feed.messages?.progress()).toEqual([]);
  expect([CHAIN, 'C', OTHER_CHAIN, chainNumbered(3)].map(feed.watches)).toEqual([true, true, true, false]);
});

test('messages of watched chains are stored and signed', async () => {
  start(ON);
  await emit(1, 0, 1);
  expect(stored()).toEqual(['1 signed', '3 signed']);
  expect(feed.chains()).toEqual([
    {
      chainID: CHAIN,
      headBlock: 3,
      confirmedBlock: 0,
      distanceBlocks: 0,
      distanceSeconds: 0,
      unconfirmedSeconds: expect.any(Number),
      problem: undefined,
      problemKind: undefined,
    },
  ]);
  const metrics = await registry.metrics();
  expect(metrics).toContain(`feed_messages_total{source_chain="${CHAIN}",outcome="signed"} 2`);
  expect(metrics).toContain(`feed_head_distance_blocks{source_chain="${CHAIN}"} 0`);
});

test('the distance to the head is that of blocks which are not executed yet', async () => {
  start(ON);
  await emit(1);
  for (let block = 0; block < 3; block += 1) chain.accept(1);
  await clock.advance(4_000);
  expect(feed.chains()).toMatchObject([{ headBlock: 4, distanceBlocks: 3, distanceSeconds: 5 }]);
  expect(await registry.metrics()).toContain(`feed_head_distance_seconds{source_chain="${CHAIN}"} 5`);
});

test.each([
  ['down', 'rpc_failing'],
  ['lags', 'rpc_behind'],
  ['contradicts', 'rpc_contradicts'],
  ['breaks', 'bug'],
] as const)('a chain whose RPC %s is stopped for the reason %s', async (fault, reason) => {
  start(ON);
  await emit(1, 1, 1, 1);
  const states = async () =>
    (await registry.metrics()).split('\n').filter((line) => /^\w*feed_chain_stopped/.test(line));
  expect(await states()).toEqual([expect.stringMatching(/reason=""} 0$/)]);
  chain.fault = fault;
  await clock.advance(100_000);
  expect(await states()).toEqual([expect.stringContaining(`reason="${reason}"} 1`)]);
});

test('a closed feed leaves no timer', async () => {
  start(ON);
  await emit(1);
  await feed[Symbol.asyncDispose]();
  expect(clock.pendingTimers).toBe(0);
  start();
});

test('a message that the filters do not let pass is not stored', async () => {
  start({ ...ON, senders: [senderNumbered(9)] });
  await emit(1);
  expect(stored()).toEqual([]);
  feed.update(settingsOf({ ...ON, senders: [senderNumbered(1)] }));
  await emit(1);
  expect(stored()).toEqual(['2 signed']);
});

describe('a reload', () => {
  test('begins to watch an added chain', async () => {
    start();
    feed.update(settingsOf(ON));
    await emit(1);
    expect(stored()).toEqual(['1 signed']);
  });

  test('ends to watch a removed chain, whose messages stay, and goes on where it was', async () => {
    start(ON);
    await emit(1);
    feed.update(settingsOf());
    await emit(1);
    expect([stored(), feed.chains()]).toEqual([['1 signed'], []]);
    feed.update(settingsOf(ON));
    await emit();
    expect(stored()).toEqual(['1 signed', '2 signed']);
  });

  test('that names a chain twice watches it once', async () => {
    start(ON, { blockchainId: 'C' });
    await emit(1);
    expect(feed.chains()).toHaveLength(1);
    expect(stored()).toEqual(['1 signed']);
  });
});

test('messages are removed when their retention ends', async () => {
  start(ON);
  await emit(1);
  await clock.advance(3_600_000 + 120_000);
  // The clock may be wrong: the newest block is not old yet.
  expect(stored()).toEqual(['1 signed']);
  await emit(0);
  await clock.advance(120_000);
  expect(stored()).toEqual([]);
  expect(feed.messages?.progress()[0]?.storedAfter).toEqual({ blockNumber: 1, logIndex: 0 });
});

test('a chain that is forgotten while the service runs is read anew', async () => {
  start(ON);
  await emit(1, 1);
  chain.fault = 'contradicts';
  await clock.advance(90_000);
  expect(feed.chains()).toMatchObject([{ problem: expect.stringContaining('forget') }]);
  chain.fault = 'none';
  const forgotten = feed.forget(CHAIN);
  await clock.advance(10_000);
  expect(await forgotten).toEqual({ removed: 2 });
  expect(stored()).toEqual(['1 signed', '2 signed']);
  await expect(feed.forget(OTHER_CHAIN)).rejects.toMatchObject({ code: 'unknown_blockchain' });
});

describe('a replay', () => {
  async function replay(from: number, to: number, chainID: BlockchainID = CHAIN): Promise<unknown> {
    const result = feed.replay(chainID, from, to, SIGNAL).catch((error: unknown) => error);
    await clock.advance(10_000);
    return result;
  }

  test('adds the messages that are missing', async () => {
    start({ ...ON, fromBlock: 3 });
    await emit(1, 1, 1, 1);
    expect(stored()).toEqual(['3 signed', '4 signed']);
    expect(await replay(2, 3)).toEqual({ found: 2, added: 1 });
    expect(stored()).toEqual(['2 signed', '3 signed', '4 signed']);
  });

  test.each([
    ['of a chain that is not watched', 1, 2, OTHER_CHAIN, 'unknown_blockchain'],
    ['that ends before its begin', 2, 1, CHAIN, 'invalid_request'],
    ['of too many blocks', 1, 1_001, CHAIN, 'invalid_request'],
    ['beyond the watermark', 1, 3, CHAIN, 'invalid_request'],
  ])('%s is refused', async (_, from, to, chainID, code) => {
    start(ON);
    await emit(1, 1);
    expect(await replay(from, to, chainID)).toMatchObject({ code });
  });

  test('is refused during another one, and fails with its RPC', async () => {
    start(ON);
    await emit(1, 1);
    const first = feed.replay(CHAIN, 1, 2, SIGNAL);
    await expect(feed.replay(CHAIN, 1, 2, SIGNAL)).rejects.toMatchObject({ code: 'overloaded' });
    await clock.advance(100);
    expect(await first).toEqual({ found: 2, added: 0 });
    chain.fault = 'down';
    expect(await replay(1, 2)).toMatchObject({ code: 'chain_rpc_unavailable' });
  });
});

test('a store that cannot be opened stops the feed alone, and is tried again', async () => {
  storeFailure = new StoreError('open', '/data/feed.sqlite', 'there is no space left');
  start(ON);
  await emit(1);
  expect([feed.messages, feed.storeProblem]).toEqual([undefined, expect.stringContaining('no space left')]);
  expect(await registry.metrics()).toMatch(/feed_store_failing 1$/m);
  storeFailure = undefined;
  await clock.advance(31_000);
  expect(feed.storeProblem).toBeUndefined();
  expect(stored()).toEqual(['1 signed']);
});
