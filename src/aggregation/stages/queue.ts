import type { Stage } from '../../lib/concurrency/stages.ts';
import type { Penalties } from '../admission/penalties.ts';
import type { RunningJobs } from '../admission/running-jobs.ts';
import type { AggregationResult } from '../request/aggregation-request.ts';
import type { PlannedCall } from './calls.ts';

export interface QueueOptions {
  readonly jobs: Pick<RunningJobs, 'has' | 'onStart'>;
  readonly penalties: Pick<Penalties, 'requireSignable'>;
}

/**
 * Waits in the caller's own place for the permits of a job, or until an equal request's job runs. Messages are public: in a common place
 * a bridge would wait behind the queue of a client that has posted its message first.
 */
export function queue({ jobs, penalties }: QueueOptions): Stage<PlannedCall, AggregationResult> {
  return (next) => async (call) => {
    const { plan, caller } = call;
    using place = call.place;
    // Again where the equal job that ended the wait is over by now.
    for (let hasPermits = false; !hasPermits && !jobs.has(plan.key); ) {
      const joining = new AbortController();
      using _ = jobs.onStart(plan.key, () => joining.abort(JOINED));
      try {
        await place.acquire(caller.signal, joining.signal);
        penalties.requireSignable(caller.client, plan.message.sourceChainID);
        hasPermits = true;
      } catch (error) {
        caller.signal.throwIfAborted();
        if (error !== JOINED) throw error;
      }
    }
    return await next(call);
  };
}

/** Shared: a new error would capture a stack for each request. */
const JOINED = new DOMException('an equal request began', 'AbortError');
