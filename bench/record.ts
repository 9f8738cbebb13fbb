import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import { createTally } from '../src/aggregation/collection/tally.ts';
import { answersOf, type ValidatorQuestion } from '../src/aggregation/collection/validator-answers.ts';
import { systemClock } from '../src/lib/concurrency/clock.ts';
import { openRecordStore } from '../src/record/record-store.ts';
import { openSigningRecord } from '../src/record/signing-record.ts';
import { createMetrics } from '../src/telemetry/metrics.ts';
import type { WarpSet } from '../src/validators/warp-set.ts';
import { nodeIDFromBytes, PRIMARY_NETWORK_ID } from '../src/warp/ids.ts';
import type { BenchmarkOptions } from './benchmark.ts';
import { round } from './statistics.ts';

const DEFAULT_SIZES = [5, 2_000];
const ANSWERS = 1_000_000;
/** A busy service has more between two writes, which are five minutes apart. */
const WRITES = 20;
const ANSWER_MS = 40;
const QUORUM = { quorumNum: 67n, quorumBuffer: 10n };

/** Measures the CPU that the record of validators takes for each answer, with its writes to a file. */
export async function benchRecord({ sizes, report }: BenchmarkOptions): Promise<void> {
  for (const size of sizes.length > 0 ? sizes : DEFAULT_SIZES) {
    const warpSet = setOf(size);
    const directory = mkdtempSync(join(tmpdir(), 'record-'));
    const store = openRecordStore({ directory, networkID: 1_337, name: 'bench' });
    const record = openSigningRecord({
      store,
      isPersistent: true,
      sets: () => [[PRIMARY_NETWORK_ID, warpSet]],
      setOf: () => warpSet,
      isConnected: () => true,
      clock: systemClock,
      warn: (_kind, fields, message) => console.error(message, fields),
      metrics: createMetrics(new Registry()),
    });
    const collections = Math.ceil(ANSWERS / size);
    const readAnswers = signedBy(warpSet);
    const before = process.cpuUsage();
    for (let collection = 1; collection <= collections; collection += 1) {
      record.onSigned(PRIMARY_NETWORK_ID, readAnswers);
      if (collection % Math.ceil(collections / WRITES) === 0) await record.validator(PRIMARY_NETWORK_ID, nodeOf(0));
    }
    const { user, system } = process.cpuUsage(before);
    await record[Symbol.asyncDispose]();
    store[Symbol.dispose]();
    rmSync(directory, { recursive: true });
    report({
      name: 'record',
      validators: size,
      answers: collections * size,
      'µs of CPU an answer': round((user + system) / collections / size, 2),
    });
  }
}

/** Returns what a collection reports in which all validators of the set have signed. */
function signedBy(warpSet: WarpSet) {
  const tally = createTally(warpSet, { ...QUORUM, forecasts: [] });
  const questions = new Map<number, ValidatorQuestion>();
  for (const { index } of warpSet.validators) {
    tally.set(index, { kind: 'signed', signature: new Uint8Array(), attempts: 1, timeouts: 0 });
    questions.set(index, { sentAtMs: 0, lateAtMs: ANSWER_MS, isTrial: false, tookMs: index % ANSWER_MS });
  }
  const facts = { tally, questions, nowMs: ANSWER_MS, lateAfterMs: ANSWER_MS };
  return () => answersOf({ ...facts, isLagging: () => false, isConnected: () => true });
}

/** Keys need not be points of the curve: nothing is verified. */
function setOf(size: number): WarpSet {
  const validators = Array.from({ length: size }, (_, index) => {
    const publicKey = Buffer.alloc(48);
    publicKey.writeUInt32BE(index, 44);
    return {
      index,
      publicKey,
      publicKeyHex: publicKey.toString('hex'),
      weight: 1n + BigInt(index),
      nodeIDs: [nodeOf(index)],
    };
  });
  const totalWeight = validators.reduce((sum, { weight }) => sum + weight, 0n);
  return { validators, totalWeight, keyless: { count: 0, weight: 0n, validators: [] } };
}

function nodeOf(index: number) {
  const bytes = Buffer.alloc(20);
  bytes.writeUInt32BE(index, 16);
  return nodeIDFromBytes(bytes);
}
