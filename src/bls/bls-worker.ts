import { workerData } from 'node:worker_threads';
import { collectGarbage } from '../primitives/collect-garbage.ts';
import { type BlsJob, type BlsJobKind, type BlsJobResult, runBlsJob } from './bls-jobs.ts';
import { type BackendName, loadBackend } from './load-backend.ts';
import { warmUp } from './warm-up.ts';

/** The program of each thread of `worker-pool.ts`. */
const backend = await loadBackend((workerData as { readonly backend: BackendName }).backend);
// Done at the start, when no request waits for this thread.
warmUp(backend);
collectGarbage();

export default function runJob(job: BlsJob): BlsJobResult<BlsJobKind> {
  return runBlsJob(backend, job);
}
