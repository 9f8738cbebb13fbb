import type { SubnetReadiness } from '../aggregation/validators/required-subnet.ts';
import type { NetworkStatus } from './network.ts';

export interface NetworkView {
  /** Why nothing of the network is open: its ID is not known, or its API is of another network. Undefined once it is open. */
  readonly notOpen:
    | {
        readonly reason: string /** Its API does not answer, or is of another network. */;
        readonly isApiWrong: boolean;
      }
    | undefined;
  /** The primary network first. */
  readonly subnets: readonly SubnetReadiness[];
  /** Whether it has been `up` since it was opened. */
  readonly hasBeenUp: boolean;
  readonly sinceStartMs: number;
}

/**
 * How long a network that has never been up counts as starting. A thousand validators are connected within some ten seconds.
 * A subnet that is still weak by then may stay so, and must not keep a replica that serves the rest out of use.
 */
export const START_GRACE_MS = 60_000;

/**
 * What a network can do now. One weak L1 degrades it, and does not take it down. Nor does an API that fails: connections and the
 * last sets are still there, another replica would do no better, and a request that fails says why.
 */
export function decideStatus({ notOpen, subnets, hasBeenUp, sinceStartMs }: NetworkView): {
  readonly status: NetworkStatus;
  readonly reason: string | undefined;
} {
  // Without its API a network does not start, however long one waits: it must not keep a replica that serves others out of use.
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
