import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Registry } from 'prom-client';
import { afterEach, describe, expect, test } from 'vitest';
import { ApiError } from '../../../../src/pchain/rpc/api-error.ts';
import { ValidationIndex, type ValidationIndexOptions } from '../../../../src/pchain/state/validation-index.ts';
import { openValidationStore } from '../../../../src/store/local/validation-store.ts';
import { createMetrics } from '../../../../src/telemetry/metrics.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { createLogLines } from '../../../support/log-lines.ts';
import { originOf, registration, TestChain } from './test-chain.ts';

const SIGNAL = new AbortController().signal;
const LONG_MS = 60_000;

const opened: AsyncDisposable[] = [];
const folders: string[] = [];
afterEach(async () => {
  for (const one of opened.splice(0).toReversed()) await one[Symbol.asyncDispose]();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'l1-index-'));
  folders.push(path);
  return path;
}

function open(
  chain: TestChain,
  {
    directory,
    limits = {},
    l1StartTime,
  }: {
    directory?: string;
    limits?: Partial<Pick<ValidationIndexOptions, 'lookback' | 'maxBlocksPerSecond'>>;
    l1StartTime?: bigint;
  } = {},
) {
  const clock = new FakeClock();
  const store = openValidationStore({ directory, networkID: 1 });
  const registry = new Registry();
  const log = createLogLines();
  const index = new ValidationIndex({
    api: chain,
    store,
    clock,
    logger: log.logger,
    metrics: createMetrics(registry).with({ network: 'local' }),
    l1StartTime,
    ...{ lookback: undefined, maxBlocksPerSecond: 1_000, ...limits },
  });
  let isOpen = true;
  const close = async (): Promise<void> => {
    if (!isOpen) return;
    isOpen = false;
    await index[Symbol.asyncDispose]();
    store[Symbol.dispose]();
  };
  opened.push({ [Symbol.asyncDispose]: close });
  return { index, clock, log, close, metrics: () => registry.metrics() };
}

function put(chain: TestChain, height: bigint, number: number) {
  const message = registration(number);
  chain.registrations.set(height, [...(chain.registrations.get(height) ?? []), message]);
  return originOf(message);
}

test('a lookup in an unreadable store finds nothing, and coverage reports that it may later', async () => {
  const directory = folder();
  const { index, clock, log, close } = open(new TestChain(3n), { directory });
  await clock.advance(LONG_MS);
  expect(index.coverage().isReading).toBe(false);
  const { validationID } = originOf(registration(1));
  const database = new DatabaseSync(join(directory, 'l1-validations-1.sqlite'));
  database.exec('DROP TABLE origins');
  database.close();
  for (let lookup = 0; lookup < 3; lookup += 1) {
    expect(await index.originOf(validationID, new AbortController().signal)).toBeUndefined();
  }
  expect(index.coverage().isReading).toBe(true);
  // Clients decide how many lookups there are.
  expect(log.count('a lookup in the index of L1 validations failed')).toBe(1);
  await close();
});

describe('reading the chain', () => {
  test('finds a registration in any block, and reads each block once', async () => {
    const chain = new TestChain(300n);
    const expected = [0n, 1n, 63n, 64n, 150n, 299n, 300n].map((height, number) => put(chain, height, number));
    const { index, clock } = open(chain);
    await clock.advance(LONG_MS);
    for (const { validationID, justification } of expected) {
      expect(await index.originOf(validationID, SIGNAL)).toEqual(justification);
    }
    expect(index.coverage()).toEqual({ range: { from: 0n, to: 300n }, isReading: false });
    expect(chain.rereads).toEqual(new Map());
    expect(chain.reads).toHaveLength(301);
  });

  test('follows the chain as it grows, the newest first', async () => {
    const chain = new TestChain(10n);
    const { index, clock } = open(chain);
    await clock.advance(LONG_MS);
    chain.height = 200n;
    const { validationID, justification } = put(chain, 200n, 1);
    await clock.advance(LONG_MS);
    expect(index.coverage()).toEqual({ range: { from: 0n, to: 200n }, isReading: false });
    expect(await index.originOf(validationID, SIGNAL)).toEqual(justification);
  });

  test('reads the newest blocks at once for a failed lookup', async () => {
    const chain = new TestChain(10n);
    const { index, clock } = open(chain);
    await clock.advance(LONG_MS);
    chain.height = 11n;
    const { validationID, justification } = put(chain, 11n, 1);
    expect(await index.originOf(validationID, SIGNAL)).toEqual(justification);
  });

  test('reports that it is reading until all blocks are read', async () => {
    const chain = new TestChain(300n);
    const { index, clock } = open(chain, { limits: { maxBlocksPerSecond: 10 } });
    expect(index.coverage()).toEqual({ range: undefined, isReading: true });
    await clock.advance(1_000);
    expect(index.coverage()).toMatchObject({ range: { to: 300n }, isReading: true });
    await clock.advance(40_000);
    expect(index.coverage()).toMatchObject({ range: { from: 0n, to: 300n }, isReading: false });
  });

  test('reports its range in metrics after the first block', async () => {
    const chain = new TestChain(300n);
    const { clock, metrics } = open(chain);
    expect(await metrics()).not.toMatch(/^signature_aggregator_l1_index/m);
    await clock.advance(LONG_MS);
    expect(await metrics()).toMatch(/^signature_aggregator_l1_index_highest_block\{network="local"\} 300$/m);
    expect(await metrics()).toMatch(/^signature_aggregator_l1_index_lowest_block\{network="local"\} 0$/m);
  });

  test('respects the rate limit', async () => {
    const chain = new TestChain(10_000n);
    const { clock } = open(chain, { limits: { maxBlocksPerSecond: 50 } });
    await clock.advance(20_000);
    // A second's worth more at most: the batch that is being paid for.
    expect(chain.reads.length).toBeGreaterThan(900);
    expect(chain.reads.length).toBeLessThanOrEqual(20 * 50 + 2 * 64);
  });

  test('reads down to its lookback', async () => {
    const chain = new TestChain(1_000n);
    const old = put(chain, 899n, 1);
    const found = put(chain, 900n, 2);
    const { index, clock } = open(chain, { limits: { lookback: 100n } });
    await clock.advance(LONG_MS);
    expect(index.coverage()).toEqual({ range: { from: 900n, to: 1_000n }, isReading: false });
    expect(await index.originOf(old.validationID, SIGNAL)).toBeUndefined();
    expect(await index.originOf(found.validationID, SIGNAL)).toEqual(found.justification);
  });

  test('reads no blocks before the first L1s', async () => {
    const chain = new TestChain(1_000n);
    const { index, clock } = open(chain, { l1StartTime: chain.genesisTime + 800n });
    await clock.advance(LONG_MS);
    expect(index.coverage().isReading).toBe(false);
    expect(index.coverage().range?.from).toBeGreaterThan(800n - 64n);
  });
});

describe('an API that fails', () => {
  test('is called again, and earlier blocks are kept', async () => {
    const chain = new TestChain(200n);
    let failures = 0;
    chain.failure = (height) => {
      if (height === undefined || height % 50n !== 7n || failures >= 5) return undefined;
      failures += 1;
      return new ApiError('unavailable', 'no answer');
    };
    const { index, clock } = open(chain);
    await clock.advance(5 * LONG_MS);
    expect(index.coverage()).toEqual({ range: { from: 0n, to: 200n }, isReading: false });
  });

  test('lets a lookup return without the newest blocks', async () => {
    const chain = new TestChain(20n);
    const { validationID, justification } = put(chain, 5n, 1);
    const { index, clock, log } = open(chain);
    await clock.advance(LONG_MS);
    chain.failure = () => new ApiError('unavailable', 'no answer');
    expect(await index.originOf(validationID, SIGNAL)).toEqual(justification);
    const { validationID: unknown } = originOf(registration(9));
    for (let lookup = 0; lookup < 3; lookup += 1) expect(await index.originOf(unknown, SIGNAL)).toBeUndefined();
    expect(log.count('could not read the newest P-Chain blocks for a lookup')).toBe(1);
    // It may be in the newest blocks: that it is not there is no verdict.
    expect(index.coverage()).toEqual({ range: { from: 0n, to: 20n }, isReading: true });
    chain.failure = undefined;
    expect(await index.originOf(unknown, SIGNAL)).toBeUndefined();
    expect(index.coverage().isReading).toBe(false);
  });

  test('that hangs delays a lookup for at most a second', async () => {
    const chain = new TestChain(20n);
    const { index, clock } = open(chain);
    await clock.advance(LONG_MS);
    chain.height = 30n;
    chain.hangs = true;
    await clock.advance(2_000);
    let isAnswered = false;
    const lookup = index.originOf(originOf(registration(9)).validationID, SIGNAL).then((origin) => {
      isAnswered = true;
      return origin;
    });
    await clock.advance(999);
    expect(isAnswered).toBe(false);
    await clock.advance(1);
    expect(await lookup).toBeUndefined();
  });

  test('that lags behind changes nothing', async () => {
    const chain = new TestChain(100n);
    const { index, clock } = open(chain);
    await clock.advance(LONG_MS);
    chain.height = 60n;
    await clock.advance(LONG_MS);
    expect(index.coverage()).toEqual({ range: { from: 0n, to: 100n }, isReading: false });
    chain.height = 101n;
    await clock.advance(LONG_MS);
    expect(index.coverage().range?.to).toBe(101n);
    expect(chain.rereads).toEqual(new Map());
  });
});

describe('blocks that do not continue the range', () => {
  test('a single response of another branch changes nothing', async () => {
    const chain = new TestChain(100n);
    const { index, clock } = open(chain);
    await clock.advance(LONG_MS);
    chain.height = 110n;
    chain.isScrambled = true;
    await clock.advance(2_000);
    chain.isScrambled = false;
    chain.reads.length = 0;
    await clock.advance(LONG_MS);
    expect(index.coverage().range).toEqual({ from: 0n, to: 110n });
    expect(chain.reads).toHaveLength(10);
  });

  test('another chain is read from the start, and stored origins remain', async () => {
    const chain = new TestChain(100n);
    const { validationID, justification } = put(chain, 50n, 1);
    const directory = folder();
    const first = open(chain, { directory });
    await first.clock.advance(LONG_MS);
    await first.close();

    const other = new TestChain(150n);
    other.branches.push({ from: 0n, name: 'other' });
    const added = put(other, 20n, 2);
    const { index, clock } = open(other, { directory });
    await clock.advance(LONG_MS);
    expect(index.coverage()).toEqual({ range: { from: 0n, to: 150n }, isReading: false });
    expect(await index.originOf(added.validationID, SIGNAL)).toEqual(added.justification);
    expect(await index.originOf(validationID, SIGNAL)).toEqual(justification);
  });
});

describe('a restart with a store', () => {
  test('reads only what is new', async () => {
    const chain = new TestChain(500n);
    const { validationID, justification } = put(chain, 250n, 1);
    const directory = folder();
    const first = open(chain, { directory });
    await first.clock.advance(LONG_MS);
    await first.close();

    chain.reads.length = 0;
    chain.height = 520n;
    const { index, clock } = open(chain, { directory });
    await clock.advance(LONG_MS);
    expect(chain.reads).toEqual(Array.from({ length: 20 }, (_, i) => 501n + BigInt(i)));
    expect(await index.originOf(validationID, SIGNAL)).toEqual(justification);
  });

  test('continues downwards', async () => {
    const chain = new TestChain(1_000n);
    const directory = folder();
    const first = open(chain, { directory, limits: { maxBlocksPerSecond: 64 } });
    await first.clock.advance(4_000);
    await first.close();
    expect(chain.reads.length).toBeLessThan(500);

    const { index, clock } = open(chain, { directory });
    await clock.advance(LONG_MS);
    expect(index.coverage()).toEqual({ range: { from: 0n, to: 1_000n }, isReading: false });
    expect(chain.rereads).toEqual(new Map());
  });
});
