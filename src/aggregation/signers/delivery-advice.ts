import type { Epoch } from '../../pchain/rpc/chain-api.ts';
import type { AggregationResult } from '../request/aggregation-request.ts';
import { type DeliveryWarning, deliveryWarnings, expiryWarnings, unknownDestination } from './delivery-warnings.ts';
import type { SigningPlan } from './signing-plan.ts';
import type { SigningResolver } from './signing-resolver.ts';

/** What a client should know about the delivery of a message. It changes with time, so it is not cached with the result. */
export interface DeliveryAdvice {
  /** The destination's current epoch, if the request names a destination that has epochs. */
  readonly epoch: Epoch | undefined;
  readonly warnings: readonly DeliveryWarning[];
}

/**
 * Returns undefined if the request names no destination, and no warning is known for the message or the destination in it.
 *
 * @param nowMs Unix time
 */
export function deliveryAdvice(
  plan: SigningPlan,
  { signedWeight, pChainHeight }: AggregationResult,
  resolver: Pick<SigningResolver, 'knownTarget'>,
  nowMs: number,
): DeliveryAdvice | undefined {
  const { signingSubnetID, target, message, question } = plan;
  const { destination, likelyDestinationID } = question;
  const ofExpiry = expiryWarnings(message, nowMs);
  if (destination !== undefined && target === undefined) {
    return { epoch: undefined, warnings: [unknownDestination(destination.chainID), ...ofExpiry] };
  }
  // Without a destination of its own, a request does not wait for warnings.
  const known = target ?? (likelyDestinationID && resolver.knownTarget(likelyDestinationID, signingSubnetID));
  if (known === undefined) return ofExpiry.length === 0 ? undefined : { epoch: undefined, warnings: ofExpiry };
  // A shared result may have another height than the signers that were resolved last.
  const signed = { ...plan, sourceChainID: message.sourceChainID, signedWeight, pChainHeight };
  const warnings = [...deliveryWarnings(signed, known), ...ofExpiry];
  const epoch = target?.epoch.kind === 'read' ? target.epoch.epoch : undefined;
  return epoch === undefined && warnings.length === 0 ? undefined : { epoch, warnings };
}
