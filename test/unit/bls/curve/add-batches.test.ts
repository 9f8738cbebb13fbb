import { expect, test } from 'vitest';
import { PublicKeyTable } from '../../../../src/bls/backends/public-key-table.ts';
import { AddBatches } from '../../../../src/bls/curve/add-batches.ts';
import { type BlsJob, type BlsJobs, runBlsJob } from '../../../../src/bls/service/bls-jobs.ts';
import { createJobRunner, JobsOverloaded } from '../../../../src/bls/service/job-runner.ts';
import { bytesToHex } from '../../../../src/lib/encoding/bytes.ts';
import { createModelSigner, modelBackend } from '../backends/model-backend.ts';

const MESSAGE = Uint8Array.of(1, 2, 3);
const turn = () => new Promise((resolve) => setImmediate(resolve));
const table = new PublicKeyTable(modelBackend.packedPublicKeyBytes);

/** What adds `count` signatures of another request each, and verifies their sum; `error` spoils it. */
function lastOf(number: number, count: number, error = 0n): BlsJobs['add']['input'] {
  const signers = Array.from({ length: count }, (_, i) => createModelSigner(BigInt(1_000 * number + i + 1)));
  const signatures = signers.map((signer, i) => signer.sign(MESSAGE, i === 0 ? error : 0n));
  return {
    keys: table.memory,
    slots: signers.map(({ publicKey }) => table.slotOf(bytesToHex(publicKey), publicKey)),
    signatures: new Uint8Array(Buffer.concat(signatures)),
    sum: undefined,
    last: { sums: [], message: modelBackend.packMessage(modelBackend.hashToCurve(MESSAGE)) },
  };
}

/** Batches whose jobs end when the test says so. */
function openBatches({ threads = 1, maxQueued = 100 } = {}) {
  const jobs: BlsJob[] = [];
  const running: (() => void)[] = [];
  const runner = createJobRunner({
    ...{ threads, concurrency: 2 * threads, maxQueued },
    execute: (job) =>
      new Promise((resolve, reject) => {
        jobs.push(job);
        running.push(() => {
          try {
            resolve(runBlsJob(modelBackend, job));
          } catch (error) {
            reject(error);
          }
        });
      }),
    close: async () => {},
  });
  const finish = async (): Promise<void> => {
    await turn();
    running.shift()?.();
    await turn();
  };
  const sizes = () => jobs.map((job) => (job.kind === 'addAll' ? job.adds.length : 1));
  return { batches: new AddBatches(runner), runner, finish, sizes };
}

test('one that finds a thread free goes alone; those that come meanwhile go together, each with its own verdict', async () => {
  const { batches, finish, sizes } = openBatches();
  const errors = [0n, 0n, 5n, 0n];
  const outputs: ReturnType<typeof batches.run>[] = [];
  for (const [number, error] of errors.entries()) {
    outputs.push(batches.run(() => lastOf(number, 2, error)));
    await turn();
  }
  await finish();
  await finish();
  expect(sizes()).toEqual([1, 3]);
  const verdicts = (await Promise.all(outputs)).map((output) => output?.made?.isValid);
  expect(verdicts).toEqual([true, true, false, true]);
});

test('all threads are used, and a job is bounded in requests and in signatures', async () => {
  const { batches, finish, sizes } = openBatches({ threads: 2 });
  for (let number = 0; number < 2; number += 1) {
    void batches.run(() => lastOf(number, 1));
    await turn();
  }
  expect(sizes()).toEqual([1, 1]);
  for (let number = 2; number < 42; number += 1) void batches.run(() => lastOf(number, 1));
  for (let number = 42; number < 62; number += 1) void batches.run(() => lastOf(number, 8));
  for (let job = 0; job < 8; job += 1) await finish();
  expect(sizes().slice(2)).toEqual([16, 16, 14, 7, 4, 2, 1]);
});

test('what is no longer needed is left out', async () => {
  const { batches, finish, sizes } = openBatches();
  const first = batches.run(() => lastOf(0, 1));
  await turn();
  const outputs = [first, batches.run(() => undefined), batches.run(() => lastOf(2, 1))];
  await finish();
  await finish();
  expect(sizes()).toEqual([1, 1]);
  expect((await Promise.all(outputs)).map((output) => output?.made?.isValid)).toEqual([true, undefined, true]);
});

test('a job that breaks, or that the queue refuses, fails those that it was for, and no others', async () => {
  const { batches, runner, finish } = openBatches({ maxQueued: 1 });
  const broken = batches.run(() => ({ ...lastOf(0, 1), keys: undefined as unknown as SharedArrayBuffer }));
  broken.catch(() => undefined);
  await finish();
  await expect(broken).rejects.toThrow();
  for (let other = 0; other < 3; other += 1)
    void runner.run<'repack'>(() => ({ kind: 'repack', points: new Uint8Array(), count: 0 }));
  await expect(batches.run(() => lastOf(1, 1))).rejects.toThrow(JobsOverloaded);
  for (let other = 0; other < 3; other += 1) await finish();
  const after = batches.run(() => lastOf(2, 1));
  await finish();
  expect((await after)?.made?.isValid).toBe(true);
});

test('where the queue is full, those that wait are left to the jobs that are there already', async () => {
  const { batches, runner, finish } = openBatches({ threads: 2, maxQueued: 2 });
  const others = () => void runner.run<'repack'>(() => ({ kind: 'repack', points: new Uint8Array(), count: 0 }));
  for (let other = 0; other < 4; other += 1) others();
  const first = batches.run(() => lastOf(1, 1));
  await turn();
  // Now as many wait as may.
  others();
  const second = batches.run(() => lastOf(2, 1));
  const third = batches.run(() => lastOf(3, 1));
  await turn();
  for (let job = 0; job < 7; job += 1) await finish();
  const verdicts = (await Promise.all([first, second, third])).map((output) => output?.made?.isValid);
  expect(verdicts).toEqual([true, true, true]);
});

test('where the queue is full and no job is there, all that wait are refused', async () => {
  const { batches, runner } = openBatches({ threads: 2, maxQueued: 2 });
  for (let other = 0; other < 6; other += 1) {
    void runner.run<'repack'>(() => ({ kind: 'repack', points: new Uint8Array(), count: 0 }));
  }
  const refused = [1, 2, 3].map((number) => batches.run(() => lastOf(number, 1)));
  for (const each of refused) await expect(each).rejects.toThrow(JobsOverloaded);
});
