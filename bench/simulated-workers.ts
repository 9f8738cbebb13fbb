import type { BlsBackend } from '../src/bls/backends/bls-backend.ts';
import { createBlsService } from '../src/bls/service/aggregation.ts';
import { type BlsJob, type BlsJobs, runBlsJob } from '../src/bls/service/bls-jobs.ts';
import { createJobRunner, type JobRunner } from '../src/bls/service/job-runner.ts';
import { JOBS_PER_THREAD } from '../src/bls/service/worker-pool.ts';
import { bytesToHex } from '../src/lib/encoding/bytes.ts';
import { createModelScheme } from '../test/simulation/model-bls.ts';
import { MeteredTime } from './metered-time.ts';

/** Milliseconds of a thread. */
export interface JobCosts {
  /** Undefined where the message is hashed with each check. */
  readonly hashMs: number | undefined;
  readonly addMs: number;
  readonly addEachMs: number;
  readonly aggregateMs: number;
  readonly checkMs: number;
  /** Of each further check of one job. */
  readonly furtherCheckMs: number;
}

export interface WorkersOptions {
  readonly threads: number;
  /** Each waits for its answer before it asks again. */
  readonly clients: number;
  readonly signers: number;
  readonly costs: JobCosts;
  /** Of the event loop, for everything of a request. */
  readonly loopMs: number;
  /** What is counted, after as long a time in which it is not. */
  readonly durationMs: number;
}

export interface WorkersResult {
  readonly perSecond: number;
  /** From 0 to 1. */
  readonly threadsBusy: number;
  readonly loopBusy: number;
  /** Requests of the client that had the fewest, and of the one that had the most. */
  readonly fewest: number;
  readonly most: number;
  /** Of jobs, from when they were queued until a thread began with them. */
  readonly longestWaitMs: number;
  /** How often jobs waited while a thread had none. */
  readonly idleWhileWaiting: number;
}

const NETWORK_MS = 5;
/** To a thread and back. */
const HOP_MS = 0.05;
const never = new AbortController().signal;

/** The event loop: one thing after the other. */
class Loop {
  busyMs = 0;
  readonly #time: MeteredTime;
  #freeAtMs = 0;

  constructor(time: MeteredTime) {
    this.#time = time;
  }

  /** Resolves when it has had its turn and took so long. */
  work(ms: number): Promise<void> {
    this.#freeAtMs = Math.max(this.#freeAtMs, this.#time.nowMs) + ms;
    this.busyMs += ms;
    return new Promise((resolve) => this.#time.elsewhere(this.#freeAtMs - this.#time.nowMs, resolve));
  }
}

/** The threads as the pool hands them their jobs: each to the one that has the fewest. */
class Threads {
  busyMs = 0;
  longestWaitMs = 0;
  readonly #options: WorkersOptions;
  readonly #time: MeteredTime;
  readonly #backend: BlsBackend;
  readonly #threads: { jobs: number; freeAtMs: number }[];

  constructor(options: WorkersOptions, time: MeteredTime, backend: BlsBackend) {
    this.#options = options;
    this.#time = time;
    this.#backend = backend;
    this.#threads = Array.from({ length: options.threads }, () => ({ jobs: 0, freeAtMs: 0 }));
  }

  get isAnyIdle(): boolean {
    return this.#threads.some(({ jobs }) => jobs === 0);
  }

  run(job: BlsJob): Promise<ReturnType<typeof runBlsJob>> {
    const thread = this.#threads.reduce((least, other) => (other.jobs < least.jobs ? other : least));
    const { nowMs } = this.#time;
    const startMs = Math.max(nowMs + HOP_MS, thread.freeAtMs);
    const ms = costOf(job, this.#options.costs);
    thread.jobs += 1;
    thread.freeAtMs = startMs + ms;
    this.busyMs += ms;
    this.longestWaitMs = Math.max(this.longestWaitMs, startMs - nowMs);
    return new Promise((resolve) =>
      this.#time.elsewhere(startMs + ms + HOP_MS - nowMs, () => {
        thread.jobs -= 1;
        resolve(runBlsJob(this.#backend, job));
      }),
    );
  }
}

/**
 * Requests over the service's own queue of BLS jobs (`job-runner.ts`, `aggregation.ts`, and what batches jobs there) in time that passes at
 * once, for more threads than this machine has. Threads, event loop and network are models: each does one thing at a time, and a
 * thing takes as long as was measured. The same options give the same result.
 */
export async function simulateWorkers(options: WorkersOptions): Promise<WorkersResult> {
  const { threads: count, clients, durationMs } = options;
  const time = new MeteredTime();
  const scheme = createModelScheme(options.costs.hashMs !== undefined);
  const backend = options.costs.hashMs === undefined ? hashingWhenVerifying(scheme.backend) : scheme.backend;
  const loop = new Loop(time);
  const threads = new Threads(options, time, backend);
  const runner: JobRunner = createJobRunner({
    ...{ threads: count, concurrency: JOBS_PER_THREAD * count, maxQueued: 1_000_000 },
    execute: (job) => threads.run(job),
    close: async () => {},
  });
  const bls = createBlsService(runner, backend);
  const signers = Array.from({ length: options.signers }, (_, index) => {
    const publicKey = scheme.publicKey(index);
    return { index, publicKey, publicKeyHex: bytesToHex(publicKey) };
  });

  async function request(message: Uint8Array): Promise<void> {
    // As measured: about half before the answers and half with them and after.
    await loop.work(options.loopMs / 2);
    using aggregation = bls.startAggregation(message, never);
    const ofEach = options.loopMs / 4 / signers.length;
    await Promise.all(
      signers.map(async (signer) => {
        await new Promise<void>((resolve) => time.elsewhere(NETWORK_MS + 0.1 * signer.index, resolve));
        await loop.work(ofEach);
        await aggregation.add(signer, scheme.sign(signer.index, message), signer.index === signers.length - 1);
      }),
    );
    if (!(await aggregation.verify(await aggregation.aggregate(), message))) throw new Error('does not verify');
    await loop.work(options.loopMs / 4);
  }

  const done = new Array<number>(clients).fill(0);
  const failures: unknown[] = [];
  async function client(number: number): Promise<void> {
    for (let index = 0; ; index += 1) {
      await request(Buffer.from(`client ${number}, message ${index}`));
      if (time.nowMs > durationMs) done[number] = (done[number] ?? 0) + 1;
    }
  }
  for (let number = 0; number < clients; number += 1) client(number).catch((error: unknown) => failures.push(error));
  let idleWhileWaiting = 0;
  const isBroken = (): boolean => {
    if (runner.usage().waiting > 0 && threads.isAnyIdle) idleWhileWaiting += 1;
    return failures.length > 0;
  };
  await time.runUntil(durationMs, isBroken);
  const before = { loopMs: loop.busyMs, threadsMs: threads.busyMs };
  await time.runUntil(2 * durationMs, isBroken);
  if (failures.length > 0) throw failures[0];
  return {
    perSecond: (1_000 * done.reduce((sum, each) => sum + each, 0)) / durationMs,
    threadsBusy: Math.min(1, (threads.busyMs - before.threadsMs) / count / durationMs),
    loopBusy: Math.min(1, (loop.busyMs - before.loopMs) / durationMs),
    ...{ fewest: Math.min(...done), most: Math.max(...done) },
    ...{ longestWaitMs: threads.longestWaitMs, idleWhileWaiting },
  };
}

function costOf(job: BlsJob, costs: JobCosts): number {
  // oxlint-disable-next-line typescript/switch-exhaustiveness-check -- others are not run where all signatures are good
  switch (job.kind) {
    case 'hash':
      return costs.hashMs ?? 0;
    case 'add':
      return costOfAdd(job, costs) + (job.last?.message === undefined ? 0 : costs.checkMs);
    case 'addAll': {
      const checks = job.adds.filter(({ last }) => last?.message !== undefined).length;
      const checksMs = checks === 0 ? 0 : costs.checkMs + (checks - 1) * costs.furtherCheckMs;
      return job.adds.reduce((ms, add) => ms + costOfAdd(add, costs), checksMs);
    }
    case 'aggregate':
      return costs.aggregateMs + (job.message === undefined ? 0 : costs.checkMs);
    case 'verify':
      return costs.checkMs + (job.checks.length - 1) * costs.furtherCheckMs;
    default:
      throw new Error(`the cost of ${job.kind} is not known`);
  }
}

function costOfAdd({ slots, last }: BlsJobs['add']['input'], costs: JobCosts): number {
  return costs.addMs + slots.length * costs.addEachMs + (last === undefined ? 0 : costs.aggregateMs);
}

/** As blst does, which is handed the message itself. */
function hashingWhenVerifying(backend: BlsBackend): BlsBackend {
  return { ...backend, hashesWhenVerifying: true, unpackMessage: (message) => backend.hashToCurve(message) };
}
