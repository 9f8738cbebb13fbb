import { expect, test } from 'vitest';
import { CheckBatches } from '../../../../src/bls/service/check-batches.ts';
import { type JobBackend, JobQueue, JobsOverloaded } from '../../../../src/bls/service/job-queue.ts';
import { settle } from '../../../support/fake-clock.ts';

const BACKEND: JobBackend = { isPlain: false, isRetired: false };
const never = new AbortController().signal;

/** Batches of numbers, which are valid if even, in jobs that end when the test says so. */
function openBatches({ threads = 1, maxQueued = 100 } = {}) {
  const jobs: number[][] = [];
  const running: PromiseWithResolvers<boolean[]>[] = [];
  const jobQueue = new JobQueue(
    {
      threads,
      concurrency: threads,
      execute(job) {
        const end = Promise.withResolvers<boolean[]>();
        running.push(end);
        jobs.push(job.kind === 'verify' ? job.checks.map(({ key }) => key[0] as number) : []);
        return end.promise;
      },
    },
    maxQueued,
  );
  const batches = new CheckBatches(jobQueue, BACKEND);
  const checkOf = (number: number) => ({
    key: Uint8Array.of(number),
    message: new Uint8Array(),
    signature: new Uint8Array(),
  });
  const run = (number: number, signal = never) => batches.verify(checkOf(number), signal);
  async function finish(error?: Error): Promise<void> {
    await settle();
    const numbers = jobs[jobs.length - running.length] ?? [];
    if (error === undefined) running.shift()?.resolve(numbers.map((number) => number % 2 === 0));
    else running.shift()?.reject(error);
    await settle();
  }
  /** A job that has nothing to do with the batches. */
  const other = () =>
    void jobQueue.run<'hash'>({ backend: BACKEND }, () => ({ kind: 'hash', message: new Uint8Array() }));
  return { run, jobs, finish, other, sizes: () => jobs.map((numbers) => numbers.length) };
}

test('one that finds a thread free goes alone; those that come meanwhile go together, each with its own result', async () => {
  const { run, jobs, finish } = openBatches();
  const results: Promise<boolean>[] = [];
  for (const number of [0, 1, 2, 4]) {
    results.push(run(number));
    await settle();
  }
  await finish();
  await finish();
  expect(jobs).toEqual([[0], [1, 2, 4]]);
  expect(await Promise.all(results)).toEqual([true, false, true, true]);
});

test('all threads are used, and a job is bounded in checks', async () => {
  const { run, finish, sizes } = openBatches({ threads: 2 });
  for (const number of [0, 1]) {
    void run(number);
    await settle();
  }
  for (let number = 2; number < 102; number += 1) void run(number);
  for (let job = 0; job < 10; job += 1) await finish();
  expect(sizes()).toEqual([1, 1, 32, 32, 18, 9, 5, 2, 1, 1]);
});

test('what is no longer needed is left out', async () => {
  const { run, jobs, finish } = openBatches();
  const first = run(0);
  await settle();
  const left = new AbortController();
  const results = Promise.allSettled([first, run(4, left.signal), run(2)]);
  left.abort(new Error('left'));
  await finish();
  await finish();
  expect(jobs).toEqual([[0], [2]]);
  expect(await results).toEqual([
    { status: 'fulfilled', value: true },
    { status: 'rejected', reason: new Error('left') },
    { status: 'fulfilled', value: true },
  ]);
});

test('a job that breaks fails those that it was for, and no others', async () => {
  const { run, finish } = openBatches();
  const first = run(0);
  await settle();
  const outcomes = Promise.allSettled([first, run(2), run(4)]);
  await finish();
  await finish(new RangeError('a bug'));
  expect((await outcomes).map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected']);
  const next = run(6);
  await finish();
  expect(await next).toBe(true);
});

test('where the queue is full, those that wait are left to the jobs that are there already', async () => {
  const { run, finish, other } = openBatches({ threads: 2, maxQueued: 2 });
  for (let job = 0; job < 2; job += 1) other();
  const first = run(2);
  await settle();
  // Now as many wait as may.
  other();
  const results = [first, run(4), run(6)];
  for (let job = 0; job < 8; job += 1) await finish();
  expect(await Promise.all(results)).toEqual([true, true, true]);
});

test('where the queue is full and no job is there, all that wait are refused, and later ones are tried again', async () => {
  const { run, finish, other } = openBatches({ maxQueued: 1 });
  for (let job = 0; job < 2; job += 1) other();
  for (const refused of [2, 4, 6].map((number) => run(number))) await expect(refused).rejects.toThrow(JobsOverloaded);
  for (let job = 0; job < 2; job += 1) await finish();
  const after = run(8);
  await finish();
  expect(await after).toBe(true);
});
