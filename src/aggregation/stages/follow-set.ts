import type { Clock } from '../../lib/concurrency/clock.ts';
import type { Stage } from '../../lib/concurrency/stages.ts';
import { inSpan, NO_SPAN } from '../../telemetry/spans.ts';
import { warpSetHash } from '../../validators/warp-set-hash.ts';
import type { AggregationResult } from '../request/aggregation-request.ts';
import type { SigningPlan } from '../signers/signing-plan.ts';
import type { SigningResolver } from '../signers/signing-resolver.ts';
import { advise, type PlannedCall } from './calls.ts';

/** A request follows two changes of the set. */
const MAX_REBUILDS = 2;

export interface FollowSetOptions {
  readonly resolver: Pick<SigningResolver, 'resolveAgain' | 'knownTarget'>;
  readonly clock: Clock;
}

/**
 * Signs again if the set at the proposed height changed while the message was signed: the signer bits would name other validators. Most
 * signatures are stored by then.
 */
export function followSet(options: FollowSetOptions): Stage<PlannedCall, AggregationResult> {
  const { resolver } = options;
  return (next) => async (call) => {
    const { signal, span = NO_SPAN } = call.caller;
    const isPinned = call.plan.question.pChainHeight !== 0n;
    let { plan } = call;
    for (let rebuilds = 0; ; rebuilds += 1) {
      const result = await next({ ...call, plan });
      const before = plan;
      if (!isPinned && rebuilds < MAX_REBUILDS) {
        plan = await inSpan(span.child('resolve again'), () => resolver.resolveAgain(before, signal));
        if (signersOf(plan) !== signersOf(before)) continue;
      }
      advise(call.caller, plan, result, options);
      return result;
    }
  };
}

/** Equal if a message that was signed for one plan is valid for the other. */
function signersOf({ warpSet, signingSubnetID, quorumNum }: SigningPlan): string {
  return `${signingSubnetID} ${quorumNum} ${warpSetHash(warpSet)}`;
}
