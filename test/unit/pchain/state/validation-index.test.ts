import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Registry } from 'prom-client';
import { afterEach, expect, test } from 'vitest';
import { ApiError } from '../../../../src/pchain/rpc/api-error.ts';
import { openValidationIndex, type ValidationIndexOptions } from '../../../../src/pchain/state/validation-index.ts';
import { openValidationStore } from '../../../../src/store/local/validation-store.ts';
import { createMetrics } from '../../../../src/telemetry/metrics.ts';
import type { ValidationOrigin } from '../../../../src/warp/justification.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { createLogLines } from '../../../support/log-lines.ts';
import { originOf, registration, TestChain } from './test-chain.ts';

const SIGNAL = new AbortController().signal;
const LONG_MS = 60_000;

const opened: AsyncDisposableStack[] = [];
const folders: string[] = [];
afterEach(async () => {
  for (const one of opened.splice(0).toReversed()) await one.disposeAsync();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'l1-index-'));
  folders.push(path);
  return path;
}

function open(
  chain: TestChain,
  { directory, ...limits }: { directory?: string } & Partial<ValidationIndexOptions> = {},
) {
  const clock = new FakeClock();
  const store = openValidationStore({ directory, networkID: 1 });
  const registry = new Registry();
  const log = createLogLines();
  const index = openValidationIndex({
    api: chain,
    store,
    clock,
    logger: log.logger,
    metrics: createMetrics(registry).with({ network: 'local' }),
    l1StartTime: undefined,
    lookback: undefined,
    maxBlocksPerSecond: 1_000,
    ...limits,
  });
  const closing = new AsyncDisposableStack();
  closing.use(store);
  closing.use(index);
  opened.push(closing);
  return {
    index,
    clock,
    log,
    find: ({ validationID }: ValidationOrigin) => index.originOf(validationID, SIGNAL),
    close: () => closing.disposeAsync(),
    metrics: () => registry.metrics(),
  };
}

/** An index that has read the whole chain. */
async function openRead(chain: TestChain, options?: Parameters<typeof open>[1]) {
  const reading = open(chain, options);
  await reading.clock.advance(LONG_MS);
  return reading;
}

function put(chain: TestChain, height: bigint, number: number): ValidationOrigin {
  const message = registration(number);
  chain.registrations.set(height, [...(chain.registrations.get(height) ?? []), message]);
  return originOf(message);
}

const UNKNOWN = originOf(registration(99));

test('a lookup in an unreadable store finds nothing, and coverage reports that it may later', async () => {
  const directory = folder();
  const { index, find, log, close } = await openRead(new TestChain(3n), { directory });
  expect(index.coverage().isReading).toBe(false);
  const database = new DatabaseSync(join(directory, 'l1-validations-1.sqlite'));
  database.exec('DROP TABLE origins');
  database.close();
  for (let lookup = 0; lookup < 3; lookup += 1) expect(await find(UNKNOWN)).toBeUndefined();
  expect(index.coverage().isReading).toBe(true);
  // Clients decide how many lookups there are.
  expect(log.count('a lookup in the index of L1 validations failed')).toBe(1);
  await close();
});

test('the index finds a registration in any block, and reads each block once', async () => {
  const chain = new TestChain(300n);
  const put7 = [0n, 1n, 63n, 64n, 150n, 299n, 300n].map((height, number) => put(chain, height, number));
  const { index, find } = await openRead(chain);
  for (const origin of put7) expect(await find(origin)).toEqual(origin.justification);
  expect(index.coverage()).toEqual({ range: { from: 0n, to: 300n }, isReading: false, isWhole: true });
  expect([chain.rereads, chain.reads.length]).toEqual([new Map(), 301]);
});

test('the index reads the newest blocks at once for a failed lookup', async () => {
  const chain = new TestChain(10n);
  const { find } = await openRead(chain);
  chain.height = 11n;
  const origin = put(chain, 11n, 1);
  expect(await find(origin)).toEqual(origin.justification);
});

test('the index reports its progress in the coverage and in metrics', async () => {
  const { index, clock, metrics } = open(new TestChain(300n), { maxBlocksPerSecond: 10 });
  expect(index.coverage()).toEqual({ range: undefined, isReading: true, isWhole: false });
  expect(await metrics()).not.toMatch(/^signature_aggregator_l1_index/m);
  await clock.advance(1_000);
  expect(index.coverage()).toMatchObject({ range: { to: 300n }, isReading: true });
  await clock.advance(40_000);
  expect(index.coverage()).toMatchObject({ range: { from: 0n, to: 300n }, isReading: false });
  expect(await metrics()).toMatch(/^signature_aggregator_l1_index_highest_block\{network="local"\} 300$/m);
  expect(await metrics()).toMatch(/^signature_aggregator_l1_index_lowest_block\{network="local"\} 0$/m);
});

test('the index respects the rate limit', async () => {
  const chain = new TestChain(10_000n);
  const { clock } = open(chain, { maxBlocksPerSecond: 50 });
  await clock.advance(20_000);
  // A second's worth more at most: the batch that is being paid for.
  expect(chain.reads.length).toBeGreaterThan(900);
  expect(chain.reads.length).toBeLessThanOrEqual(20 * 50 + 2 * 64);
});

test('the index reads down to its lookback', async () => {
  const chain = new TestChain(1_000n);
  const [old, found] = [put(chain, 899n, 1), put(chain, 900n, 2)];
  const { index, find } = await openRead(chain, { lookback: 100n });
  expect(index.coverage()).toEqual({ range: { from: 900n, to: 1_000n }, isReading: false, isWhole: false });
  expect([await find(old), await find(found)]).toEqual([undefined, found.justification]);
});

test('the index reads no blocks before the first L1s', async () => {
  const chain = new TestChain(1_000n);
  const { index } = await openRead(chain, { l1StartTime: chain.genesisTime + 800n });
  expect(index.coverage().isReading).toBe(false);
  expect(index.coverage().range?.from).toBeGreaterThan(800n - 64n);
});

test('an API that fails is called again, and earlier blocks are kept', async () => {
  const chain = new TestChain(200n);
  let failures = 0;
  chain.failure = (height) => {
    if (height === undefined || height % 50n !== 7n || failures >= 5) return undefined;
    failures += 1;
    return new ApiError('unavailable', 'no answer');
  };
  const { index, clock } = open(chain);
  await clock.advance(5 * LONG_MS);
  expect(index.coverage()).toEqual({ range: { from: 0n, to: 200n }, isReading: false, isWhole: true });
});

test('an API that fails lets a lookup return without the newest blocks', async () => {
  const chain = new TestChain(20n);
  const origin = put(chain, 5n, 1);
  const { index, find, log } = await openRead(chain);
  chain.failure = () => new ApiError('unavailable', 'no answer');
  expect(await find(origin)).toEqual(origin.justification);
  for (let lookup = 0; lookup < 3; lookup += 1) expect(await find(UNKNOWN)).toBeUndefined();
  expect(log.count('could not read the newest P-Chain blocks for a lookup')).toBe(1);
  // It may be in the newest blocks: that it is not there is no verdict.
  expect(index.coverage()).toEqual({ range: { from: 0n, to: 20n }, isReading: true, isWhole: false });
  chain.failure = undefined;
  expect(await find(UNKNOWN)).toBeUndefined();
  expect(index.coverage().isReading).toBe(false);
});

test('an API that hangs delays a lookup for at most a second', async () => {
  const chain = new TestChain(20n);
  const { clock, find } = await openRead(chain);
  chain.height = 30n;
  chain.hangs = true;
  await clock.advance(2_000);
  const lookup = find(UNKNOWN).then(() => 'answered');
  expect(await Promise.race([lookup, clock.advance(999).then(() => 'waits')])).toBe('waits');
  await clock.advance(1);
  expect(await lookup).toBe('answered');
});

test('an API that lags behind changes nothing', async () => {
  const chain = new TestChain(100n);
  const { index, clock } = await openRead(chain);
  chain.height = 60n;
  await clock.advance(LONG_MS);
  expect(index.coverage()).toEqual({ range: { from: 0n, to: 100n }, isReading: false, isWhole: true });
  chain.height = 101n;
  await clock.advance(LONG_MS);
  expect(index.coverage().range?.to).toBe(101n);
  expect(chain.rereads).toEqual(new Map());
});

test('an API that hangs is called again after half a minute', async () => {
  const chain = new TestChain(100n);
  chain.hangs = true;
  const { index, clock } = open(chain);
  await clock.advance(29_999);
  chain.hangs = false;
  expect(index.coverage().range).toBeUndefined();
  await clock.advance(LONG_MS);
  expect(index.coverage().range).toEqual({ from: 0n, to: 100n });
});

test('single responses of another branch change nothing', async () => {
  const chain = new TestChain(100n);
  const { index, clock } = await openRead(chain);
  for (const height of [110n, 120n]) {
    chain.height = height;
    chain.isScrambled = true;
    await clock.advance(2_000);
    chain.isScrambled = false;
    chain.reads.length = 0;
    await clock.advance(LONG_MS);
    expect(index.coverage().range).toEqual({ from: 0n, to: height });
    expect(chain.reads).toHaveLength(10);
  }
});

test('a batch of new blocks that do not follow each other is not taken', async () => {
  const chain = new TestChain(100n);
  const { index, clock } = await openRead(chain);
  const read = chain.getBlockByHeight.bind(chain);
  chain.getBlockByHeight = async (height) => ({ ...(await read(height)), ...(height === 105n && { id: 'another' }) });
  chain.height = 110n;
  await clock.advance(2_000);
  expect(index.coverage().range?.to).toBe(100n);
  chain.getBlockByHeight = read;
  await clock.advance(LONG_MS);
  expect(index.coverage().range).toEqual({ from: 0n, to: 110n });
});

test('earlier blocks of another branch are not taken', async () => {
  const chain = new TestChain(1_000n);
  const { index, clock } = open(chain, { maxBlocksPerSecond: 64 });
  await clock.advance(4_000);
  const { from = 0n } = index.coverage().range ?? {};
  expect(from).toBeGreaterThan(500n);
  chain.branches.push({ from: 0n, name: 'other' }, { from, name: '' });
  await clock.advance(1_000);
  expect(index.coverage().range?.from).toBe(from);
  chain.branches.length = 0;
  await clock.advance(LONG_MS);
  expect(index.coverage()).toEqual({ range: { from: 0n, to: 1_000n }, isReading: false, isWhole: true });
});

test('two faulty responses with earlier blocks between them change nothing', async () => {
  const chain = new TestChain(1_000n);
  const { index, clock, log } = open(chain, { maxBlocksPerSecond: 64 });
  const from = () => index.coverage().range?.from ?? 0n;
  await clock.advance(3_000);
  for (let fault = 0; fault < 2; fault += 1) {
    const before = from();
    chain.isScrambled = true;
    await clock.advance(1_000);
    expect(from()).toBe(before);
    chain.isScrambled = false;
    await clock.advance(3_000);
    expect(from()).toBeLessThan(before);
  }
  expect(
    log.count('the P-Chain API has another chain than the index of L1 validations; reading all blocks again'),
  ).toBe(0);
});

test('another chain is read from the start, and stored origins remain', async () => {
  const chain = new TestChain(100n);
  const stored = put(chain, 50n, 1);
  const directory = folder();
  await (await openRead(chain, { directory })).close();

  const other = new TestChain(150n);
  other.branches.push({ from: 0n, name: 'other' });
  const added = put(other, 20n, 2);
  const { index, find } = await openRead(other, { directory });
  expect(index.coverage()).toEqual({ range: { from: 0n, to: 150n }, isReading: false, isWhole: true });
  for (const origin of [added, stored]) expect(await find(origin)).toEqual(origin.justification);
});

test('a restart with a store continues downwards, and reads no block again', async () => {
  const chain = new TestChain(1_000n);
  const directory = folder();
  const first = open(chain, { directory, maxBlocksPerSecond: 64 });
  await first.clock.advance(4_000);
  await first.close();
  expect(chain.reads.length).toBeLessThan(500);
  const { index } = await openRead(chain, { directory });
  expect(index.coverage()).toEqual({ range: { from: 0n, to: 1_000n }, isReading: false, isWhole: true });
  expect(chain.rereads).toEqual(new Map());
});
