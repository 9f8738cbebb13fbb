import type { Stage } from '../../lib/concurrency/stages.ts';
import type { Job, JobEnd } from '../collection/job.ts';

/**
 * Waits while a message is not yet signed and may be, because validators have accepted its block and not executed it. The job holds no
 * permit then, and two validators at a time are asked. After one has signed, all that is known goes into one more collection.
 */
export function awaitExecution(): Stage<Job, JobEnd> {
  return (next) => async (job) => {
    for (;;) {
      const end = await next(job);
      if (end.kind !== 'not yet') return end;
      await job.collection.awaitExecution(job.permit);
    }
  };
}
