import type { Clock } from '../../lib/concurrency/clock.ts';
import type { Stage } from '../../lib/concurrency/stages.ts';
import type { ValidationIndex } from '../../pchain/state/validation-index.ts';
import { quorumWeight } from '../../validators/quorum.ts';
import type { WarpValidator } from '../../validators/warp-set.ts';
import type { NodeID } from '../../warp/ids.ts';
import { registrationValidationID } from '../../warp/l1-message.ts';
import type { AggregatorError } from '../aggregator-error.ts';
import type { AggregatorMetrics } from '../aggregator-metrics.ts';
import { NO_FINAL_REFUSALS, summarizeUnasked } from '../collection/tally.ts';
import type { AggregationResult } from '../request/aggregation-request.ts';
import { type ResultCache, toError } from '../results/result-cache.ts';
import type { SigningPlan } from '../signers/signing-plan.ts';
import type { SigningResolver } from '../signers/signing-resolver.ts';
import { endedRegistration } from '../transactions/l1-justification.ts';
import type { SignatureSource } from '../validators/signature-source.ts';
import { advise, type Caller, type PlannedCall, type Wait } from './calls.ts';

export interface RememberedOptions {
  readonly results: Pick<ResultCache, 'result' | 'failure' | 'pendingRegistration'>;
  readonly source: Pick<SignatureSource, 'isConnected' | 'whyUnreachable'>;
  readonly resolver: Pick<SigningResolver, 'knownTarget'>;
  /** Finds registrations that the P-Chain has accepted. */
  readonly index?: Pick<ValidationIndex, 'hasOrigin'> | undefined;
  readonly clock: Clock;
  readonly metrics: Pick<AggregatorMetrics, 'rememberedFailures'>;
}

/** Answers what needs no validator: a result or a failure in memory, or a quorum that is out of reach for want of keys. */
export function remembered(options: RememberedOptions): Stage<PlannedCall, AggregationResult> {
  const { results, source, index, clock, metrics } = options;

  function unreachableQuorum(plan: SigningPlan): AggregatorError | undefined {
    const { warpSet, quorumNum } = plan;
    const { totalWeight, keyless } = warpSet;
    if (totalWeight - keyless.weight >= quorumWeight(quorumNum, totalWeight)) return undefined;
    const whyUnreachable = ({ nodeIDs }: WarpValidator): string | undefined =>
      nodeIDs.some((nodeID) => source.isConnected(nodeID)) ? undefined : source.whyUnreachable(nodeIDs[0] as NodeID);
    const summary = summarizeUnasked(plan, whyUnreachable);
    return toError(plan, { kind: 'insufficient', summary, ...NO_FINAL_REFUSALS }, clock.now());
  }

  /** Returns the failure of an equal request, except one that may pass while this one waits. */
  function recentFailure(plan: SigningPlan, wait: Wait): AggregatorError | undefined {
    const failure = results.failure(plan);
    if (failure === undefined || (clock.monotonicMs() < wait.untilMs && isPassing(failure))) return undefined;
    metrics.rememberedFailures.inc({ code: failure.code });
    return failure;
  }

  /** Returns the failure of an equal request whose registration the P-Chain has not accepted since. */
  async function pendingRegistration(plan: SigningPlan, { signal }: Caller): Promise<AggregatorError | undefined> {
    if (results.pendingRegistration(plan, false) === undefined) return undefined;
    const registration = endedRegistration(plan);
    const isRegistered = registration && (await index?.hasOrigin(registrationValidationID(registration), signal));
    const failure = results.pendingRegistration(plan, isRegistered);
    if (failure !== undefined) metrics.rememberedFailures.inc({ code: failure.code });
    return failure;
  }

  return (next) => async (call) => {
    const { plan, caller, wait } = call;
    const result = results.result(plan);
    if (result !== undefined) {
      advise(caller, plan, result, options);
      return result;
    }
    const failure = unreachableQuorum(plan) ?? recentFailure(plan, wait) ?? (await pendingRegistration(plan, caller));
    if (failure !== undefined) throw failure;
    return await next(call);
  };
}

/** Whether time may change the failure: a later block, or another connection. */
function isPassing({ code }: AggregatorError): boolean {
  return code === 'insufficient_weight' || code === 'not_connected';
}

/** Charges the caller for the work, which is known now. */
export function charge(): Stage<PlannedCall, AggregationResult> {
  return (next) => async (call) => {
    const { plan, caller } = call;
    await caller.onSigners?.(plan.warpSet.validators.length, plan.message.bytes.length);
    return await next(call);
  };
}
