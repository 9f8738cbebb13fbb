import { Piscina } from 'piscina';
import type { BlsJob, BlsJobKind, BlsJobResult } from './bls-jobs.ts';
import { createJobRunner, type JobRunner } from './job-runner.ts';
import type { BackendName } from './load-backend.ts';
import { loadBackend } from './load-backend.ts';

/**
 * Each aggregation has at most a job for every thread, a hash and a check waiting, so that this is for hundreds of them: more
 * is a mistake of ours.
 */
const MAX_QUEUED = 10_000;
/** One to work on, and the next one at hand. */
const JOBS_PER_THREAD = 2;

/**
 * Worker threads, all with the backend of this name; a thread that dies fails its job and is replaced.
 *
 * @throws {NativeBackendMissing}
 */
export async function startWorkerPool(options: {
  readonly backend: BackendName;
  readonly workers: number;
}): Promise<JobRunner> {
  // A backend that cannot be loaded is refused here and now, and not by each thread.
  await loadBackend(options.backend);
  const threads = options.workers;
  const pool = new Piscina<BlsJob, BlsJobResult<BlsJobKind>>({
    filename: new URL('bls-worker.ts', import.meta.url).href,
    workerData: { backend: options.backend },
    minThreads: threads,
    maxThreads: threads,
    // The queue stands before the pool, where obsolete jobs can be left out.
    maxQueue: JOBS_PER_THREAD * threads,
    concurrentTasksPerWorker: JOBS_PER_THREAD,
  });
  return createJobRunner({
    threads,
    concurrency: JOBS_PER_THREAD * threads,
    maxQueued: MAX_QUEUED,
    execute: (job) => pool.run(job, { transferList: transferable(job) }),
    close: () => pool.close(),
  });
}

/** What nobody needs here once the job is on its way. */
function transferable(job: BlsJob): ArrayBuffer[] {
  return job.kind === 'add' ? [job.signatures.buffer] : [];
}
