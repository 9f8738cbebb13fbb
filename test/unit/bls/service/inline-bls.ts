import type { BlsBackend } from '../../../../src/bls/backends/bls-backend.ts';
import { runBlsJob } from '../../../../src/bls/service/bls-jobs.ts';
import { type BlsService, createBlsService } from '../../../../src/bls/service/bls-service.ts';
import { JobQueue } from '../../../../src/bls/service/job-queue.ts';

/** A queue whose jobs run in the thread of the test, one a turn of the event loop, so that their order is always the same. */
export function createInlineQueue(
  backend: BlsBackend,
  start: Promise<unknown> = Promise.resolve(),
  threads = 1,
): JobQueue {
  return new JobQueue({
    threads,
    concurrency: threads,
    async execute(job) {
      await start;
      await new Promise((resolve) => setImmediate(resolve));
      return runBlsJob(backend, structuredClone(job));
    },
  });
}

/** @param start when the first job ends, and no other begins before */
export function createInlineBls(backend: BlsBackend, start?: Promise<unknown>): BlsService {
  return createBlsService(createInlineQueue(backend, start), backend);
}
