import { getCompileCacheDir } from 'node:module';
import { dirname } from 'node:path';
import type { Clock } from '../../lib/concurrency/clock.ts';
import { aborted, startDeadline } from '../../lib/concurrency/deadline.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { type BackendName, loadBackend } from '../backends/load-backend.ts';
import type { BlsJobKind } from './bls-jobs.ts';
import { createJobRunner, type JobRunner } from './job-runner.ts';
import { JobThread } from './job-thread.ts';

/**
 * An aggregation has at most a few jobs per thread, a hash and a check waiting, so this is enough for hundreds of
 * aggregations. More would be a bug: the number of requests is limited long before.
 */
const MAX_QUEUED = 10_000;
/** One that it works on, and the next one, so that it need not wait for it. */
const JOBS_PER_THREAD = 2;
/** Megabytes of new objects. Numbers of a few words live for microseconds; V8's own choice lets a thread have up to 128 MB of them. */
const MAX_YOUNG_MB = 6;
/** A start takes a fraction of a second. One that hangs must not hold up the end of the process. */
const MAX_START_MS = 5_000;
/** A decoding takes a fraction of a millisecond, a check some milliseconds. */
const JOB_BUCKETS_SECONDS = [0.000_5, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];

export interface WorkerPool extends JobRunner {
  /** Starts the threads, which takes a tenth of a second of another core. The first job does so otherwise. */
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
  await loadBackend(options.backend);
  const threads: (JobThread | undefined)[] = Array.from({ length: options.workers });
  const open = (): JobThread =>
    new JobThread(new URL('bls-thread.js', import.meta.url), {
      workerData: { backend: options.backend, compiledCode: compiledCodeFolder() },
      resourceLimits: { maxYoungGenerationSizeMb: MAX_YOUNG_MB },
    });
  /** The one with the fewest jobs. One that has died is replaced. */
  const choose = (): JobThread => {
    for (const [place, thread] of threads.entries()) if (thread === undefined || thread.isOver) threads[place] = open();
    return (threads as JobThread[]).reduce((least, thread) => (thread.load < least.load ? thread : least));
  };
  const observe = declareJobDuration(options.metrics);
  const runner = createJobRunner({
    threads: options.workers,
    concurrency: JOBS_PER_THREAD * options.workers,
    maxQueued: MAX_QUEUED,
    async execute(job) {
      const startMs = options.clock.monotonicMs();
      const result = await choose().run(job);
      observe(job.kind, (options.clock.monotonicMs() - startMs) / 1_000);
      return result;
    },
    close: async () => {
      const open = threads.filter((thread) => thread !== undefined);
      if (open.length === 0) return;
      // V8 may end the whole process if a thread is ended while it starts.
      using waiting = startDeadline(options.clock, MAX_START_MS, 'the start of the BLS threads');
      await Promise.race([Promise.all(open.map(({ started }) => started)), aborted(waiting.signal)]);
      await Promise.all(open.map((thread) => thread.end()));
    },
  });
  showUsage(options.metrics, runner);
  return {
    ...runner,
    start: () => void choose(),
  };
}

/** Where the process keeps compiled code: a thread needs it, and would load the compiler of types again. */
function compiledCodeFolder(): string | undefined {
  const directory = getCompileCacheDir();
  // Node names the folder of its version within the one that it was given.
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
