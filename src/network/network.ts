import type { Aggregator } from '../aggregation/request/aggregate.ts';
import type { MessageVerifier } from '../aggregation/request/message-verifier.ts';
import type { SubnetViews } from '../aggregation/subnets/subnet-views.ts';
import type { UptimeProofs } from '../aggregation/subnets/uptime-proofs.ts';
import type { SubnetReadiness } from '../aggregation/validators/required-subnet.ts';
import type { NodeID } from '../warp/ids.ts';

/** One Avalanche network that the service serves, with all that belongs to it. */
export interface Network extends AsyncDisposable {
  /** Its key in the configuration, and its first name in paths. */
  readonly name: string;
  /** All names under which paths may call it. */
  readonly pathNames: readonly string[];
  /** Fails with `network_unavailable` until the network is known and open. */
  readonly aggregator: Aggregator;
  /** As {@link aggregator}, these three. */
  readonly subnets: SubnetViews;
  readonly verifier: MessageVerifier;
  readonly uptimes: UptimeProofs;
  readiness(): NetworkReadiness;
  /** Resolves as soon as {@link readiness} is `up`; rejects with the signal's reason. */
  untilUp(signal: AbortSignal): Promise<void>;
}

export interface NetworkReadiness {
  readonly name: string;
  readonly status: NetworkStatus;
  /** Why it is not `up`, in words for operators; undefined where it is. */
  readonly reason: string | undefined;
  /** Under which validators know this service; undefined until the network is open. */
  readonly nodeID: NodeID | undefined;
  /** The primary network first, then the tracked subnets. */
  readonly subnets: readonly SubnetReadiness[];
}

/**
 * `starting`: never been up, still within the time that a start takes, and its API answers or has not been asked yet.
 * `up`: the primary network and every tracked subnet have enough weight connected, and their sets can be read.
 * `degraded`: the primary network has enough connected, but some tracked subnet has not, or a set cannot be read anew.
 * `down`: the primary network has not; or the network's API has never answered, or is of another network.
 */
export type NetworkStatus = (typeof NETWORK_STATUSES)[number];

export const NETWORK_STATUSES = ['starting', 'up', 'degraded', 'down'] as const;
