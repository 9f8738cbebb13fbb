import type { BlsBackend } from '../../../../src/bls/backends/bls-backend.ts';
import { type BlsService, createBlsService } from '../../../../src/bls/service/aggregation.ts';
import { runBlsJob } from '../../../../src/bls/service/bls-jobs.ts';
import { createJobRunner, type JobRunner } from '../../../../src/bls/service/job-runner.ts';

/** The jobs of threads in the test's own, one a turn of the event loop, so that a test sees no other order than this one. */
export function createInlineRunner(
  backend: BlsBackend,
  start: Promise<unknown> = Promise.resolve(),
  threads = 1,
): JobRunner {
  return createJobRunner({
    threads,
    concurrency: threads,
    maxQueued: 1_000,
    async execute(job) {
      await start;
      await new Promise((resolve) => setImmediate(resolve));
      return runBlsJob(backend, structuredClone(job));
    },
    close: async () => {},
  });
}

/** @param start when the first job ends, and no other begins before */
export function createInlineBls(backend: BlsBackend, start?: Promise<unknown>): BlsService {
  return createBlsService(createInlineRunner(backend, start), backend);
}
