import { workerData } from 'node:worker_threads';
import { collectAllGarbage } from '../primitives/collect-garbage.ts';
import { type BlsJob, type BlsJobKind, type BlsJobResult, runBlsJob } from './bls-jobs.ts';
import { type BackendName, loadBackend } from './load-backend.ts';
import { lowerThreadPriority } from './thread-priority.ts';
import { warmUp } from './warm-up.ts';

/** The program of each thread of `worker-pool.ts`. */
lowerThreadPriority();
const backend = await loadBackend((workerData as { readonly backend: BackendName }).backend);
// Done at the start, when no request waits for this thread.
warmUp(backend);
collectAllGarbage();

export default async function runJob(job: BlsJob): Promise<BlsJobResult<BlsJobKind>> {
  // Loaded where it is needed, which in most threads is seldom or never.
  const { plainBackend } = job.isPlain ? await import('./plain-backend.ts') : { plainBackend: backend };
  return runBlsJob(plainBackend, job);
}
