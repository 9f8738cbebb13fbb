import * as blst from '@chainsafe/blst';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { BACKEND_NAMES, loadBackend } from '../../../../src/bls/backends/load-backend.ts';
import type { BlsAggregation, Signer } from '../../../../src/bls/service/aggregation.ts';
import { runBlsJob } from '../../../../src/bls/service/bls-jobs.ts';
import { createBlsService } from '../../../../src/bls/service/bls-service.ts';
import { JobQueue } from '../../../../src/bls/service/job-queue.ts';
import { bytesToHex } from '../../../../src/lib/encoding/bytes.ts';
import { ParseError } from '../../../../src/lib/encoding/parse-error.ts';
import { OFF_SUBGROUP } from '../../../devnet/signing-faults.ts';
import { settle } from '../../../support/fake-clock.ts';
import { createModelSigner, modelBackend } from '../backends/model-backend.ts';
import { createInlineBls, createInlineQueue } from './inline-bls.ts';

const MESSAGE = Uint8Array.of(1, 2, 3);
const never = new AbortController().signal;

interface TestSigner extends Signer {
  sign(error: bigint): Uint8Array;
}

const modelSigners = Array.from({ length: 40 }, (_, index): TestSigner => {
  const signer = createModelSigner(1_000n + BigInt(index) ** 2n);
  return {
    index,
    publicKey: signer.publicKey,
    publicKeyHex: bytesToHex(signer.publicKey),
    sign: (error) => signer.sign(MESSAGE, error),
  };
});

function addAll(aggregation: BlsAggregation, signers: readonly TestSigner[], errors: readonly bigint[] = []) {
  return Promise.all(signers.map((signer, i) => aggregation.add(signer, signer.sign(errors[i] ?? 0n))));
}

async function verifies(aggregation: BlsAggregation): Promise<boolean> {
  return aggregation.verify(await aggregation.aggregate(), MESSAGE);
}

/** Removes whom the search finds until the aggregate verifies; gives all found. */
async function cleanUp(aggregation: BlsAggregation): Promise<number[]> {
  const found: number[] = [];
  while (!(await verifies(aggregation))) {
    const { bad } = await aggregation.findBadSigners(never);
    expect(bad.length).toBeGreaterThan(0);
    for (const index of bad) aggregation.remove(index);
    found.push(...bad);
  }
  return found.toSorted((a, b) => a - b);
}

test('an aggregation sums up what comes in whatever order and groups, on however many threads', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.shuffledSubarray(modelSigners, { minLength: 1 }),
      fc.array(fc.nat(40), { maxLength: 5 }),
      fc.integer({ min: 1, max: 4 }),
      async (signers, cuts, threads) => {
        using aggregation = createBlsService(
          createInlineQueue(modelBackend, undefined, threads),
          modelBackend,
        ).startAggregation(MESSAGE, never);
        const bounds = [0, ...cuts.filter((cut) => cut < signers.length).toSorted((a, b) => a - b), signers.length];
        for (const [i, start] of bounds.entries()) await addAll(aggregation, signers.slice(start, bounds[i + 1]));
        const aggregate = await aggregation.aggregate();
        expect(aggregate.signers).toEqual(signers.map(({ index }) => index).toSorted((a, b) => a - b));
        expect(await aggregation.verify(aggregate, MESSAGE)).toBe(true);
      },
    ),
    { numRuns: 60 },
  );
});

test('an aggregation takes what is decoded while it is summed up into the next sum', async () => {
  using aggregation = createInlineBls(modelBackend).startAggregation(MESSAGE, never);
  await addAll(aggregation, modelSigners.slice(0, 3));
  const late = addAll(aggregation, modelSigners.slice(3, 9));
  const first = await aggregation.aggregate();
  expect(await aggregation.verify(first, MESSAGE)).toBe(true);
  await late;
  const second = await aggregation.aggregate();
  expect(second.signers).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8]);
  expect(await aggregation.verify(second, MESSAGE)).toBe(true);
});

test('an aggregation reports what is wrong with what is no point, and goes on with the others of the same job', async () => {
  using aggregation = createInlineBls(modelBackend).startAggregation(MESSAGE, never);
  const [one, two, three, four, five] = modelSigners as [TestSigner, TestSigner, TestSigner, TestSigner, TestSigner];
  const noKey = new Uint8Array(48).fill(0xff);
  const outcomes = await Promise.all([
    aggregation.add(one, one.sign(0n)),
    aggregation.add(two, new Uint8Array(96).fill(0xff)),
    aggregation.add(three, new Uint8Array(95)),
    aggregation.add({ ...four, publicKey: noKey, publicKeyHex: bytesToHex(noKey) }, four.sign(0n)),
    aggregation.add(five, five.sign(0n)),
  ]);
  expect(outcomes.map((outcome) => (outcome instanceof ParseError ? outcome.message : outcome))).toEqual([
    'added',
    'signature: is not a compressed point on the curve',
    'signature: must have 96 bytes, has 95',
    'public key: is not a compressed point on the curve',
    'added',
  ]);
  expect((await aggregation.aggregate()).signers).toEqual([0, 4]);
  expect(await verifies(aggregation)).toBe(true);
});

test('an aggregation proves a signature alone, without adding it', async () => {
  using aggregation = createInlineBls(modelBackend).startAggregation(MESSAGE, never);
  const [one, two] = modelSigners as [TestSigner, TestSigner];
  expect(await aggregation.verifyAlone(one, one.sign(0n))).toBe(true);
  expect(await aggregation.verifyAlone(one, one.sign(1n))).toBe(false);
  expect(await aggregation.verifyAlone(one, two.sign(0n))).toBe(false);
  expect(await aggregation.verifyAlone(one, new Uint8Array(96).fill(0xff))).toBe(false);
  expect(await aggregation.verifyAlone(one, new Uint8Array(3))).toBe(false);
  await aggregation.add(two, two.sign(0n));
  expect((await aggregation.aggregate()).signers).toEqual([1]);
});

test('an aggregation verifies nothing but what it made last', async () => {
  using aggregation = createInlineBls(modelBackend).startAggregation(MESSAGE, never);
  await addAll(aggregation, modelSigners.slice(0, 2));
  const aggregate = await aggregation.aggregate();
  await expect(aggregation.verify(aggregate, Uint8Array.of(1, 2))).rejects.toThrow('another aggregate');
  for (const signers of [[0], [0, 2], [1, 0], [0, 1, 2]]) {
    await expect(aggregation.verify({ ...aggregate, signers }, MESSAGE)).rejects.toThrow('another aggregate');
  }
  await expect(aggregation.findBadSigners(never)).rejects.toThrow('no aggregate has failed');
  const { signature } = aggregate;
  expect(await aggregation.verify({ ...aggregate, signature: signature.with(95, 1) }, MESSAGE)).toBe(false);
});

test('an aggregation that is over leaves undone what nobody has begun', async () => {
  const busy = Promise.withResolvers<void>();
  const started: string[] = [];
  const runner = new JobQueue({
    threads: 1,
    concurrency: 1,
    async execute(job) {
      started.push(job.kind);
      await busy.promise;
      return runBlsJob(modelBackend, job);
    },
  });
  const aggregation = createBlsService(runner, modelBackend).startAggregation(MESSAGE, never);
  // Nothing is done for a message without signatures.
  await settle();
  expect(started).toEqual([]);
  const added = addAll(aggregation, modelSigners.slice(0, 3));
  aggregation[Symbol.dispose]();
  expect(await added).toEqual(['over', 'over', 'over']);
  busy.resolve();
  await runner[Symbol.asyncDispose]();
  expect(started).toEqual(['hash']);
  expect(await addAll(aggregation, modelSigners.slice(0, 1))).toEqual(['over']);
});

test('an aggregation that is aborted gives the reason to all who wait for what has not begun', async () => {
  const aborted = new AbortController();
  const busy = Promise.withResolvers<void>();
  const bls = createInlineBls(modelBackend, busy.promise);
  using _ahead = bls.startAggregation(MESSAGE, never);
  using aggregation = bls.startAggregation(MESSAGE, aborted.signal);
  const added = addAll(aggregation, modelSigners.slice(0, 2));
  const [one] = modelSigners as [TestSigner];
  const waiting = [aggregation.verifyAlone(one, one.sign(0n)), aggregation.aggregate()];
  aborted.abort(new Error('not wanted'));
  busy.resolve();
  expect(await added).toEqual(['over', 'over']);
  for (const outcome of await Promise.allSettled(waiting)) {
    expect(outcome).toMatchObject({ status: 'rejected', reason: { message: 'not wanted' } });
  }
});

test('checks of several aggregations that wait are one; where one fails, each has its own verdict', async () => {
  const batches: number[] = [];
  const bls = createInlineBls({
    ...modelBackend,
    verifyBatch(checks) {
      batches.push(checks.length);
      return modelBackend.verifyBatch(checks);
    },
  });
  for (const errors of [
    [0n, 0n, 0n, 0n, 0n, 0n],
    [0n, 0n, 7n, 0n, 0n, 0n],
  ]) {
    const all = errors.map(() => bls.startAggregation(MESSAGE, never));
    await Promise.all(all.map((aggregation, i) => addAll(aggregation, modelSigners.slice(0, 3), [errors[i] ?? 0n])));
    const made = await Promise.all(all.map((aggregation) => aggregation.aggregate()));
    const results = await Promise.all(all.map((aggregation, i) => aggregation.verify(made[i] as never, MESSAGE)));
    expect(results).toEqual(errors.map((error) => error === 0n));
    for (const aggregation of all) aggregation[Symbol.dispose]();
  }
  expect(batches).toHaveLength(2);
});

const [plus, minus] = [0, 0x20].map((sign) => {
  const [flags = 0, ...more] = OFF_SUBGROUP;
  return blst.Signature.fromBytes(Uint8Array.of(flags ^ sign, ...more));
}) as [blst.Signature, blst.Signature];

describe.each(await Promise.all(BACKEND_NAMES.map(loadBackend)))('with real points: $name', (backend) => {
  const signers = Array.from({ length: 20 }, (_, index) => {
    const secret = blst.SecretKey.fromKeygen(new Uint8Array(32).fill(index + 1));
    const publicKey = secret.toPublicKey().toBytes();
    return { index, secret, publicKey, publicKeyHex: bytesToHex(publicKey) };
  });
  const OTHER = Uint8Array.of(9);
  /** A distinct error: a signature of another message, added several times. */
  const shift = (signature: blst.Signature, times: number): Uint8Array => {
    const error = signers[0]?.secret.sign(OTHER);
    return blst.aggregateSignatures([signature, ...Array(times).fill(error)]).toBytes();
  };

  test('invalid signers are found, one of them outside the subgroup', async () => {
    using aggregation = createInlineBls(backend).startAggregation(MESSAGE, never);
    await Promise.all(
      signers.map((signer) => {
        const good = signer.secret.sign(MESSAGE);
        const shifted = [2, 3, 11].includes(signer.index) ? shift(good, signer.index) : good.toBytes();
        return aggregation.add(signer, signer.index === 13 ? OFF_SUBGROUP : shifted);
      }),
    );
    expect(await cleanUp(aggregation)).toEqual([2, 3, 11, 13]);
  });

  test.each<[string, errors: Readonly<Record<number, blst.Signature[]>>, excluded: readonly number[]]>([
    ['that cancel count', { 4: [plus], 9: [plus], 17: [minus, minus] }, []],
    ['that do not cancel are found', { 4: [plus], 9: [plus], 17: [plus] }, [4, 9, 17]],
  ])('signatures with parts outside the subgroup %s', async (_, errors, excluded) => {
    using aggregation = createInlineBls(backend).startAggregation(MESSAGE, never);
    await Promise.all(
      signers.map(({ secret, ...signer }) => {
        const parts = [secret.sign(MESSAGE), ...(errors[signer.index] ?? [])];
        return aggregation.add(signer, blst.aggregateSignatures(parts).toBytes());
      }),
    );
    expect(await cleanUp(aggregation)).toEqual(excluded);
    const { signers: signed, signature } = await aggregation.aggregate();
    const keys = signed.map((index) => signers[index]?.secret.toPublicKey() ?? expect.fail());
    // With the check of the subgroup, as a destination makes it.
    expect(blst.fastAggregateVerify(MESSAGE, keys, blst.Signature.fromBytes(signature, true))).toBe(true);
  });

  describe('what others have signed', () => {
    const bls = createInlineBls(backend);
    const signature = blst.aggregateSignatures(signers.map(({ secret }) => secret.sign(MESSAGE))).toBytes();
    const verdict = (change: object = {}, signal = never) =>
      bls.verifySigned({ signers, message: MESSAGE, signature, ...change }, signal);

    test('is valid for just these signers and this message', async () => {
      expect(await verdict()).toBe('valid');
      expect(await verdict({ signers: signers.slice(1) })).toBe('wrong signature');
      expect(await verdict({ message: OTHER })).toBe('wrong signature');
      expect(await verdict({ signature: signers[0]?.secret.sign(MESSAGE).toBytes() })).toBe('wrong signature');
      for (const malformed of [new Uint8Array(96).fill(7), Uint8Array.of(0xc0, ...new Uint8Array(95))]) {
        expect(await verdict({ signature: malformed })).toBe('malformed signature');
      }
    });

    test('is not looked at for whoever has left', async () => {
      const gone = new AbortController();
      const busy = Promise.withResolvers<void>();
      const service = createInlineBls(backend, busy.promise);
      const ahead = service.verifySigned({ signers, message: MESSAGE, signature }, never);
      const waiting = service.verifySigned({ signers, message: MESSAGE, signature }, gone.signal);
      gone.abort(new Error('gone'));
      busy.resolve();
      await expect(waiting).rejects.toThrow('gone');
      await expect(verdict({}, gone.signal)).rejects.toThrow('gone');
      expect(await ahead).toBe('valid');
    });
  });
});
