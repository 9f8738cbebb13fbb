import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import { PChainLedger } from '../src/devnet/pchain/p-chain-ledger.ts';
import { seededBytes, seededId } from '../src/devnet/seeded-random.ts';
import { systemClock } from '../src/lib/concurrency/clock.ts';
import { parsePChainBlock } from '../src/pchain/codec/p-chain-block.ts';
import { createValidationIndex, DEFAULT_INDEX_LIMITS } from '../src/pchain/state/validation-index.ts';
import { openValidationStore } from '../src/store/local/validation-store.ts';
import { createLogger } from '../src/telemetry/logger.ts';
import { createMetrics } from '../src/telemetry/metrics.ts';
import type { BlockchainID, SubnetID } from '../src/warp/ids.ts';
import { type RegisterL1Validator, registrationValidationID } from '../src/warp/l1-message.ts';
import type { BenchmarkOptions } from './benchmark.ts';

const SIZES = [1_000, 10_000];
/** One registration in so many blocks: far more than on any real network, so that time goes into registrations. */
const BLOCKS_PER_REGISTRATION = 3;
const LOOKUPS = 10_000;
const NETWORK_ID = 1;
const SIGNAL = new AbortController().signal;

/** The index of L1 validations on a chain with many registrations: the first reading, lookups, and a restart. */
export async function benchL1Index({ sizes, report }: BenchmarkOptions): Promise<void> {
  for (const size of sizes.length > 0 ? sizes : SIZES) await benchSize(size, report);
}

async function benchSize(size: number, report: BenchmarkOptions['report']): Promise<void> {
  const messages = Array.from({ length: size }, (_, number) => registration(number));
  const chain = createChain(messages);
  const directory = mkdtempSync(join(tmpdir(), 'bench-l1-index-'));
  try {
    {
      const startMs = performance.now();
      await using opened = open(chain, directory);
      await untilRead(opened.index);
      const readMs = performance.now() - startMs;
      report({ name: `${size} registrations: first reading`, blocks: chain.reads, ms: round(readMs) });
      report({ name: `${size} registrations: lookups`, ...(await lookUp(opened.index, messages)) });
    }
    const file = statSync(join(directory, `l1-validations-${NETWORK_ID}.sqlite`)).size;
    chain.reads = 0;
    chain.height += 100n;
    const startMs = performance.now();
    await using opened = open(chain, directory);
    await opened.index.originOf(registrationValidationID(messages[0] as RegisterL1Validator), SIGNAL);
    const firstMs = performance.now() - startMs;
    while (opened.index.coverage().range?.to !== chain.height) await nextTurn();
    report({
      name: `${size} registrations: restart`,
      'first lookup ms': round(firstMs),
      'caught up ms': round(performance.now() - startMs),
      'new blocks': 100,
      'blocks read': chain.reads,
      'file MB': round(file / 2 ** 20),
    });
  } finally {
    rmSync(directory, { recursive: true });
  }
}

function createChain(messages: readonly RegisterL1Validator[]) {
  const ledger = new PChainLedger({
    seed: 1,
    networkID: NETWORK_ID,
    managerChainID: seededId<BlockchainID>(1, 'manager chain'),
    managerAddress: seededBytes(1, 'manager', 20),
    owner: { threshold: 1, addresses: [seededBytes(1, 'owner', 20)] },
    events: messages.map((message, index) => ({
      height: BigInt(BLOCKS_PER_REGISTRATION * (index + 1)),
      kind: 'registration',
      message,
    })),
    timeOf: (height) => 1_700_000_000n + height,
  });
  const chain = {
    height: BigInt(BLOCKS_PER_REGISTRATION * messages.length),
    reads: 0,
    getHeight: async () => chain.height,
    getBlockByHeight: async (height: bigint) => {
      chain.reads += 1;
      return parsePChainBlock(ledger.block(height).json);
    },
  };
  // Made before anything is measured.
  ledger.block(chain.height + 100n);
  return chain;
}

function open(chain: ReturnType<typeof createChain>, directory: string) {
  const store = openValidationStore({ directory, networkID: NETWORK_ID });
  const index = createValidationIndex({
    api: chain,
    store,
    clock: systemClock,
    logger: createLogger('warn'),
    metrics: createMetrics(new Registry()),
    l1StartTime: undefined,
    limits: { ...DEFAULT_INDEX_LIMITS, lookback: undefined, maxBlocksPerSecond: 1_000_000 },
  });
  return {
    index,
    async [Symbol.asyncDispose]() {
      await index[Symbol.asyncDispose]();
      store[Symbol.dispose]();
    },
  };
}

async function untilRead(index: ReturnType<typeof open>['index']): Promise<void> {
  while (index.coverage().isReading) await nextTurn();
}

async function lookUp(index: ReturnType<typeof open>['index'], messages: readonly RegisterL1Validator[]) {
  const validationIDs = messages.map(registrationValidationID);
  const times: number[] = [];
  for (let lookup = 0; lookup < LOOKUPS; lookup += 1) {
    // A stride that is prime to most sizes spreads them over the whole file.
    const validationID = validationIDs[(lookup * 7_919) % validationIDs.length];
    if (validationID === undefined) throw new RangeError('no such registration');
    const startMs = performance.now();
    const origin = await index.originOf(validationID, SIGNAL);
    times.push(performance.now() - startMs);
    if (origin === undefined) throw new Error(`${validationID} was not found`);
  }
  times.sort((a, b) => a - b);
  const at = (share: number): number => round(times[Math.floor(share * (times.length - 1))] ?? 0);
  return { lookups: times.length, 'p50 ms': at(0.5), 'p99 ms': at(0.99), 'max ms': at(1) };
}

function registration(number: number): RegisterL1Validator {
  const owner = { threshold: 1, addresses: [seededBytes(2, `owner ${number}`, 20)] };
  return {
    kind: 'RegisterL1Validator',
    subnetID: seededId<SubnetID>(2, `subnet ${number % 100}`),
    nodeID: seededBytes(2, `node ${number}`, 20),
    blsPublicKey: seededBytes(2, `key ${number}`, 48),
    expiry: BigInt(1_800_000_000 + number),
    remainingBalanceOwner: owner,
    disableOwner: owner,
    weight: BigInt(number + 1),
  };
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

function round(value: number): number {
  return Math.round(value * 1_000) / 1_000;
}
