import { PRIMARY_NETWORK_ID, type SubnetID } from '../warp/ids.ts';
import { AggregatorError, type RequestField } from './aggregator-error.ts';

export interface SubnetPolicyOptions {
  /** The operator's own subnets, whose validators are connected from the start. */
  readonly trackedSubnetIDs: readonly SubnetID[];
  /** Other subnets that clients may ask for; undefined allows all. */
  readonly allowedSubnetIDs: readonly SubnetID[] | undefined;
}

/** The primary network is always allowed, because it is connected anyway, but tracked only if the operator names it. */
export function createSubnetPolicy({ trackedSubnetIDs, allowedSubnetIDs }: SubnetPolicyOptions) {
  let tracked = new Set(trackedSubnetIDs);
  const allowed = allowedSubnetIDs && new Set([PRIMARY_NETWORK_ID, ...allowedSubnetIDs]);
  const isAllowed = (subnetID: SubnetID): boolean =>
    allowed === undefined || allowed.has(subnetID) || tracked.has(subnetID);
  return {
    isAllowed,
    get tracked(): ReadonlySet<SubnetID> {
      return tracked;
    },
    isTracked: (subnetID: SubnetID): boolean => tracked.has(subnetID),
    /** @param field that named the subnet */
    requireAllowed(subnetID: SubnetID, field: RequestField = 'signingSubnetID'): void {
      if (isAllowed(subnetID)) return;
      throw new AggregatorError(
        'subnet_not_allowed',
        `this service does not ask the validators of subnet ${subnetID}`,
        { field },
      );
    },
    track(subnetIDs: readonly SubnetID[]): void {
      tracked = new Set(subnetIDs);
    },
  };
}

export type SubnetPolicy = ReturnType<typeof createSubnetPolicy>;
