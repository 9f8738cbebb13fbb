import type { Clock } from '../../lib/concurrency/clock.ts';
import type { Handler } from '../../lib/concurrency/stages.ts';
import { inSpan, NO_SPAN } from '../../telemetry/spans.ts';
import type { Admission } from '../admission/admission.ts';
import type { Lookups } from '../admission/lookups.ts';
import type { AggregatorMetrics } from '../aggregator-metrics.ts';
import type { AggregationResult } from '../request/aggregation-request.ts';
import type { SigningPlan } from '../signers/signing-plan.ts';
import { questionKey, type SigningQuestion, signingQuestion } from '../signers/signing-question.ts';
import type { SigningResolver } from '../signers/signing-resolver.ts';
import type { SubnetPolicy } from '../subnet-policy.ts';
import { type AskedCall, type Caller, type PlannedCall, reportPhase } from './calls.ts';

export interface ResolveOptions {
  readonly resolver: Pick<SigningResolver, 'isDestinationKnown' | 'known' | 'knownSigningSubnet' | 'resolve'>;
  readonly admission: Pick<Admission, 'placeFor'>;
  readonly lookups: Lookups;
  readonly subnets: Pick<SubnetPolicy, 'isAllowed' | 'isTracked' | 'requireAllowed'>;
  readonly clock: Clock;
  readonly metrics: Pick<AggregatorMetrics, 'observePhase'>;
}

/** Turns what a client asks for into a plan: who signs, with which quorum, at which height. */
export function resolve(
  options: ResolveOptions,
  next: Handler<PlannedCall, AggregationResult>,
): Handler<AskedCall, AggregationResult> {
  const { resolver, admission, lookups, subnets, clock, metrics } = options;

  async function findPlan(question: SigningQuestion, { signal, client }: Caller): Promise<SigningPlan> {
    const known = resolver.known(question);
    if (known !== undefined && subnets.isAllowed(known.signingSubnetID)) return known;
    const { signingSubnetID: given, destination } = question;
    if (given !== undefined) subnets.requireAllowed(given);
    const subnetID = resolver.knownSigningSubnet(question);
    if (subnetID !== undefined) subnets.requireAllowed(subnetID);
    const find = (until: AbortSignal): Promise<SigningPlan> =>
      resolver.resolve(question, until, (signingSubnetID) => subnets.requireAllowed(signingSubnetID));
    // Without a permit: concurrent requests share the reading of the proposed height and of its validators.
    if (subnetID !== undefined && question.pChainHeight === 0n && destination === undefined) return await find(signal);
    const lookup = {
      client,
      subnetID: subnetID ?? (given !== undefined && subnets.isTracked(given) ? given : undefined),
      mayFindNothing: subnetID === undefined || !resolver.isDestinationKnown(question),
    };
    return await lookups.run(questionKey(question), lookup, find, signal);
  }

  return async (call) => {
    const { request, caller, wait } = call;
    const { subject } = request;
    if (subject.kind !== 'message') throw new Error(`the message of a ${subject.kind} is found before its signers`);
    const startMs = clock.monotonicMs();
    let plan: SigningPlan;
    try {
      plan = await inSpan((caller.span ?? NO_SPAN).child('resolve'), async () =>
        findPlan(signingQuestion(request, subject), caller),
      );
    } finally {
      const tookMs = clock.monotonicMs() - startMs;
      metrics.observePhase('resolve', tookMs / 1_000);
      reportPhase(call, 'resolve', tookMs);
    }
    caller.onResolved?.(plan);
    const { message, justification, signingSubnetID } = plan;
    const bytes = message.bytes.length + justification.length;
    const place = admission.placeFor({ client: caller.client, subnetID: signingSubnetID }, bytes);
    return await next({ plan, caller, wait, place });
  };
}
