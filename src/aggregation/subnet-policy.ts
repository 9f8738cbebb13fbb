import { PRIMARY_NETWORK_ID, type SubnetID } from '../warp/ids.ts';
import { AggregatorError, type RequestField } from './aggregator-error.ts';

export interface SubnetPolicyOptions {
  /** The operator's own subnets, whose validators are connected from the start. */
  readonly trackedSubnetIDs: readonly SubnetID[];
  /** Other subnets that clients may ask for; undefined allows all. */
  readonly allowedSubnetIDs: readonly SubnetID[] | undefined;
}

/**
 * Which subnets are the operator's own, and which clients may ask for. The primary network is always allowed, because it is connected
 * anyway, but tracked only if the operator names it.
 */
export interface SubnetPolicy {
  readonly tracked: ReadonlySet<SubnetID>;
  isTracked(subnetID: SubnetID): boolean;
  isAllowed(subnetID: SubnetID): boolean;
  /**
   * @param field that named the subnet; `signingSubnetID` by default
   * @throws {AggregatorError} `subnet_not_allowed`
   */
  requireAllowed(subnetID: SubnetID, field?: RequestField): void;
  /** Replaces the tracked subnets. */
  track(subnetIDs: readonly SubnetID[]): void;
}

export function createSubnetPolicy({ trackedSubnetIDs, allowedSubnetIDs }: SubnetPolicyOptions): SubnetPolicy {
  let tracked = new Set(trackedSubnetIDs);
  const allowed = allowedSubnetIDs && new Set([PRIMARY_NETWORK_ID, ...allowedSubnetIDs]);
  const isAllowed = (subnetID: SubnetID): boolean =>
    allowed === undefined || allowed.has(subnetID) || tracked.has(subnetID);
  return {
    isAllowed,
    get tracked() {
      return tracked;
    },
    isTracked: (subnetID) => tracked.has(subnetID),
    requireAllowed(subnetID, field = 'signingSubnetID') {
      if (isAllowed(subnetID)) return;
      throw new AggregatorError(
        'subnet_not_allowed',
        `this service does not ask the validators of subnet ${subnetID}`,
        { field },
      );
    },
    track(subnetIDs) {
      tracked = new Set(subnetIDs);
    },
  };
}
