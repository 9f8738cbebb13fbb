import fc from 'fast-check';
import { expect, test } from 'vitest';
import { PublicKeyTable } from '../../../../src/bls/backends/public-key-table.ts';
import { type AddOutcome, SignatureLanes } from '../../../../src/bls/curve/signature-lanes.ts';
import { Arithmetic } from '../../../../src/bls/field/arithmetic.ts';
import { type BlsJob, runBlsJob } from '../../../../src/bls/service/bls-jobs.ts';
import { createJobRunner, JobsOverloaded } from '../../../../src/bls/service/job-runner.ts';
import { bytesToHex } from '../../../../src/lib/encoding/bytes.ts';
import { ParseError } from '../../../../src/lib/encoding/parse-error.ts';
import { settle } from '../../../support/fake-clock.ts';
import { createModelSigner, modelBackend } from '../backends/model-backend.ts';

const MESSAGE = Uint8Array.of(1, 2, 3);
const NO_POINT = new Uint8Array(96).fill(0xff);
const signers = Array.from({ length: 400 }, (_, index) => createModelSigner(7n + BigInt(index) ** 2n));
const signatures = signers.map((signer) => signer.sign(MESSAGE));
const indices = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);

/** Lanes whose jobs run when the test says so. */
function openLanes({ threads = 1, concurrency = 1, maxQueued = 100 } = {}) {
  const jobs: BlsJob<'add'>[] = [];
  const running: (() => void)[] = [];
  const runner = createJobRunner({
    threads,
    concurrency,
    maxQueued,
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
    close: async () => {},
  });
  const table = new PublicKeyTable(modelBackend.packedPublicKeyBytes);
  const lanes = new SignatureLanes(new Arithmetic(runner, modelBackend), {
    ...{ message: MESSAGE, keys: table.memory, isOver: () => false },
    onMalformed: () => undefined,
  });
  const outcomes = new Map<number, AddOutcome | 'rejected'>();
  /** Ends when what was added has had the time to become a job: what is added meanwhile goes with it. */
  const add = (index: number, signature = signatures[index] as Uint8Array, isLast = false): Promise<void> => {
    const { publicKey } = signers[index] as (typeof signers)[number];
    lanes.add(index, table.slotOf(bytesToHex(publicKey), publicKey), signature, isLast).then(
      (outcome) => outcomes.set(index, outcome),
      () => outcomes.set(index, 'rejected'),
    );
    return settle();
  };
  const addLast = (index: number, signature?: Uint8Array): Promise<void> => add(index, signature, true);
  const sizes = () => jobs.map(({ slots }) => slots.length);
  /** Ends the job that is at this place among those running. */
  async function finish(place = 0): Promise<void> {
    running.splice(place, 1)[0]?.();
    await settle();
  }
  return { lanes, runner, table, jobs, running, outcomes, add, addLast, sizes, finish };
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
  const { runner, add, finish, outcomes, table } = openLanes({ maxQueued: 1 });
  const other = () =>
    runner.run<'add'>(() => ({
      ...{ kind: 'add', keys: table.memory, slots: [], signatures: new Uint8Array(), sum: undefined },
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

const membersOf = (lanes: SignatureLanes) => lanes.made?.signers.toSorted((a, b) => a - b);

test('the last signatures wait for the jobs before them, and one job then makes the aggregate of all', async () => {
  const { lanes, add, addLast, jobs, finish } = openLanes({ concurrency: 2 });
  await add(0);
  await add(1);
  await addLast(2);
  expect(jobs).toHaveLength(2);
  await finish();
  expect(jobs).toHaveLength(2);
  await finish();
  expect(jobs).toHaveLength(3);
  expect(jobs[2]?.last?.sums).toHaveLength(1);
  expect(lanes.made).toBeUndefined();
  await finish();
  expect(membersOf(lanes)).toEqual([0, 1, 2]);
  // A later aggregate begins with the signatures.
  expect(lanes.partialSums()).toMatchObject({ signers: [0, 1, 2], sums: [], contributions: { slots: [0, 1, 2] } });
  const key = modelBackend.aggregatePublicKeys(
    signers.slice(0, 3).map(({ publicKey }) => modelBackend.parsePublicKey(publicKey)),
  );
  expect(lanes.made?.key).toEqual(modelBackend.packPublicKey(key));
});

test('the last signatures make no aggregate where one of them is no point', async () => {
  const { lanes, add, addLast, finish, outcomes } = openLanes();
  await add(0);
  await addLast(1, NO_POINT);
  await finish();
  await finish();
  expect(outcomes.get(1)).toBeInstanceOf(ParseError);
  expect(lanes.made).toBeUndefined();
  // So others are needed, and nothing holds them up.
  await add(2);
  await finish();
  expect(outcomes.get(2)).toBe('added');
});

test('the last signatures hold up what comes after them until somebody is removed', async () => {
  const { lanes, add, addLast, jobs, finish, outcomes } = openLanes();
  await addLast(0);
  await addLast(1);
  await finish();
  await finish();
  expect(membersOf(lanes)).toEqual([0]);
  expect(jobs).toHaveLength(1);
  await add(2);
  expect(jobs).toHaveLength(1);
  lanes.remove(0);
  expect(lanes.made).toBeUndefined();
  expect(jobs).toHaveLength(2);
  await finish();
  expect([...outcomes.keys()]).toEqual([0, 1, 2]);
});

test('the last signatures that are removed while their aggregate is being made leave none', async () => {
  const { lanes, addLast, finish } = openLanes();
  await addLast(0);
  lanes.remove(0);
  await finish();
  expect(lanes.made).toBeUndefined();
});
