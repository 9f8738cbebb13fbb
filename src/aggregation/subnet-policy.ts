import { PRIMARY_NETWORK_ID, type SubnetID } from '../warp/ids.ts';
import { AggregatorError, type RequestField } from './aggregator-error.ts';

export interface SubnetPolicyOptions {
  /** The operator's own subnets, whose validators are connected from the start. */
  readonly trackedSubnetIDs: readonly SubnetID[];
  /** Other subnets that clients may ask for; undefined allows all. */
  readonly allowedSubnetIDs: readonly SubnetID[] | undefined;
}

/** The operator's settings for subnets. */
export interface SubnetPolicy {
  readonly hasTracked: boolean;
  readonly tracked: ReadonlySet<SubnetID>;
  isTracked(subnetID: SubnetID): boolean;
  isAllowed(subnetID: SubnetID): boolean;
  requireAllowed(subnetID: SubnetID, field?: RequestField): void;
  track(subnetIDs: readonly SubnetID[]): void;
}

/** The primary network is always allowed, because it is connected anyway, but tracked only if the operator names it. */
export function createSubnetPolicy({ trackedSubnetIDs, allowedSubnetIDs }: SubnetPolicyOptions): SubnetPolicy {
  let tracked = new Set(trackedSubnetIDs);
  const allowed = allowedSubnetIDs && new Set([PRIMARY_NETWORK_ID, ...allowedSubnetIDs]);
  const isAllowed = (subnetID: SubnetID): boolean =>
    allowed === undefined || allowed.has(subnetID) || tracked.has(subnetID);
  return {
    isAllowed,
    get hasTracked() {
      return tracked.size > 0;
    },
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
