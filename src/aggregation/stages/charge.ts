import type { Stage } from '../../lib/concurrency/stages.ts';
import type { AggregationResult } from '../request/aggregation-request.ts';
import type { PlannedCall } from './calls.ts';

/** Charges the caller for the work, which is known now. */
export function charge(): Stage<PlannedCall, AggregationResult> {
  return (next) => async (call) => {
    const { plan, caller } = call;
    await caller.onSigners?.(plan.warpSet.validators.length, plan.message.bytes.length);
    return await next(call);
  };
}
