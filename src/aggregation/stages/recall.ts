import type { Clock } from '../../lib/concurrency/clock.ts';
import type { Stage } from '../../lib/concurrency/stages.ts';
import type { AggregatorMetrics } from '../aggregator-metrics.ts';
import type { AggregationResult } from '../request/aggregation-request.ts';
import type { ResultCache } from '../results/result-cache.ts';
import { signingQuestion } from '../signers/signing-question.ts';
import type { SigningResolver } from '../signers/signing-resolver.ts';
import type { SubnetPolicy } from '../subnet-policy.ts';
import { type AskedCall, advise, reportPhase } from './calls.ts';

export interface RecallOptions {
  readonly resolver: Pick<SigningResolver, 'known' | 'knownTarget'>;
  readonly results: Pick<ResultCache, 'result'>;
  readonly subnets: Pick<SubnetPolicy, 'isAllowed'>;
  readonly clock: Clock;
  readonly metrics: Pick<AggregatorMetrics, 'observePhase'>;
}

/** Answers from memory, without any wait. What is not there costs the caller units, which may refuse it. */
export function recall(options: RecallOptions): Stage<AskedCall, AggregationResult> {
  const { resolver, results, subnets, clock, metrics } = options;

  function find({ request, caller }: AskedCall): AggregationResult | undefined {
    const { subject } = request;
    if (subject.kind !== 'message') return undefined;
    const plan = resolver.known(signingQuestion(request, subject));
    if (plan === undefined || !subnets.isAllowed(plan.signingSubnetID)) return undefined;
    const result = results.result(plan);
    if (result === undefined) return undefined;
    advise(caller, plan, result, options);
    return result;
  }

  return (next) => async (call) => {
    const { caller } = call;
    const startMs = clock.monotonicMs();
    const result = find(call);
    if (result !== undefined) {
      const tookMs = clock.monotonicMs() - startMs;
      metrics.observePhase('resolve', tookMs / 1_000);
      reportPhase(call, 'resolve', tookMs);
      caller.span?.child('resolve').end();
      return result;
    }
    await caller.onCacheMiss?.();
    caller.signal.throwIfAborted();
    return await next(call);
  };
}
