import type { PChainMessages } from '../aggregation/request/aggregation-request.ts';
import type { DestinationViews } from '../aggregation/signers/destination-views.ts';
import type { MessageVerifier } from '../aggregation/signers/message-verifier.ts';
import type { Aggregator } from '../aggregation/stages/aggregator.ts';
import type { SubnetUptimes } from '../aggregation/subnets/subnet-uptimes.ts';
import type { SubnetViews } from '../aggregation/subnets/subnet-views.ts';
import type { UptimeProofs } from '../aggregation/subnets/uptime-proofs.ts';
import type { ValidationViews } from '../aggregation/subnets/validation-views.ts';
import type { SubnetReadiness } from '../aggregation/validators/required-subnets.ts';
import type { Feed } from '../feed/feed.ts';
import type { PrimaryChains } from '../pchain/state/primary-chains.ts';
import type { SigningRecord } from '../record/signing-record.ts';
import type { NodeID } from '../warp/ids.ts';

/**
 * One Avalanche network as a value: its API clients, peers, validator sets, caches and aggregator. `network-parts.ts` has the parts,
 * `network-opening.ts` opens them once the API has proven to be the network's, `served-network.ts` is the network over its life,
 * `readiness.ts` decides its status, `networks.ts` handles all networks of a process, and `identity-watch.ts` watches our NodeID. How the
 * parts work is in `aggregation/`, `p2p/` and `pchain/`.
 */
export interface Network extends AsyncDisposable {
  /** Key in the configuration, and first name in paths. */
  readonly name: string;
  /** All names of the network in paths. */
  readonly pathNames: readonly string[];
  /** What decides for which destination a POST is signed if the request names none. */
  readonly defaultDestination: 'none' | 'teleporter';
  /** The height of messages to the P-Chain by the Go routes. */
  readonly goApi: { readonly pChainMessages: PChainMessages };
  /** This and the next eight fail with `network_unavailable` until the network is open. */
  readonly aggregator: Aggregator;
  readonly subnets: SubnetViews;
  readonly verifier: MessageVerifier;
  readonly uptimes: UptimeProofs;
  readonly subnetUptimes: SubnetUptimes;
  readonly validations: ValidationViews;
  readonly destinations: DestinationViews;
  readonly feed: Feed;
  readonly primaryChains: PrimaryChains;
  /** Undefined if the configuration switches it off. */
  readonly record: Pick<SigningRecord, 'subnet' | 'validator'> | undefined;
  readiness(): NetworkReadiness;
  /** Resolves as soon as {@link readiness} is `up`; rejects with the signal's reason. */
  untilUp(signal: AbortSignal): Promise<void>;
}

export interface NetworkReadiness {
  readonly name: string;
  readonly status: NetworkStatus;
  /** Reason for operators why the network is not `up`. */
  readonly reason: string | undefined;
  /** Undefined until the network's API has answered. */
  readonly networkID: number | undefined;
  /** Our NodeID; undefined until the network is open. */
  readonly nodeID: NodeID | undefined;
  /** The primary network first, then the tracked subnets. */
  readonly subnets: readonly SubnetReadiness[];
}

/**
 * `starting`: never up, within the grace of a start, and no API failure yet.
 * `up`: the primary network and every tracked subnet have enough connected weight and current validator sets.
 * `degraded`: only the primary network has enough connected weight, or a validator set is not current.
 * `down`: the primary network has too little connected weight, or the API does not respond or belongs to another network.
 */
export type NetworkStatus = (typeof NETWORK_STATUSES)[number];

export const NETWORK_STATUSES = ['starting', 'up', 'degraded', 'down'] as const;
