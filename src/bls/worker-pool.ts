import { Piscina } from 'piscina';
import type { BlsJob, BlsJobKind, BlsJobResult } from './bls-jobs.ts';
import { createJobRunner, type JobRunner } from './job-runner.ts';
import type { BackendName } from './load-backend.ts';
import { loadBackend } from './load-backend.ts';

/**
 * An aggregation has at most a few jobs per thread, a hash and a check waiting, so this is enough for hundreds of
 * aggregations. More would be a bug: the number of requests is limited long before.
 */
const MAX_QUEUED = 10_000;
/** One that it works on, and the next one, so that it need not wait for it. */
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
  // So that a missing backend is one error here, and not one in each thread.
  await loadBackend(options.backend);
  const threads = options.workers;
  const pool = new Piscina<BlsJob, BlsJobResult<BlsJobKind>>({
    filename: new URL('bls-worker.ts', import.meta.url).href,
    workerData: { backend: options.backend },
    minThreads: threads,
    maxThreads: threads,
    // Jobs wait in the queue before the pool, where obsolete ones can be dropped. The pool never has more than it can run.
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

/** Memory that this thread does not need any more once the job is on its way: it is moved instead of copied. */
function transferable(job: BlsJob): ArrayBuffer[] {
  return job.kind === 'add' ? [job.signatures.buffer] : [];
}
