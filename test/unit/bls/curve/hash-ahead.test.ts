import { expect, test, vi } from 'vitest';
import type { BlsBackend } from '../../../../src/bls/backends/bls-backend.ts';
import { nobleBackend } from '../../../../src/bls/backends/noble-backend.ts';
import { plainBackend } from '../../../../src/bls/backends/plain-backend.ts';
import { createHashMemory, hashedFrom, hashInto } from '../../../../src/bls/curve/hash-ahead.ts';
import { createBlsService } from '../../../../src/bls/service/aggregation.ts';
import type { BlsJob } from '../../../../src/bls/service/bls-jobs.ts';
import type { JobRunner } from '../../../../src/bls/service/job-runner.ts';
import { bytesToHex } from '../../../../src/lib/encoding/bytes.ts';
import { createModelSigner, modelBackend } from '../backends/model-backend.ts';
import { createInlineRunner } from '../service/inline-bls.ts';

const MESSAGE = new TextEncoder().encode('a message');
const OTHER = new TextEncoder().encode('another message');
const never = new AbortController().signal;

test.each([nobleBackend, plainBackend, modelBackend])(
  '$name: what one thread hashed, another takes as it is',
  (backend) => {
    const memory = createHashMemory(backend.packedPublicKeyBytes);
    const hashed = bytesToHex(backend.packMessage(backend.hashToCurve(MESSAGE)));
    const hashToCurve = vi.fn(backend.hashToCurve);
    const counting = { ...backend, hashToCurve };
    expect(bytesToHex(hashInto(counting, MESSAGE, memory))).toBe(hashed);
    expect(bytesToHex(backend.packMessage(hashedFrom(counting, MESSAGE, memory)))).toBe(hashed);
    expect(hashToCurve).toHaveBeenCalledTimes(1);
  },
);

test('who finds nothing hashes the message, also where another thread began and never ends', () => {
  const hashToCurve = vi.fn(modelBackend.hashToCurve);
  const counting = { ...modelBackend, hashToCurve };
  const memory = createHashMemory(modelBackend.packedPublicKeyBytes);
  const expected = modelBackend.packMessage(modelBackend.hashToCurve(MESSAGE));
  for (const begun of [0, 1]) {
    new Int32Array(memory)[0] = begun;
    expect(modelBackend.packMessage(hashedFrom(counting, MESSAGE, memory))).toEqual(expected);
  }
  expect(hashToCurve).toHaveBeenCalledTimes(2);
});

test('a thread that fails leaves nothing', () => {
  const memory = createHashMemory(modelBackend.packedPublicKeyBytes);
  const broken: BlsBackend = {
    ...modelBackend,
    hashToCurve: () => {
      throw new Error('broken');
    },
  };
  expect(() => hashInto(broken, MESSAGE, memory)).toThrow('broken');
  expect(new Int32Array(memory)[0]).toBe(0);
});

function createCounted(backend: BlsBackend, threads = 1) {
  const jobs: BlsJob[] = [];
  const hashToCurve = vi.fn(backend.hashToCurve);
  const inline = createInlineRunner({ ...backend, hashToCurve }, undefined, threads);
  const runner: JobRunner = {
    ...inline,
    run: (prepare) =>
      inline.run(() => {
        const job = prepare();
        if (job !== undefined) jobs.push(job as BlsJob);
        return job;
      }),
  };
  return { bls: createBlsService(runner, backend), kinds: () => jobs.map(({ kind }) => kind), hashToCurve };
}

const model = createModelSigner(7n);
const signer = { index: 0, publicKey: model.publicKey, publicKeyHex: bytesToHex(model.publicKey) };
const SIGNATURE = model.sign(MESSAGE);

test('a signed message is verified with the hash that was made ahead, and another message is not', async () => {
  const { bls, kinds, hashToCurve } = createCounted(modelBackend);
  bls.hashAhead(MESSAGE);
  bls.hashAhead(MESSAGE);
  const signed = { signers: [signer], message: MESSAGE, signature: SIGNATURE };
  expect(await bls.verifySigned(signed, never)).toBe('valid');
  expect(await bls.verifySigned({ ...signed, signature: model.sign(OTHER) }, never)).toBe('wrong signature');
  expect(hashToCurve).toHaveBeenCalledTimes(1);
  expect(await bls.verifySigned({ ...signed, message: OTHER }, never)).toBe('wrong signature');
  expect(hashToCurve).toHaveBeenCalledTimes(2);
  expect(kinds()).toEqual(['hash', 'verifySigned', 'verifySigned', 'verifySigned']);
});

test('an aggregation of a message that was hashed ahead does not hash it again', async () => {
  const { bls, kinds } = createCounted(modelBackend);
  bls.hashAhead(MESSAGE);
  using aggregation = bls.startAggregation(MESSAGE, never);
  await aggregation.add(signer, SIGNATURE);
  expect(await aggregation.verify(await aggregation.aggregate(), MESSAGE)).toBe(true);
  expect(kinds().filter((kind) => kind === 'hash')).toHaveLength(1);
});

test('a thread that died while it hashed ahead spoils nothing that comes later', async () => {
  const inline = createInlineRunner(modelBackend);
  let isBroken = true;
  const runner: JobRunner = {
    ...inline,
    run: (prepare) => (isBroken ? Promise.reject(new Error('the thread ended')) : inline.run(prepare)),
  };
  const bls = createBlsService(runner, modelBackend);
  bls.hashAhead(MESSAGE);
  await new Promise(setImmediate);
  isBroken = false;
  using aggregation = bls.startAggregation(MESSAGE, never);
  await aggregation.add(signer, SIGNATURE);
  expect(await aggregation.verify(await aggregation.aggregate(), MESSAGE)).toBe(true);
});

test('nothing is hashed ahead where every thread has work, or where verifying hashes', async () => {
  const busy = createCounted(modelBackend, 2);
  const [first, second, third] = [OTHER, MESSAGE, Uint8Array.of(3)];
  for (const message of [first, second, third]) busy.bls.hashAhead(message);
  expect(busy.kinds()).toEqual(['hash', 'hash']);
  const whenVerifying = createCounted({ ...modelBackend, hashesWhenVerifying: true });
  whenVerifying.bls.hashAhead(MESSAGE);
  expect(whenVerifying.kinds()).toEqual([]);
});
