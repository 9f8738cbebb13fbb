import { describe, expect, onTestFinished, test } from 'vitest';
import { EvmChain } from '../../../src/devnet/pchain/evm-chain.ts';
import { watchChain } from '../../../src/feed/chains/chain-watcher.ts';
import { endOfBlock } from '../../../src/feed/feed-message.ts';
import { openMessageStore } from '../../../src/feed/message-store.ts';
import {
  EMPTY_RECEIPTS,
  EVM_FAULTS,
  type EvmFault,
  type EvmFaultName,
  FAULT_MS,
  FIRST_BLOCK,
  SILENT_FAULTS,
  STANDS_STILL,
  STATE_SYNCED,
} from '../../devnet/evm-faults.ts';
import { openFaultySource } from '../../devnet/evm-sources.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { createLogLines } from '../../support/log-lines.ts';
import { CHAIN } from '../../unit/feed/emitted.ts';

const BLOCKS = 2_000;
/** Within which blocks are confirmed. */
const CONFIRMED_MS = 480_000;
const NEW_BLOCKS = 20;
/** Within which all blocks are read. */
const READ_MS = 60_000;
const names = Object.keys(EVM_FAULTS) as EvmFaultName[];

/** A chain of the devnet with a message in each block, and a watcher that reads it through RPCs with faults, in virtual time. */
function watchDevnet(faults: readonly (EvmFault | undefined)[], blocks = BLOCKS) {
  const clock = new FakeClock();
  const log = createLogLines('warn');
  const options = {
    vm: 'coreth',
    networkID: 1,
    blockchainID: CHAIN,
    sender: new Uint8Array(20).fill(1),
    clock,
  } as const;
  const chain = new EvmChain(options);
  const store = openMessageStore({ directory: undefined, networkID: 1 });
  const emit = (count: number): void => {
    for (let block = 0; block < count; block += 1) chain.transact([Buffer.from(`${chain.height}`)]);
  };
  emit(blocks);
  const opened = faults.map((fault) => openFaultySource(chain, clock, fault));
  const rpcs = opened.map(({ rpc }) => rpc);
  const sources = opened.map(({ source }) => source);
  let missed = 0;
  let watcher: ReturnType<typeof watchChain>;
  const start = (fromBlock?: number): void => {
    watcher = watchChain({
      settings: { blockchainId: 'C', fromBlock },
      identify: async () => CHAIN,
      openSources: () => sources,
      openSocket() {
        throw new Error('there is no web socket');
      },
      onMissed: (_, count) => {
        missed += count;
      },
      store,
      clock,
      random: () => 0.5,
      logger: log.logger,
    });
  };
  onTestFinished(async () => {
    await watcher.stop();
    store[Symbol.dispose]();
  });
  return {
    clock,
    chain,
    rpcs,
    store,
    emit,
    start,
    stop: () => watcher.stop(),
    missed: () => missed,
    status: () => watcher.reader?.status(),
    lines: () => log.records(),
    stored: () =>
      store.page({ after: new Map([[CHAIN, endOfBlock(0)]]), limit: 10_000 }).map(({ blockNumber }) => blockNumber),
  };
}

const from = (first: number, last: number): number[] =>
  Array.from({ length: last - first + 1 }, (_, index) => first + index);

describe('2,000 blocks with messages are read within a minute', () => {
  test.each(names)('%s', async (name) => {
    const watched = watchDevnet([EVM_FAULTS[name]]);
    watched.start(1);
    await watched.clock.advance(READ_MS);
    if (watched.store.checkpoint(CHAIN)?.blockNumber !== BLOCKS) await watched.clock.advance(FAULT_MS);
    expect({ problem: watched.status()?.problem, read: watched.store.checkpoint(CHAIN)?.blockNumber }).toEqual({
      problem: undefined,
      read: BLOCKS,
    });
    expect(watched.stored()).toEqual(from(1, BLOCKS));
    expect(watched.lines().length, JSON.stringify(watched.lines())).toBeLessThanOrEqual(1);
  });
});

describe('new blocks are read', () => {
  test.each(names)('%s', async (name) => {
    const watched = watchDevnet([EVM_FAULTS[name]], 0);
    watched.start(1);
    for (let block = 0; block < NEW_BLOCKS; block += 1) {
      watched.emit(1);
      await watched.clock.advance(500);
    }
    await watched.clock.advance(FAULT_MS + READ_MS / 2);
    expect(watched.status()?.problem).toBeUndefined();
    expect(watched.stored()).toEqual(from(1, NEW_BLOCKS));
  });
});

describe('a node that was state-synced', () => {
  test('is named with the block at which it begins, and fromBlock there begins the reading', async () => {
    const watched = watchDevnet([STATE_SYNCED]);
    watched.start(1);
    await watched.clock.advance(10_000);
    expect(watched.status()).toMatchObject({
      isStopped: true,
      problem: expect.stringContaining(`begin at ${FIRST_BLOCK}`),
    });
    await watched.stop();
    watched.start(FIRST_BLOCK + 1);
    await watched.clock.advance(READ_MS);
    expect(watched.stored()).toEqual(from(FIRST_BLOCK + 1, BLOCKS));
  });

  test('lets blocks be left out that are stored to be read', async () => {
    const watched = watchDevnet([undefined], 100);
    watched.start(1);
    await watched.clock.advance(READ_MS);
    await watched.stop();
    watched.emit(BLOCKS - 100);
    for (const rpc of watched.rpcs) rpc.fault = STATE_SYNCED;
    watched.start(1);
    await watched.clock.advance(10_000);
    expect(watched.status()?.problem).toContain(`begin at ${FIRST_BLOCK}`);
    await watched.stop();
    watched.start(FIRST_BLOCK + 1);
    await watched.clock.advance(READ_MS);
    expect(watched.stored()).toEqual([...from(1, 100), ...from(FIRST_BLOCK + 1, BLOCKS)]);
    expect(watched.lines()).toContainEqual(expect.objectContaining({ fromBlock: 101, toBlock: FIRST_BLOCK }));
  });
});

describe('a second reading', () => {
  test.each(Object.entries(SILENT_FAULTS))('finds what the first one missed: %s', async (_, fault) => {
    const watched = watchDevnet([fault], BLOCKS / 2);
    watched.start(1);
    await watched.clock.advance(10_000);
    const missing = BLOCKS / 2 - watched.stored().length;
    expect([watched.store.checkpoint(CHAIN)?.blockNumber, missing > 0]).toEqual([BLOCKS / 2, true]);
    await watched.clock.advance(CONFIRMED_MS);
    expect(watched.stored()).toEqual(from(1, BLOCKS / 2));
    expect([watched.missed(), watched.store.confirmed(CHAIN)?.blockNumber]).toEqual([missing, BLOCKS / 2]);
    expect(watched.lines()).toEqual([
      expect.objectContaining({ level: 'warn', msg: expect.stringContaining('missed') }),
    ]);
  });

  test.each([
    ['of the second endpoint', [undefined, undefined], 'eth_getLogs'],
    ['by receipts where no logs are served', [EVM_FAULTS['silence for all ranges']], 'eth_getBlockReceipts'],
  ])('confirms %s', async (_, faults, method) => {
    const watched = watchDevnet(faults, 20);
    watched.start(1);
    await watched.clock.advance(10_000);
    const { calls = new Map<string, number>() } = watched.rpcs.at(-1) ?? {};
    const before = calls.get(method) ?? 0;
    await watched.clock.advance(2 * CONFIRMED_MS);
    expect(watched.store.confirmed(CHAIN)?.blockNumber).toBe(20);
    expect(calls.get(method)).toBeGreaterThan(before);
    expect(watched.lines()).toEqual([]);
  });

  test('costs few calls', async () => {
    const watched = watchDevnet([undefined], 1);
    watched.start(1);
    for (let second = 0; second < 600; second += 2) {
      watched.emit(1);
      await watched.clock.advance(2_000);
    }
    const { calls = new Map<string, number>() } = watched.rpcs[0] ?? {};
    const total = [...calls.values()].reduce((sum, count) => sum + count, 0);
    // Only the second reading reads logs, each with a receipt and a block.
    expect(3 * (calls.get('eth_getLogs') ?? 0)).toBeLessThan(0.05 * total);
    expect(watched.store.confirmed(CHAIN)?.blockNumber).toBeGreaterThan(100);
  });
});

test('a range that is refused as a method that is not allowed is followed by shorter ones', async () => {
  const watched = watchDevnet([EVM_FAULTS['ranges refused as a method that is not allowed']]);
  watched.start(1);
  await watched.clock.advance(READ_MS);
  expect(watched.rpcs[0]?.calls.get('eth_getLogs')).toBeGreaterThan(BLOCKS / 32);
});

describe('with two endpoints', () => {
  const silent: EvmFault = () => new Promise<never>(() => undefined);
  const callsOf = (rpc: { readonly calls: ReadonlyMap<string, number> } | undefined, method: string): number =>
    rpc?.calls.get(method) ?? 0;

  /** Adds a block each half second, and returns how many were read late. */
  async function countLate(watched: ReturnType<typeof watchDevnet>, blocks: number): Promise<number> {
    let late = 0;
    for (let block = 0; block < blocks; block += 1) {
      watched.emit(1);
      await watched.clock.advance(1_000);
      if (watched.store.checkpoint(CHAIN)?.blockNumber !== watched.chain.height) late += 1;
    }
    return late;
  }

  test('the second one is read while the first one fails', async () => {
    const watched = watchDevnet([silent, undefined]);
    watched.start(1);
    await watched.clock.advance(READ_MS);
    expect(watched.stored()).toEqual(from(1, BLOCKS));
  });

  test('the first one delays nothing while it is silent, and is read again when it works', async () => {
    const watched = watchDevnet([silent, undefined], 1);
    watched.start(1);
    await watched.clock.advance(10_000);
    expect(await countLate(watched, 200)).toBe(0);
    const [first, second] = watched.rpcs;
    if (first === undefined) throw new Error('there is no first endpoint');
    first.fault = undefined;
    await countLate(watched, 200);
    const before = callsOf(second, 'eth_getBlockReceipts');
    await countLate(watched, 20);
    expect(callsOf(second, 'eth_getBlockReceipts')).toBe(before);
  });

  test('the first one is left when it stands still without an error', async () => {
    const watched = watchDevnet([STANDS_STILL, undefined], 1);
    watched.start(1);
    await countLate(watched, 130);
    expect(await countLate(watched, 20)).toBe(0);
    expect(watched.stored()).toEqual(from(1, 151));
  });

  test('the blocks are confirmed by the other one, with ranges alone', async () => {
    const watched = watchDevnet([SILENT_FAULTS['the same logs hidden from all ranges, for good'], undefined], 1_000);
    watched.start(1);
    await watched.clock.advance(CONFIRMED_MS);
    expect(watched.stored()).toEqual(from(1, 1_000));
    expect(callsOf(watched.rpcs[1], 'eth_getBlockReceipts')).toBe(0);
  });

  test('the first one confirms what was read from the second one', async () => {
    const hidden = SILENT_FAULTS['the same logs hidden from all ranges, for good'];
    const watched = watchDevnet([silent, hidden], 1_000);
    watched.start(1);
    await watched.clock.advance(60_000);
    expect(watched.stored().length).toBeLessThan(1_000);
    const [first] = watched.rpcs;
    if (first === undefined) throw new Error('there is no first endpoint');
    first.fault = undefined;
    await watched.clock.advance(CONFIRMED_MS);
    expect(watched.stored()).toEqual(from(1, 1_000));
  });
});

test('blocks that were read before a restart are confirmed by receipts and by logs', async () => {
  const watched = watchDevnet([EMPTY_RECEIPTS], 20);
  watched.start(1);
  await watched.clock.advance(10_000);
  expect(watched.stored()).toHaveLength(18);
  await watched.stop();
  watched.start(1);
  await watched.clock.advance(CONFIRMED_MS);
  expect(watched.stored()).toEqual(from(1, 20));
});
