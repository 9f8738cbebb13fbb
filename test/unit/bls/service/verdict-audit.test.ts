import * as blst from '@chainsafe/blst';
import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import type { BlsBackend } from '../../../../src/bls/backends/bls-backend.ts';
import { nobleBackend } from '../../../../src/bls/backends/noble-backend.ts';
import { plainBackend } from '../../../../src/bls/backends/plain-backend.ts';
import type { Signer } from '../../../../src/bls/service/aggregation.ts';
import { type BlsJob, runBlsJob } from '../../../../src/bls/service/bls-jobs.ts';
import { type BlsService, createBlsService } from '../../../../src/bls/service/bls-service.ts';
import { JobQueue } from '../../../../src/bls/service/job-queue.ts';
import { bytesToHex } from '../../../../src/lib/encoding/bytes.ts';
import { createMetrics } from '../../../../src/telemetry/metrics.ts';
import { createLogLines } from '../../../support/log-lines.ts';

const MESSAGE = new TextEncoder().encode('a message');
const OTHER = new TextEncoder().encode('another message');
const secrets = [1, 2, 3].map((byte) => blst.SecretKey.fromKeygen(new Uint8Array(32).fill(byte)));
const signers: readonly Signer[] = secrets.map((secret, index) => {
  const publicKey = secret.toPublicKey().toBytes();
  return { index, publicKey, publicKeyHex: bytesToHex(publicKey) };
});
const [first] = signers as [Signer];
const never = new AbortController().signal;
const signaturesOf = (message: Uint8Array) => secrets.map((secret) => secret.sign(message).toBytes());
const aggregateOf = (message: Uint8Array) => blst.aggregateSignatures(secrets.map((s) => s.sign(message))).toBytes();

/** A service with all verdicts audited, in the thread of the test. */
function openService(backend: BlsBackend, { auditPercentage = 100, random = (): number => 0.5 } = {}) {
  const jobs: BlsJob[] = [];
  const runner = new JobQueue({
    threads: 1,
    concurrency: 1,
    async execute(job) {
      jobs.push(job);
      await new Promise((resolve) => setImmediate(resolve));
      return runBlsJob(job.isPlain ? plainBackend : backend, structuredClone(job));
    },
  });
  const registry = new Registry();
  const log = createLogLines();
  const options = { auditPercentage, random, metrics: createMetrics(registry), logger: log.logger };
  const bls = createBlsService(runner, backend, options);
  const audits = async (): Promise<Record<string, number>> => {
    const metric = await registry.getSingleMetric('signature_aggregator_bls_audits_total')?.get();
    return Object.fromEntries(metric?.values.map(({ labels, value }) => [labels['outcome'], value]) ?? []);
  };
  async function untilQuiet(): Promise<void> {
    do await new Promise((resolve) => setImmediate(resolve));
    while (runner.usage().running + runner.usage().waiting > 0);
  }
  return { bls, jobs, log, audits, untilQuiet };
}

const levelOf = (line: string): string => (JSON.parse(line) as { level: string }).level;
const verdictOn = (bls: BlsService, signature: Uint8Array, message = MESSAGE) =>
  bls.verifySigned({ signers, message, signature }, never);

async function aggregate(bls: BlsService, signatures = signaturesOf(MESSAGE)): Promise<boolean> {
  using aggregation = bls.startAggregation(MESSAGE, never);
  await Promise.all(signers.map((signer, index) => aggregation.add(signer, signatures[index] as Uint8Array)));
  return await aggregation.verify(await aggregation.aggregate(), MESSAGE);
}

test('the audit agrees with good arithmetic, on good and bad signatures of every kind of check', async () => {
  const { bls, audits, log, untilQuiet } = openService(nobleBackend);
  expect(await aggregate(bls)).toBe(true);
  expect(await verdictOn(bls, aggregateOf(MESSAGE))).toBe('valid');
  expect(await verdictOn(bls, aggregateOf(OTHER))).toBe('wrong signature');
  expect(await verdictOn(bls, new Uint8Array(96))).toBe('malformed signature');
  using aggregation = bls.startAggregation(MESSAGE, never);
  const [good, bad] = [signaturesOf(MESSAGE), signaturesOf(OTHER)] as [Uint8Array[], Uint8Array[]];
  expect(await aggregation.verifyAlone(first, good[0] as Uint8Array)).toBe(true);
  expect(await aggregation.verifyAlone(first, bad[0] as Uint8Array)).toBe(false);
  for (const [index, signer] of signers.entries()) {
    await aggregation.add(signer, (index === 1 ? bad : good)[index] as Uint8Array);
  }
  expect(await aggregation.verify(await aggregation.aggregate(), MESSAGE)).toBe(false);
  expect((await aggregation.findBadSigners(never)).bad).toEqual([1]);
  await untilQuiet();
  // Seven checks, of which the last failed, and the signer that was found bad.
  expect(await audits()).toEqual({ agreed: 8, differed: 0 });
  expect(log.lines.filter((line) => ['warn', 'error', 'fatal'].includes(levelOf(line)))).toEqual([]);
});

test('the audit is of the share that is asked for, and after the verdict', async () => {
  const draws = [0.005, 0.5, 0.999, 0.009];
  const { bls, jobs, audits, untilQuiet } = openService(nobleBackend, {
    auditPercentage: 1,
    random: () => draws.shift() ?? 1,
  });
  for (let check = 0; check < 4; check += 1) await verdictOn(bls, aggregateOf(MESSAGE));
  await untilQuiet();
  expect(await audits()).toEqual({ agreed: 2, differed: 0 });
  expect(jobs[0]?.kind).toBe('verifySigned');
});

test.each([
  ['says yes to everything', { verify: (): boolean => true }, OTHER, 'valid', 'wrong signature'],
  ['says no to everything', { verify: (): boolean => false }, MESSAGE, 'wrong signature', 'valid'],
] as const)(
  'notices arithmetic that %s, and plain noble decides from then on',
  async (...[, wrong, message, said, plain]) => {
    const { bls, audits, log, jobs, untilQuiet } = openService({ ...nobleBackend, ...wrong });
    const signature = aggregateOf(message);
    expect(await verdictOn(bls, signature)).toBe(said);
    await untilQuiet();
    expect(await audits()).toEqual({ differed: 1 });
    expect(JSON.parse(log.lines.find((line) => levelOf(line) === 'fatal') ?? '{}')).toMatchObject({
      verdict: said === 'valid' ? 'valid' : 'invalid',
      plain,
      publicKeys: signers.map(({ publicKeyHex }) => publicKeyHex),
      message: bytesToHex(MESSAGE),
      signature: bytesToHex(signature),
    });
    const before = jobs.length;
    expect(await verdictOn(bls, signature)).toBe(plain);
    expect(await aggregate(bls)).toBe(true);
    await untilQuiet();
    expect(jobs.slice(before).every(({ isPlain }) => isPlain)).toBe(true);
    expect(await audits()).toEqual({ differed: 1 });
  },
);

test('the audit ends what was begun with wrong arithmetic', async () => {
  const { bls, untilQuiet } = openService({ ...nobleBackend, verify: () => true });
  using aggregation = bls.startAggregation(MESSAGE, never);
  await aggregation.add(first, signaturesOf(MESSAGE)[0] as Uint8Array);
  await verdictOn(bls, aggregateOf(OTHER));
  await untilQuiet();
  await expect(aggregation.aggregate()).rejects.toThrow('BLS arithmetic that was found wrong');
  await expect(aggregation.verifyAlone(first, aggregateOf(OTHER))).rejects.toThrow(
    'BLS arithmetic that was found wrong',
  );
});

test('the audit keeps 64 verdicts at most', async () => {
  const { bls, audits, untilQuiet } = openService(nobleBackend);
  using aggregation = bls.startAggregation(MESSAGE, never);
  await Promise.all(Array.from({ length: 80 }, () => aggregation.add(first, new Uint8Array(96))));
  await untilQuiet();
  // One was under way.
  expect(await audits()).toEqual({ agreed: 65, skipped: 15, differed: 0 });
});

test('the audit keeps 8 MiB of messages at most', async () => {
  const { bls, audits, untilQuiet } = openService(nobleBackend);
  const long = new Uint8Array(3 * 1024 * 1024);
  await Promise.all(Array.from({ length: 5 }, () => verdictOn(bls, aggregateOf(MESSAGE), long)));
  await untilQuiet();
  // One was under way.
  expect(await audits()).toEqual({ agreed: 3, skipped: 2, differed: 0 });
});
