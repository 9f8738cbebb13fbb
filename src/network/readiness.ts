import type { SubnetReadiness } from '../aggregation/validators/required-subnets.ts';
import type { NetworkStatus } from './network.ts';

export interface NetworkView {
  /** Undefined once the network is open. `isApiWrong`: the API does not respond, or belongs to another network. */
  readonly notOpen: { readonly reason: string; readonly isApiWrong: boolean } | undefined;
  /** The primary network first. */
  readonly subnets: readonly SubnetReadiness[];
  readonly hasBeenUp: boolean;
  readonly sinceStartMs: number;
}

/** Grace of a start. A thousand validators are connected within some ten seconds; a subnet that is weak later may stay weak. */
export const START_GRACE_MS = 60_000;

/**
 * Decides the status of a network. A weak L1 only degrades it. A failing API does not change it: connections and cached sets remain, and
 * another replica would have the same problem.
 */
export function decideStatus({ notOpen, subnets, hasBeenUp, sinceStartMs }: NetworkView): {
  readonly status: NetworkStatus;
  readonly reason: string | undefined;
} {
  // A network without its API is `down` at once, so that a replica with other networks is not delayed.
  const isApiWrong = notOpen?.isApiWrong ?? subnets[0]?.isApiDown === true;
  const isStarting = !hasBeenUp && !isApiWrong && sinceStartMs < START_GRACE_MS;
  if (notOpen !== undefined) return { status: isStarting ? 'starting' : 'down', reason: notOpen.reason };
  const weak = subnets.filter(({ isUp, reason }) => !isUp || reason !== undefined);
  const [first] = weak;
  if (first === undefined) return { status: 'up', reason: undefined };
  const others = weak.length > 1 ? `, and ${weak.length - 1} more` : '';
  const reason = `subnet ${first.subnetID}: ${first.reason ?? 'not ready'}${others}`;
  if (isStarting) return { status: 'starting', reason };
  return { status: subnets[0]?.isUp === true ? 'degraded' : 'down', reason };
}
