import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import { expect, onTestFinished, test } from 'vitest';
import { openMessageStore } from '../../../src/feed/message-store.ts';
import { openRecordStore } from '../../../src/record/record-store.ts';
import { emptyCounts, increment } from '../../../src/record/signing-counts.ts';
import { createClaimStore } from '../../../src/store/local/claim-store.ts';
import { createMemoryLimitCounters } from '../../../src/store/local/limit-counters.ts';
import { openValidationStore } from '../../../src/store/local/validation-store.ts';
import { createDistributedSingleFlight } from '../../../src/store/redis/distributed-single-flight.ts';
import { registerIdentity } from '../../../src/store/redis/identity-registration.ts';
import { createSharedLimitCounters } from '../../../src/store/redis/shared-limit-counters.ts';
import { createSharedRecords } from '../../../src/store/redis/shared-records.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { type NodeID, PRIMARY_NETWORK_ID } from '../../../src/warp/ids.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { createLogLines } from '../../support/log-lines.ts';
import { blocks, CHAIN, checkpoint, emitted } from '../feed/emitted.ts';
import { originOf, registration } from '../pchain/state/test-chain.ts';
import { createStoreInMemory } from './redis/store-in-memory.ts';
import { FORMATS, readStoreFile, type StoreFile, writeStoreFile } from './store-files.ts';

// `test/vectors/formats` has what versions wrote: a file for each format of a store, and `redis.json`. If one of these tests fails because a
// form has changed on purpose: raise the number of the format (DatabaseSchema.version, FORMAT), add a migration for a store, and run the
// test with -u. Files of earlier formats stay.

const { logger } = createLogLines();

interface StoreKind {
  readonly file: string;
  /** Tables whose rows are random. */
  readonly omitted?: readonly string[];
  /** Opens the store in a folder, and writes to it if it is new. */
  open(directory: string, isNew: boolean): void | Promise<void>;
}

const KINDS: Readonly<Record<string, StoreKind>> = {
  'l1-validations': {
    file: 'l1-validations-1.sqlite',
    async open(directory, isNew) {
      using store = openValidationStore({ directory, networkID: 1 });
      if (!isNew) return;
      const top = { height: 2n ** 60n, id: 'top' };
      const low = { height: 1n, parentID: 'below', isFloor: false };
      await store.commit({ position: { top, low }, entries: [{ height: 7n, origins: [originOf(registration(1))] }] });
    },
  },
  'feed-messages': {
    file: 'feed-messages-1.sqlite',
    omitted: ['openings'],
    open(directory, isNew) {
      using store = openMessageStore({ directory, networkID: 1 });
      if (!isNew) return;
      store.addChain(CHAIN, checkpoint(9));
      store.append(CHAIN, blocks(10, 12, [emitted(10, 0), emitted(12, 3)]));
      store.setSigned(emitted(10, 0), {
        signedMessage: Uint8Array.of(1, 2, 3),
        signingSubnetID: PRIMARY_NETWORK_ID,
        pChainHeight: 2n ** 60n,
        signedWeight: 2n ** 63n,
        totalWeight: 2n ** 63n + 1n,
        signedMs: 7,
      });
      store.confirm(CHAIN, blocks(10, 11, [emitted(10, 0)]));
    },
  },
  'validator-record': {
    file: 'validator-record-1.sqlite',
    open(directory, isNew) {
      using store = openRecordStore({ directory, networkID: 1 });
      if (!isNew) return;
      const counts = emptyCounts();
      increment(counts, 'signed');
      store.add(490_000, [{ subnetID: PRIMARY_NETWORK_ID, publicKeyHex: 'ab'.repeat(48), counts }]);
    },
  },
  claims: {
    file: 'claims.sqlite',
    open(directory, isNew) {
      const clock = new FakeClock();
      using store = createClaimStore(directory, clock, logger);
      if (isNew) store.put('a claim', clock.now() + 1_000);
      else store.endOf('a claim');
    },
  },
};
const names = Object.keys(KINDS);

function createFolder(): string {
  const directory = mkdtempSync(join(tmpdir(), 'formats-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  return directory;
}

const text = (value: unknown): string => `${JSON.stringify(value, undefined, 1)}\n`;
const vectorOf = (name: string, format: number): string => join(FORMATS, `${name}-${format}.json`);

test.each(names)('%s: this version writes what the file of its format has', async (name) => {
  const { file, omitted, open } = KINDS[name] as StoreKind;
  const directory = createFolder();
  await open(directory, true);
  const written = readStoreFile(join(directory, file), omitted);
  await expect(text(written)).toMatchFileSnapshot(vectorOf(name, written.format));
});

test.each(names)('%s: this version turns files of earlier formats into its own', async (name) => {
  const { file, omitted, open } = KINDS[name] as StoreKind;
  const formats = readdirSync(FORMATS).flatMap((vector) => (vector.startsWith(`${name}-`) ? [vector] : []));
  expect(formats).not.toEqual([]);
  for (const vector of formats) {
    const directory = createFolder();
    const path = join(directory, file);
    writeStoreFile(path, JSON.parse(readFileSync(join(FORMATS, vector), 'utf8')) as StoreFile);
    await open(directory, false);
    const opened = readStoreFile(path, omitted);
    expect(text(opened)).toBe(readFileSync(vectorOf(name, opened.format), 'utf8'));
  }
});

test('Redis: this version writes what replicas of the version before read', async () => {
  const clock = new FakeClock();
  const { store, entries } = createStoreInMemory(clock);
  const metrics = createMetrics(new Registry());
  const flights = createDistributedSingleFlight({ store, networkID: 5, networkName: 'fuji', clock, logger, metrics });
  const never = new AbortController().signal;
  const share = (bytes: Uint8Array) => ({ bytes, ttlMs: 60_000 });
  const task = { patienceMs: () => 1_000, share, accept: async (bytes: Uint8Array) => bytes };
  await flights.run('work:signed', { ...task, work: async () => Uint8Array.of(1, 2, 3) }, never);
  void flights.run('work:running', { ...task, work: () => new Promise<Uint8Array>(() => undefined) }, never);
  const limits = createSharedLimitCounters(store, createMemoryLimitCounters(clock));
  await limits.take('limit:a', 1_500_000, 9_000_000);
  await limits.claim('claim:a', 3_600_000);
  const identity = {
    store,
    metrics,
    nodeID: 'NodeID-a' as NodeID,
    replica: 'replica',
    description: 'a host',
    lapsesMs: 15_000,
  };
  await registerIdentity(identity).look();
  const records = createSharedRecords({ store, secret: 'the secret of the replicas' }, clock);
  records?.add('signed', { id: 'an-id', client: 'key:a' }, () => ({ id: 'an-id', outcome: 'signed' }) as object);
  await clock.advance(100);
  const written = [...entries].map(([key, { value, endsMs }]) => [key, shown(key, value), Math.round(endsMs)] as const);
  await expect(text(written.toSorted(([a], [b]) => a.localeCompare(b)))).toMatchFileSnapshot(
    join(FORMATS, 'redis.json'),
  );
});

/** Random parts are masked: the token of a lease, and the ID of a claim. */
function shown(key: string, value: unknown): unknown {
  if (key === 'claim:a') return String(value).replaceAll(/[0-9a-f]/g, 'x');
  const bytes = (one: unknown): string => Buffer.from(String(one), 'latin1').toString('hex');
  if (Array.isArray(value)) return value.map(bytes);
  return key.endsWith('work:running')
    ? bytes(value).replace(/^(..).{32}/, (_, kind: string) => kind + 'xx'.repeat(16))
    : bytes(value);
}
