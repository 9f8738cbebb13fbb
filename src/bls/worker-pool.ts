import { getCompileCacheDir } from 'node:module';
import { dirname } from 'node:path';
import type { Worker } from 'node:worker_threads';
import type { Clock } from '../primitives/clock.ts';
import { aborted, startDeadline } from '../primitives/deadline.ts';
import { once } from '../primitives/once.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { BlsJob, BlsJobKind, BlsJobResult } from './bls-jobs.ts';
import { createJobRunner, type JobRunner } from './job-runner.ts';
import { type BackendName, backendShape } from './load-backend.ts';

/**
 * An aggregation has at most a few jobs per thread, a hash and a check waiting, so this is enough for hundreds of
 * aggregations. More would be a bug: the number of requests is limited long before.
 */
const MAX_QUEUED = 10_000;
/** One that it works on, and the next one, so that it need not wait for it. */
export const JOBS_PER_THREAD = 2;
/** Of new objects. Numbers of a few words live for microseconds; V8's own choice lets a thread have up to 128 MB of them. */
const MAX_YOUNG_MB = 6;
/** A start takes a fraction of a second. One that hangs must not hold up the end of the process. */
const MAX_START_MS = 5_000;
/** A decoding takes a fraction of a millisecond, a check some milliseconds. */
const JOB_BUCKETS_SECONDS = [0.000_5, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];

export interface WorkerPool extends JobRunner {
  /** Starts the threads, which takes a tenth of a second of another core. The first job does so where nobody has. */
  start(): void;
}

/**
 * Worker threads, all with the backend of this name; a thread that dies fails its job and is replaced.
 *
 * @throws {NativeBackendMissing}
 */
export async function openWorkerPool(options: {
  readonly backend: BackendName;
  readonly workers: number;
  readonly clock: Clock;
  readonly metrics: Metrics;
}): Promise<WorkerPool> {
  // So that a missing backend is one error here, and not one in each thread.
  await backendShape(options.backend);
  const threads = options.workers;
  let isStarted = false;
  const pool = once(async () => {
    isStarted = true;
    const { Piscina } = await import('piscina');
    const made = new Piscina<BlsJob, BlsJobResult<BlsJobKind>>({
      filename: new URL('bls-thread.js', import.meta.url).href,
      workerData: { backend: options.backend, compiledCode: compiledCodeFolder() },
      resourceLimits: { maxYoungGenerationSizeMb: MAX_YOUNG_MB },
      minThreads: threads,
      maxThreads: threads,
      // Jobs wait in the queue before the pool, where obsolete ones can be dropped. The pool never has more than it can run.
      maxQueue: JOBS_PER_THREAD * threads,
      concurrentTasksPerWorker: JOBS_PER_THREAD,
      // We have a metric for it; its histograms are a megabyte.
      recordTiming: false,
    });
    return { made, starting: made.threads.map(untilStarted) };
  });
  const observe = declareJobDuration(options.metrics);
  const runner = createJobRunner({
    threads,
    concurrency: JOBS_PER_THREAD * threads,
    maxQueued: MAX_QUEUED,
    async execute(job) {
      const { made } = await pool();
      const startMs = options.clock.monotonicMs();
      const result = await made.run(job, { transferList: transferable(job) });
      observe(job.kind, (options.clock.monotonicMs() - startMs) / 1_000);
      return result;
    },
    close: async () => {
      if (!isStarted) return;
      const { made, starting } = await pool();
      // V8 may end the whole process where a thread is ended while it starts.
      using waiting = startDeadline(options.clock, MAX_START_MS, 'the start of the BLS threads');
      await Promise.race([Promise.all(starting), aborted(waiting.signal)]);
      await made.close();
    },
  });
  showUsage(options.metrics, runner);
  return {
    ...runner,
    // Where they cannot be loaded, the first job says so.
    start: () => void pool().catch(() => undefined),
  };
}

/** Resolves when a thread has loaded its program, of which it tells the pool by its first message, or has ended. */
function untilStarted(thread: Worker): Promise<void> {
  return new Promise((resolve) => {
    thread.once('message', () => resolve());
    thread.once('exit', () => resolve());
  });
}

/** Where the process keeps compiled code: a thread has to be told, and would load the compiler of types again. */
function compiledCodeFolder(): string | undefined {
  const directory = getCompileCacheDir();
  // Node names the folder of its own version within the one that it was given.
  return directory === undefined ? undefined : dirname(directory);
}

function declareJobDuration(metrics: Metrics): (kind: BlsJobKind, seconds: number) => void {
  const durations = metrics.histogram({
    name: 'bls_job_duration_seconds',
    help: 'Time of the jobs of the BLS threads by kind, the way there and back included',
    labels: ['kind'],
    buckets: JOB_BUCKETS_SECONDS,
  });
  return (kind, seconds) => durations.observe({ kind }, seconds);
}

function showUsage(metrics: Metrics, runner: JobRunner): void {
  metrics.readGauge({ name: 'bls_threads', help: 'Threads for BLS arithmetic' }, () => runner.threads);
  metrics.readGauge({ name: 'bls_jobs_running', help: 'BLS jobs that the threads have' }, () => runner.usage().running);
  metrics.readGauge(
    { name: 'bls_jobs_waiting', help: 'BLS jobs that wait for a thread' },
    () => runner.usage().waiting,
  );
  metrics.readGauge(
    { name: 'bls_jobs_waiting_limit', help: 'The most BLS jobs that may wait' },
    () => runner.usage().limit,
  );
}

/** Memory that this thread does not need any more once the job is on its way: it is moved instead of copied. */
function transferable(job: BlsJob): ArrayBuffer[] {
  if (job.kind === 'addAll') return job.adds.map(({ signatures }) => signatures.buffer);
  return job.kind === 'add' ? [job.signatures.buffer] : [];
}
