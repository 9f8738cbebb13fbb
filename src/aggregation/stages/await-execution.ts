import type { Handler, Stage } from '../../lib/concurrency/stages.ts';
import type { Job, JobEnd } from '../collection/job.ts';

/**
 * Waits while only validators that refuse could bring the quorum, because they have accepted the message's block and not executed it. The
 * job holds no permit for CPU or to be in flight then, and some of them are asked again (`planProbes`). After one has signed, all that is
 * known goes into another collection.
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

/** Asks validators, adds up their signatures and verifies the sum. */
export function collect(): Handler<Job, JobEnd> {
  return ({ collection, permit }) => collection.collect(permit);
}
