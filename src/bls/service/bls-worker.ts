import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { nextTurn, systemClock } from '../../lib/concurrency/clock.ts';
import { type BackendName, loadBackend } from '../backends/load-backend.ts';
import { type BlsJob, runBlsJob } from './bls-jobs.ts';
import type { JobOutcome, JobThreadData } from './job-thread.ts';
import { lowerThreadPriority } from './thread-priority.ts';
import { warmUp } from './warm-up.ts';

if (parentPort === null) throw new Error('the program of a thread');
const port = parentPort;
const { backend: name, posted } = workerData as JobThreadData & { readonly backend: BackendName };

/** The program of each thread of `worker-pool.ts`. */
lowerThreadPriority();
const backend = await loadBackend(name);
// Done at the start, when no request waits for this thread.
warmUp(backend);
port.postMessage('loaded');
void doJobs();

/** Until the thread is ended. */
async function doJobs(): Promise<void> {
  for (;;) {
    const seen = Atomics.load(posted, 0);
    const received = receiveMessageOnPort(port);
    if (received !== undefined) {
      port.postMessage(await outcomeOf(received.message as BlsJob));
      continue;
    }
    // Memory that native code holds for garbage is freed by the event loop of the thread.
    await nextTurn(systemClock);
    Atomics.wait(posted, 0, seen);
  }
}

async function outcomeOf(job: BlsJob): Promise<JobOutcome> {
  try {
    if (!job.isPlain) return { result: runBlsJob(backend, job) };
    // Loaded on demand: most threads never need it.
    const { plainBackend } = await import('../backends/plain-backend.ts');
    return { result: runBlsJob(plainBackend, job) };
  } catch (error) {
    return { error };
  }
}
