import fc from 'fast-check';
import { expect, test } from 'vitest';
import { PublicKeyTable } from '../../../../src/bls/backends/public-key-table.ts';
import { type BlsJob, runBlsJob } from '../../../../src/bls/service/bls-jobs.ts';
import { JobQueue, JobsOverloaded } from '../../../../src/bls/service/job-queue.ts';
import { type AddOutcome, SignatureLanes } from '../../../../src/bls/service/signature-lanes.ts';
import { bytesToHex } from '../../../../src/lib/encoding/bytes.ts';
import { settle } from '../../../support/fake-clock.ts';
import { createModelSigner, modelBackend } from '../backends/model-backend.ts';

const OWNER = { backend: { isPlain: false, isRetired: false }, signal: new AbortController().signal };
const MESSAGE = Uint8Array.of(1, 2, 3);
const signers = Array.from({ length: 400 }, (_, index) => createModelSigner(7n + BigInt(index) ** 2n));
const signatures = signers.map((signer) => signer.sign(MESSAGE));
const indices = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);

/** Lanes whose jobs run when the test says so. */
function openLanes({ threads = 1, concurrency = 1, maxQueued = 100 } = {}) {
  const jobs: BlsJob<'add'>[] = [];
  const running: (() => void)[] = [];
  const jobQueue = new JobQueue(
    {
      threads,
      concurrency,
      execute(job) {
        if (job.kind !== 'add') throw new Error('not of these tests');
        jobs.push(job);
        return new Promise((resolve, reject) => {
          running.push(() => {
            try {
              resolve(runBlsJob(modelBackend, structuredClone(job)));
            } catch (error) {
              reject(error);
            }
          });
        });
      },
    },
    maxQueued,
  );
  const table = new PublicKeyTable(modelBackend.packedPublicKeyBytes);
  const lanes = new SignatureLanes(jobQueue, OWNER, {
    keys: table.memory,
    onMalformed: () => undefined,
  });
  const outcomes = new Map<number, AddOutcome | 'rejected'>();
  /** Ends when what was added has had the time to become a job: what is added meanwhile goes with it. */
  const add = (index: number, signature = signatures[index] as Uint8Array): Promise<void> => {
    const { publicKey } = signers[index] as (typeof signers)[number];
    lanes.add(index, table.slotOf(bytesToHex(publicKey), publicKey), signature).then(
      (outcome) => outcomes.set(index, outcome),
      () => outcomes.set(index, 'rejected'),
    );
    return settle();
  };
  const sizes = () => jobs.map(({ slots }) => slots.length);
  /** Ends the job that is at this place among those running. */
  async function finish(place = 0): Promise<void> {
    running.splice(place, 1)[0]?.();
    await settle();
  }
  return { lanes, jobQueue, table, jobs, running, outcomes, add, sizes, finish };
}

/** Whether the parts add up to the sum of these signers' keys and signatures. */
function areSumsOf(sums: readonly { key: Uint8Array; signature: Uint8Array }[], members: readonly number[]): boolean {
  const key = modelBackend.aggregatePublicKeys(sums.map((sum) => modelBackend.unpackPublicKey(sum.key)));
  const signature = modelBackend.aggregateSignatures(sums.map((sum) => modelBackend.unpackSignature(sum.signature)));
  const expected = members.map((index) => signers[index] as (typeof signers)[number]);
  const keys = expected.map(({ publicKey }) => modelBackend.parsePublicKey(publicKey));
  return (
    modelBackend.verify(key, modelBackend.hashToCurve(MESSAGE), signature) &&
    bytesToHex(modelBackend.packPublicKey(key)) ===
      bytesToHex(modelBackend.packPublicKey(modelBackend.aggregatePublicKeys(keys)))
  );
}

test('a job takes what has gathered when a thread is free, not when it was queued', async () => {
  const { add, sizes, finish, outcomes } = openLanes();
  await add(0);
  for (const index of indices(1, 100)) await add(index);
  expect(sizes()).toEqual([1]);
  await finish();
  // No more than 64, so that it does not hold up another request.
  expect(sizes()).toEqual([1, 64]);
  expect([...outcomes]).toEqual([[0, 'added']]);
  await finish();
  await finish();
  expect(sizes()).toEqual([1, 64, 35]);
  expect(outcomes.size).toBe(100);
});

test('a job takes an equal share for each thread, but no fewer than four', async () => {
  const { add, sizes, finish } = openLanes({ threads: 4, concurrency: 4 });
  for (const index of indices(0, 4)) await add(index);
  expect(sizes()).toEqual([1, 1, 1, 1]);
  for (const index of indices(4, 24)) await add(index);
  await finish();
  // A fourth of 20; then fourths of what is left, until those are fewer than four.
  expect(sizes().slice(4)).toEqual([5]);
  for (let job = 0; job < 4; job += 1) await finish();
  expect(sizes().slice(4)).toEqual([5, 4, 4, 4, 3]);
});

test('each lane has one job at a time, and together they have each signer once', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 4 }),
      fc.integer({ min: 1, max: 3 }),
      fc.array(fc.oneof(fc.integer({ min: 1, max: 40 }), fc.constant('finish' as const)), { maxLength: 20 }),
      fc.infiniteStream(fc.nat(11)),
      async (threads, jobsPerThread, steps, places) => {
        const { lanes, add, finish, running, outcomes, jobs } = openLanes({
          threads,
          concurrency: threads * jobsPerThread,
        });
        let added = 0;
        const finishOne = () => finish((places.next().value as number) % running.length);
        for (const step of steps) {
          if (step === 'finish') {
            if (running.length > 0) await finishOne();
          } else {
            const until = Math.min(added + step, signers.length);
            for (; added < until; added += 1) void add(added);
            await settle();
          }
          expect(running.length).toBeLessThanOrEqual(threads * jobsPerThread);
        }
        while (running.length > 0) await finishOne();
        expect([...outcomes.values()]).toEqual(Array(added).fill('added'));
        expect(jobs.reduce((sum, { slots }) => sum + slots.length, 0)).toBe(added);
        const sums = lanes.partialSums();
        expect(sums.signers.toSorted((a, b) => a - b)).toEqual(indices(0, added));
        if (added > 0) expect(areSumsOf(sums.sums, indices(0, added))).toBe(true);
      },
    ),
    { numRuns: 60 },
  );
});

test('a job that fails fails the signatures that it took and no others, and its lane goes on', async () => {
  const { lanes, add, running, outcomes, finish, jobs } = openLanes();
  await add(0);
  await add(1);
  // Makes the job break in another way than by a malformed point.
  Object.assign(jobs[0] as object, { slots: undefined });
  await finish();
  expect(outcomes.get(0)).toBe('rejected');
  expect(running).toHaveLength(1);
  await finish();
  expect(outcomes.get(1)).toBe('added');
  expect(lanes.partialSums().signers).toEqual([1]);
});

test('a job that fails because the queue is full fails all that wait, and the next one is tried again', async () => {
  const { jobQueue, add, finish, outcomes, table } = openLanes({ maxQueued: 1 });
  const other = () =>
    jobQueue.run<'add'>(OWNER, () => ({
      kind: 'add',
      keys: table.memory,
      slots: [],
      signatures: new Uint8Array(),
      sum: undefined,
    }));
  void other();
  void other();
  await expect(other()).rejects.toThrow(JobsOverloaded);
  await add(0);
  await settle();
  expect(outcomes.get(0)).toBe('rejected');
  await finish();
  await finish();
  await add(1);
  await finish();
  expect(outcomes.get(1)).toBe('added');
});

test('signatures are added up anew where one of them was removed', async () => {
  const { lanes, add, finish, jobs } = openLanes({ concurrency: 2 });
  for (const index of indices(0, 3)) await add(index);
  await finish();
  await finish();
  await finish();
  lanes.remove(1);
  expect(lanes.partialSums()).toMatchObject({ signers: [0, 2], sums: [], contributions: { slots: [0, 2] } });
  expect(jobs.reduce((sum, { slots }) => sum + slots.length, 0)).toBe(3);
});
