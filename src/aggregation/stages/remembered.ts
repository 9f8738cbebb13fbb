import type { Clock } from '../../lib/concurrency/clock.ts';
import type { Stage } from '../../lib/concurrency/stages.ts';
import { quorumWeight } from '../../validators/quorum.ts';
import type { WarpValidator } from '../../validators/warp-set.ts';
import type { NodeID } from '../../warp/ids.ts';
import type { AggregatorError } from '../aggregator-error.ts';
import type { AggregatorMetrics } from '../aggregator-metrics.ts';
import { summarizeUnasked } from '../collection/tally.ts';
import type { AggregationResult } from '../request/aggregation-request.ts';
import { type ResultCache, toError } from '../results/result-cache.ts';
import type { SigningPlan } from '../signers/signing-plan.ts';
import type { SigningResolver } from '../signers/signing-resolver.ts';
import type { SignatureSource } from '../validators/signature-source.ts';
import { advise, type PlannedCall, type Wait } from './calls.ts';

export interface RememberedOptions {
  readonly results: Pick<ResultCache, 'result' | 'failure'>;
  readonly source: Pick<SignatureSource, 'isConnected' | 'whyUnreachable'>;
  readonly resolver: Pick<SigningResolver, 'knownTarget'>;
  readonly clock: Clock;
  readonly metrics: Pick<AggregatorMetrics, 'rememberedFailures'>;
}

/** Answers what needs no validator: a result or a failure in memory, or a quorum that is out of reach for want of keys. */
export function remembered(options: RememberedOptions): Stage<PlannedCall, AggregationResult> {
  const { results, source, resolver, clock, metrics } = options;

  function unreachableQuorum(plan: SigningPlan): AggregatorError | undefined {
    const { warpSet, quorumNum } = plan;
    const { totalWeight, keyless } = warpSet;
    if (totalWeight - keyless.weight >= quorumWeight(quorumNum, totalWeight)) return undefined;
    const whyUnreachable = ({ nodeIDs }: WarpValidator): string | undefined =>
      nodeIDs.some((nodeID) => source.isConnected(nodeID)) ? undefined : source.whyUnreachable(nodeIDs[0] as NodeID);
    return toError(plan, { kind: 'insufficient', summary: summarizeUnasked(plan, whyUnreachable), refusedForGood: 0n });
  }

  /** Returns the failure of an equal request, except one that may pass while this one waits. */
  function recentFailure(plan: SigningPlan, wait: Wait): AggregatorError | undefined {
    const failure = results.failure(plan);
    if (failure === undefined || (clock.monotonicMs() < wait.untilMs && isPassing(failure))) return undefined;
    metrics.rememberedFailures.inc({ code: failure.code });
    return failure;
  }

  return (next) => async (call) => {
    const { plan, caller, wait } = call;
    const result = results.result(plan);
    if (result !== undefined) {
      advise(caller, plan, result, resolver);
      return result;
    }
    const failure = unreachableQuorum(plan) ?? recentFailure(plan, wait);
    if (failure !== undefined) throw failure;
    return await next(call);
  };
}

/** Whether time may change the failure: a later block, or another connection. */
function isPassing({ code }: AggregatorError): boolean {
  return code === 'insufficient_weight' || code === 'not_connected';
}
