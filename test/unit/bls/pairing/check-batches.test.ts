import { describe, expect, test } from 'vitest';
import { CheckBatches } from '../../../../src/bls/pairing/check-batches.ts';
import type { AggregateCheck, BlsJob } from '../../../../src/bls/service/bls-jobs.ts';
import { createJobRunner, JobsOverloaded } from '../../../../src/bls/service/job-runner.ts';

const never = () => false;

/** A check with a number; even ones are valid. */
function checkOf(number: number): AggregateCheck {
  return { key: Uint8Array.of(number), message: new Uint8Array(), signature: new Uint8Array() };
}

/** Batches whose jobs end when the test says so. */
function openBatches({ threads = 1, maxQueued = 1_000 } = {}) {
  const batches: number[][] = [];
  const running: PromiseWithResolvers<boolean[]>[] = [];
  const runner = createJobRunner({
    threads,
    concurrency: threads,
    maxQueued,
    execute(job: BlsJob) {
      if (job.kind !== 'verify') throw new Error('not of these tests');
      batches.push(job.checks.map(({ key }) => key[0] as number));
      const end = Promise.withResolvers<boolean[]>();
      running.push(end);
      return end.promise;
    },
    close: async () => {},
  });
  const checks = new CheckBatches(runner);
  const verify = (number: number, isOver = never) => checks.verify(checkOf(number), isOver);
  async function finish(error?: Error): Promise<void> {
    const batch = batches[batches.length - running.length] as number[];
    const end = running.shift();
    if (error === undefined) end?.resolve(batch.map((number) => number % 2 === 0));
    else end?.reject(error);
    await new Promise((resolve) => setImmediate(resolve));
  }
  return { verify, batches, finish };
}

describe('checks', () => {
  test('that find a thread free go alone; those that wait for one go together, each with its own verdict', async () => {
    const { verify, batches, finish } = openBatches();
    const verdicts = [0, 1, 2, 3].map((number) => verify(number));
    await finish();
    await finish();
    expect(batches).toEqual([[0], [1, 2, 3]]);
    expect(await Promise.all(verdicts)).toEqual([true, false, true, false]);
  });

  test('are shared out over the threads', async () => {
    const { verify, batches, finish } = openBatches({ threads: 3 });
    const verdicts = Array.from({ length: 12 }, (_, number) => verify(number));
    for (let job = 0; job < 8; job += 1) await finish();
    // Nine wait: a third, then thirds of the rest.
    expect(batches.map((batch) => batch.length)).toEqual([1, 1, 1, 3, 2, 2, 1, 1]);
    expect(batches.flat()).toEqual(Array.from({ length: 12 }, (_, number) => number));
    expect((await Promise.all(verdicts)).every((isValid) => isValid !== undefined)).toBe(true);
  });

  test('that are no longer needed are left out', async () => {
    const { verify, batches, finish } = openBatches();
    let isOver = false;
    const verdicts = [verify(0), verify(2, () => isOver), verify(4)];
    isOver = true;
    await finish();
    await finish();
    expect(batches).toEqual([[0], [4]]);
    expect(await Promise.all(verdicts)).toEqual([true, undefined, true]);
  });

  test('of a job that breaks reject, and others do not', async () => {
    const { verify, finish } = openBatches();
    const verdicts = [verify(0), verify(2), verify(4)];
    const outcomes = Promise.allSettled(verdicts);
    await finish();
    await finish(new RangeError('a bug'));
    expect((await outcomes).map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected']);
    const next = verify(6);
    await finish();
    expect(await next).toBe(true);
  });

  test('that the full queue refuses reject, and no later job makes them', async () => {
    const { verify, batches, finish } = openBatches({ maxQueued: 1 });
    const verdicts = [verify(0), verify(2)];
    await expect(verify(4)).rejects.toThrow(JobsOverloaded);
    await finish();
    await finish();
    expect(batches).toEqual([[0], [2]]);
    expect(await Promise.all(verdicts)).toEqual([true, true]);
  });
});
