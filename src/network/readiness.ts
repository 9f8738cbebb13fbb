import { describeMissingWeight } from '../aggregation/validators/missing-weight.ts';
import type { SubnetReadiness } from '../aggregation/validators/required-subnets.ts';
import type { NetworkStatus } from './network.ts';

export interface NetworkView {
  /** Undefined once the network is open. `isApiWrong`: the API does not respond, or belongs to another network. */
  readonly notOpen: { readonly reason: string; readonly isApiWrong: boolean } | undefined;
  /** The primary network first. */
  readonly subnets: readonly SubnetReadiness[];
  /** Set if the P-Chain API has not answered for some time. */
  readonly apiProblem: string | undefined;
  readonly hasBeenUp: boolean;
  readonly sinceStartMs: number;
}

/** Grace of a start. A thousand validators are connected within some ten seconds; a subnet that is weak later may stay weak. */
export const START_GRACE_MS = 60_000;

/**
 * Decides the status of a network. A weak L1 only degrades it, like a set that cannot be refreshed. Without the P-Chain API it is `down`:
 * nearly every request needs the proposed height.
 */
export function decideStatus({ notOpen, subnets, apiProblem, hasBeenUp, sinceStartMs }: NetworkView): {
  readonly status: NetworkStatus;
  readonly reason: string | undefined;
} {
  // A network without its API is `down` at once, so that a replica with other networks is not delayed.
  const isApiWrong = notOpen?.isApiWrong ?? subnets[0]?.isApiDown === true;
  const isStarting = !hasBeenUp && !isApiWrong && sinceStartMs < START_GRACE_MS;
  if (notOpen !== undefined) return { status: isStarting ? 'starting' : 'down', reason: notOpen.reason };
  if (apiProblem !== undefined) return { status: 'down', reason: apiProblem };
  const weak = subnets.filter(({ isUp, reason }) => !isUp || reason !== undefined);
  const [first] = weak;
  if (first === undefined) return { status: 'up', reason: undefined };
  const others = weak.length > 1 ? `, and ${weak.length - 1} more` : '';
  const reason = `subnet ${first.subnetID}: ${first.reason ?? 'not ready'}${others}`;
  if (isStarting) return { status: 'starting', reason };
  return { status: subnets[0]?.isUp === true ? 'degraded' : 'down', reason };
}

/** Adds the main cause of missing weight to the reason of a subnet, with its share of the weight. */
export function withMainCause(subnet: SubnetReadiness, networkName: string): SubnetReadiness {
  const { reason, connected, missing } = subnet;
  const main = missing?.()[0];
  if (main === undefined || connected === undefined) return subnet;
  return {
    ...subnet,
    reason: `${reason}: ${describeMissingWeight(main, connected.totalWeight, `networks.${networkName}`)}`,
  };
}

const MAX_LOGGED_CAUSES = 20;

/** Returns the causes of missing weight for the log, at most 20. */
export function loggedCauses(weak: readonly SubnetReadiness[]): readonly object[] {
  const causes = weak.flatMap(({ subnetID, missing = () => [] }) =>
    missing().map(({ cause, weight }) => ({ subnetId: subnetID, cause, weight: String(weight) })),
  );
  return causes.slice(0, MAX_LOGGED_CAUSES);
}
