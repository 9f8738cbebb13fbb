import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { getPriority } from 'node:os';
import type { Worker } from 'node:worker_threads';
import * as blst from '@chainsafe/blst';
import { expect, onTestFinished, test, vi } from 'vitest';
import { BACKEND_NAMES } from '../../../../src/bls/backends/load-backend.ts';
import { NativeBackendMissing } from '../../../../src/bls/backends/native-backend.ts';
import { openBlsService } from '../../../../src/bls/service/bls-service.ts';
import { JobQueue, JobsOverloaded } from '../../../../src/bls/service/job-queue.ts';
import { openWorkerPool } from '../../../../src/bls/service/worker-pool.ts';
import { systemClock } from '../../../../src/lib/concurrency/clock.ts';
import { bytesToHex } from '../../../../src/lib/encoding/bytes.ts';
import { createLogger } from '../../../../src/telemetry/logger.ts';
import { createUnreadMetrics } from '../../../../src/telemetry/metrics.ts';

const ports = () => ({ clock: systemClock, metrics: createUnreadMetrics() });
const OWNER = { backend: { isPlain: false, isRetired: false } };
const NO_AUDIT = { auditPercentage: 0, random: Math.random, logger: createLogger('silent') };
const never = new AbortController().signal;
const MAX_NICENESS = 19;
const HASH = { kind: 'hash', message: Uint8Array.of(1) } as const;

test.each(BACKEND_NAMES)('threads with the backend %s aggregate and verify as one thread does', async (backend) => {
  await using bls = await openBlsService({ backend, workers: 2, ...ports(), ...NO_AUDIT });
  const signers = Array.from({ length: 30 }, (_, index) => {
    const secret = blst.SecretKey.fromKeygen(new Uint8Array(32).fill(index + 1));
    const publicKey = secret.toPublicKey().toBytes();
    return { index, secret, publicKey, publicKeyHex: bytesToHex(publicKey) };
  });
  const work = Array.from({ length: 4 }, async (_, request) => {
    const message = Uint8Array.of(request);
    using aggregation = bls.startAggregation(message, never);
    const kept = signers.map(({ secret }) => secret.sign(message).toBytes());
    await Promise.all(signers.map((signer, i) => aggregation.add(signer, kept[i] as Uint8Array)));
    const aggregate = await aggregation.aggregate();
    // What was handed in is still the caller's.
    expect(kept.every(({ length }) => length === 96)).toBe(true);
    const expected = blst.aggregateSignatures(signers.map(({ secret }) => secret.sign(message))).toBytes();
    expect(bytesToHex(aggregate.signature)).toBe(bytesToHex(expected));
    return await aggregation.verify(aggregate, message);
  });
  expect(await Promise.all(work)).toEqual([true, true, true, true]);
});

test('threads finish what was asked before they end, and take nothing after', async () => {
  const opened = new AsyncDisposableStack();
  const threads = opened.use(openWorkerPool({ backend: 'noble', workers: 1, ...ports() }));
  const jobs = opened.use(new JobQueue(threads));
  const asked = Promise.all(Array.from({ length: 20 }, () => jobs.run<'hash'>(OWNER, () => HASH)));
  await opened.disposeAsync();
  expect((await asked).every((hashed) => hashed instanceof Uint8Array)).toBe(true);
  await expect(jobs.run<'hash'>(OWNER, () => HASH)).rejects.toThrow('closed');
});

test.runIf(process.platform === 'linux')('threads let the event loop go first', async () => {
  const threads = (): number[] => readdirSync('/proc/self/task').map(Number);
  const own = getPriority();
  const before = new Set(threads());
  await using pool = openWorkerPool({ backend: 'native', workers: 1, ...ports() });
  await pool.execute(HASH);
  const started = threads().filter((thread) => !before.has(thread));
  expect(started.length).toBeGreaterThan(0);
  // No thread is below 19, which the process may have already.
  const expected = own < MAX_NICENESS ? [Math.min(MAX_NICENESS, own + 5)] : [];
  expect(started.map((thread) => getPriority(thread)).filter((priority) => priority !== own)).toEqual(expected);
  expect(getPriority()).toBe(own);
});

test('a thread that starts is not ended before it has', async () => {
  const events: string[] = [];
  const follow = (thread: Worker): void => {
    for (const name of ['online', 'message', 'exit']) thread.once(name, () => events.push(name));
  };
  process.on('worker', follow);
  onTestFinished(() => void process.off('worker', follow));
  const pool = openWorkerPool({ backend: 'noble', workers: 1, ...ports() });
  const begun = once(process, 'worker');
  pool.start();
  await begun;
  await pool[Symbol.asyncDispose]();
  expect(events).toEqual(['online', 'message', 'exit']);
});

test('a thread that has died is replaced', async () => {
  const threads: Worker[] = [];
  const follow = (thread: Worker): void => void threads.push(thread);
  process.on('worker', follow);
  onTestFinished(() => void process.off('worker', follow));
  await using pool = openWorkerPool({ backend: 'noble', workers: 1, ...ports() });
  expect(await pool.execute(HASH)).toBeInstanceOf(Uint8Array);
  const lost = pool.execute(HASH);
  const dying = threads[0]?.terminate();
  await Promise.allSettled([lost, dying]);
  expect(await pool.execute(HASH)).toBeInstanceOf(Uint8Array);
  expect(threads).toHaveLength(2);
});

test('a backend that cannot be loaded is refused at once', async () => {
  vi.doMock('@chainsafe/blst', () => {
    throw new Error('Cannot find module');
  });
  onTestFinished(() => vi.doUnmock('@chainsafe/blst'));
  await expect(openBlsService({ backend: 'native', workers: 1, ...ports(), ...NO_AUDIT })).rejects.toThrow(
    NativeBackendMissing,
  );
});

test('the queue begins jobs in order, as many as may run at a time, goes on after one that failed, and is bounded', async () => {
  const started: (number | undefined)[] = [];
  const jobs: PromiseWithResolvers<Uint8Array>[] = [];
  const jobQueue = new JobQueue(
    {
      threads: 1,
      concurrency: 2,
      execute(job) {
        started.push(job.kind === 'hash' ? job.message[0] : undefined);
        const running = Promise.withResolvers<Uint8Array>();
        jobs.push(running);
        return running.promise;
      },
    },
    2,
  );
  const run = (name: number) => jobQueue.run<'hash'>(OWNER, () => ({ kind: 'hash', message: Uint8Array.of(name) }));
  const results = [1, 2, 3, 4].map(run);
  await expect(run(5)).rejects.toThrow(JobsOverloaded);
  expect(started).toEqual([1, 2]);
  jobs[1]?.resolve(Uint8Array.of(22));
  expect(await results[1]).toEqual(Uint8Array.of(22));
  expect(started).toEqual([1, 2, 3]);
  const obsolete = jobQueue.run<'hash'>(OWNER, () => undefined);
  jobs[0]?.reject(new Error('broken'));
  await expect(results[0]).rejects.toThrow('broken');
  jobs[2]?.resolve(Uint8Array.of(33));
  expect(await obsolete).toBeUndefined();
  expect(started).toEqual([1, 2, 3, 4]);
});
