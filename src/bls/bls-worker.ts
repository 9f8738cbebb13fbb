import { workerData } from 'node:worker_threads';
import { type BlsJob, type BlsJobKind, type BlsJobResult, runBlsJob } from './bls-jobs.ts';
import { type BackendName, loadBackend } from './load-backend.ts';
import { warmUp } from './warm-up.ts';

/** What each thread of `worker-pool.ts` runs. */
const backend = await loadBackend((workerData as { readonly backend: BackendName }).backend);
// While the service starts, nobody waits for it.
warmUp(backend);

export default function runJob(job: BlsJob): BlsJobResult<BlsJobKind> {
  return runBlsJob(backend, job);
}
