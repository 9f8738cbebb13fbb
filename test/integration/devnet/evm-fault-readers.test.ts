import { Registry } from 'prom-client';
import { expect, onTestFinished, test } from 'vitest';
import { EvmChain } from '../../../src/devnet/pchain/evm-chain.ts';
import { openFeed } from '../../../src/feed/feed.ts';
import { openMessageStore } from '../../../src/feed/message-store.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { EVM_FAULTS, type EvmFault, FAULT_MS, SILENT_FAULTS } from '../../devnet/evm-faults.ts';
import { openFaultySource } from '../../devnet/evm-sources.ts';
import { Draws } from '../../simulation/draws.ts';
import { FeedClient } from '../../simulation/feed-client.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { createLogLines } from '../../support/log-lines.ts';
import { CHAIN, SIGNED_RESULT } from '../../unit/feed/emitted.ts';

/**
 * What readers of a feed receive, whatever the RPC of its chain does: evm-faults.test.ts counts what is stored. In virtual time, with readers that go
 * on by their cursors.
 */

const OLD_BLOCKS = 300;
const NEW_BLOCKS = 40;
const BLOCK_MS = 500;
/** Blocks are read a second time some minutes after the first. */
const RECEIVED_MS = FAULT_MS + 480_000;
const STEP_MS = 1_000;
const ALL = { sourceChainID: undefined, sender: undefined, destinationChainID: undefined, status: undefined };

/** Reads a chain with a message in each block behind a fault, and returns the blocks whose messages each reader did not receive as signed. */
async function readBehind(fault: EvmFault) {
  const clock = new FakeClock();
  const sender = new Uint8Array(20).fill(1);
  const chain = new EvmChain({ vm: 'coreth', networkID: 1, blockchainID: CHAIN, sender, clock });
  const emit = (): void => void chain.transact([Buffer.from(`${chain.height}`)]);
  for (let block = 0; block < OLD_BLOCKS; block += 1) emit();
  const store = openMessageStore({ directory: undefined, networkID: 1 });
  const feed = openFeed({
    settings: { chains: [{ blockchainId: 'C', fromBlock: 1 }], retentionHours: 168, maxMessages: 100_000 },
    openStore: () => store,
    hasStoredMessages: () => false,
    maxBytes: 1e9,
    aggregator: { aggregate: async () => SIGNED_RESULT },
    identify: async () => CHAIN,
    openSources: () => [openFaultySource(chain, clock, fault).source],
    openSocket() {
      throw new Error('there is no web socket');
    },
    clock,
    random: () => 0.5,
    logger: createLogLines().logger,
    metrics: createMetrics(new Registry()),
  });
  onTestFinished(() => feed[Symbol.asyncDispose]());
  const violations: string[] = [];
  const readers = [true, false].map((isPaged) => {
    const name = isPaged ? 'pages' : 'stream';
    const violate = (what: string): void => void violations.push(what);
    return new FeedClient({ name, query: ALL, isPaged, clock, draws: new Draws(name), violate });
  });
  const missing = (reader: FeedClient): number[] =>
    Array.from({ length: chain.height }, (_, index) => index + 1).filter(
      (blockNumber) => reader.statusOf({ chainID: CHAIN, blockNumber, logIndex: 0 }) !== 'signed',
    );
  const pass = async (ms: number): Promise<void> => {
    await clock.advance(ms);
    for (const reader of readers) reader.read();
  };
  for (const reader of readers) reader.connect(store);
  for (let block = 0; block < NEW_BLOCKS; block += 1) {
    // Readers that lose their connections, and have not kept their last cursors.
    if (block === NEW_BLOCKS / 2) for (const reader of readers) reader.connect(store, 2);
    emit();
    await pass(BLOCK_MS);
  }
  for (let waitedMs = 0; waitedMs < RECEIVED_MS; waitedMs += STEP_MS) {
    if (readers.every((reader) => missing(reader).length === 0)) break;
    await pass(STEP_MS);
  }
  for (const reader of readers) reader.leave();
  return { missing: readers.map(missing), violations };
}

test.each(Object.entries({ ...EVM_FAULTS, ...SILENT_FAULTS }))(
  'a reader of pages and one of a stream miss no message behind an RPC with %s',
  async (_, fault) => {
    expect(await readBehind(fault)).toEqual({ missing: [[], []], violations: [] });
  },
);
