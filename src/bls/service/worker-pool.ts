import { getCompileCacheDir } from 'node:module';
import { dirname } from 'node:path';
import type { Clock } from '../../lib/concurrency/clock.ts';
import { aborted, startDeadline } from '../../lib/concurrency/deadline.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import type { BackendName } from '../backends/load-backend.ts';
import type { BlsJobKind } from './bls-jobs.ts';
import type { BlsThreads } from './job-queue.ts';
import { JobThread } from './job-thread.ts';

/** The running job and the next one, so that the thread is not idle between them. */
const JOBS_PER_THREAD = 2;
/** Megabytes of new objects. Numbers of a few words live for microseconds; V8's own choice lets a thread have up to 128 MB of them. */
const MAX_YOUNG_MB = 6;
/** A start takes a fraction of a second. One that hangs must not hold up the end of the process. */
const MAX_START_MS = 5_000;
/** A decoding takes a fraction of a millisecond, a check some milliseconds. */
const JOB_BUCKETS_SECONDS = [0.000_5, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];

/** The layer of threads. Disposing of it ends them, with the jobs that they have. */
export interface WorkerPool extends BlsThreads, AsyncDisposable {
  /** Starts the threads. Otherwise the first job starts them. */
  start(): void;
}

/** Worker threads, all with the backend of this name; a thread that dies fails its jobs and is replaced. */
export function openWorkerPool(options: {
  readonly backend: BackendName;
  readonly workers: number;
  readonly clock: Clock;
  readonly metrics: Metrics;
}): WorkerPool {
  const { backend, workers, clock } = options;
  const threads: (JobThread | undefined)[] = Array.from({ length: workers });
  const open = (): JobThread =>
    new JobThread(new URL('bls-thread.js', import.meta.url), {
      workerData: { backend, compiledCode: compiledCodeFolder() },
      resourceLimits: { maxYoungGenerationSizeMb: MAX_YOUNG_MB },
    });
  /** Returns the thread with the fewest jobs; a thread that has ended is replaced. */
  const choose = (): JobThread => {
    for (const [place, thread] of threads.entries()) if (thread === undefined || thread.isOver) threads[place] = open();
    return (threads as JobThread[]).reduce((least, thread) => (thread.load < least.load ? thread : least));
  };
  const observe = declareJobDuration(options.metrics);
  return {
    threads: workers,
    concurrency: JOBS_PER_THREAD * workers,
    start: () => void choose(),
    async execute(job) {
      const startMs = clock.monotonicMs();
      const result = await choose().post(job);
      observe(job.kind, (clock.monotonicMs() - startMs) / 1_000);
      return result;
    },
    [Symbol.asyncDispose]: () =>
      endAll(
        threads.filter((thread) => thread !== undefined),
        clock,
      ),
  };
}

async function endAll(threads: readonly JobThread[], clock: Clock): Promise<void> {
  if (threads.length === 0) return;
  // V8 may end the whole process if a thread is ended while it starts.
  using waiting = startDeadline(clock, MAX_START_MS, 'the start of the BLS threads');
  await Promise.race([Promise.all(threads.map(({ started }) => started)), aborted(waiting.signal)]);
  await Promise.all(threads.map((thread) => thread.end()));
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
