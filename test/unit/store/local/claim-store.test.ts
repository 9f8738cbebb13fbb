import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createClaimStore } from '../../../../src/store/local/claim-store.ts';
import { createMemoryLimitCounters } from '../../../../src/store/local/limit-counters.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { createLogLines } from '../../../support/log-lines.ts';

const TTL_MS = 3_600_000;
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'claims-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** The counters of a process, in the same folder as those before. */
function start(clock = new FakeClock()) {
  const log = createLogLines();
  const store = createClaimStore(folder, clock, log.logger);
  return { clock, log, store, limits: createMemoryLimitCounters(clock, store) };
}

test('a claim is kept for its time, and not after it was given back', async () => {
  const clock = new FakeClock();
  const first = start(clock);
  expect((await first.limits.claim('kept', TTL_MS)).isGranted).toBe(true);
  const released = await first.limits.claim('released', TTL_MS);
  if (released.isGranted) await released.giveBack();
  first.store[Symbol.dispose]();
  await clock.advance(TTL_MS - 1_000);
  const second = start(clock);
  expect(await second.limits.claim('kept', TTL_MS)).toEqual({ isGranted: false, leftMs: 1_000 });
  expect((await second.limits.claim('released', TTL_MS)).isGranted).toBe(true);
  await clock.advance(1_000);
  expect((await second.limits.claim('kept', TTL_MS)).isGranted).toBe(true);
  second.store[Symbol.dispose]();
});

test('a clock that was set back holds a claim no longer than a new one', async () => {
  const early = start();
  const late = new FakeClock();
  await late.advance(10 * TTL_MS);
  const first = start(late);
  await first.limits.claim('key', TTL_MS);
  first.store[Symbol.dispose]();
  expect(await early.limits.claim('key', TTL_MS)).toEqual({ isGranted: false, leftMs: TTL_MS });
  early.store[Symbol.dispose]();
});

test('a file that is no database is logged, and claims last as long as the process', async () => {
  writeFileSync(join(folder, 'claims.sqlite'), 'x'.repeat(10_000));
  const { limits, log, store } = start();
  expect([(await limits.claim('key', TTL_MS)).isGranted, (await limits.claim('key', TTL_MS)).isGranted]).toEqual([
    true,
    false,
  ]);
  expect(log.count('a claim cannot be stored')).toBe(1);
  store[Symbol.dispose]();
});
