import type { Clock, Random } from '../lib/concurrency/clock.ts';
import type { Logger } from '../telemetry/logger.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { BlockchainID, NodeID } from '../warp/ids.ts';
import type { AppOutcome, AppRequestOptions } from './connection/app-requests.ts';
import type { Dial } from './connection/dial.ts';
import type { NodeVersion } from './connection/handshake.ts';
import type { DialLimits } from './discovery/dial-schedule.ts';
import type { BootstrapPeer } from './discovery/peer-discovery.ts';
import type { Identity } from './identity/identity.ts';
import type { Obstacle, PeerView } from './peer-view.ts';
import type { Endpoint } from './wire/ip-address.ts';

export interface PeerNetworkOptions {
  /** May be shared by several networks. */
  readonly identity: Identity;
  readonly networkID: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Pick<Logger, 'debug' | 'warn'>;
  readonly metrics: Metrics;
  /** Requests the API node's version for our Handshakes. Called repeatedly, to follow an upgrade. */
  readonly nodeVersion: (signal: AbortSignal) => Promise<NodeVersion>;
  /** Requests bootstrap addresses. Called at the start, and with growing pauses while wanted nodes are not connected. */
  readonly bootstrapPeers: (signal: AbortSignal) => Promise<readonly BootstrapPeer[]>;
  /** Also permits host names, which may resolve to private addresses. */
  readonly allowPrivateAddresses: boolean;
  readonly limits?: Partial<DialLimits & { readonly maxSendQueueBytes: number }>;
  /** TLS with the identity's certificate by default. */
  readonly dial?: Dial;
}

export interface PeerCounts {
  readonly connected: number;
  /** Nodes that have been closing our connections right after TLS for some time. */
  readonly turnedAway: number;
  readonly wanted: number;
  readonly knownAddresses: number;
}

/** Connections of one network to its validators; `open-peer-network.ts` opens them. */
export interface PeerNetwork extends AsyncDisposable {
  /**
   * Requests connections to nodes, under a name such as a subnet ID. Replaces the earlier set of that name. Connections to nodes in no
   * set are closed after some minutes, except a few as sources of addresses. Preferred sets are dialled first and have reserved
   * connections.
   */
  want(name: string, nodeIDs: ReadonlySet<NodeID>, isPreferred?: boolean): void;
  /** Removes the set of that name. */
  unwant(name: string): void;
  /** Requests bootstrap peers again at the next tick, because the configured ones have changed. */
  bootstrapAgain(): void;
  /** Whether requests can be sent to the node now. */
  isConnected(nodeID: NodeID): boolean;
  /** Reason for people why a node is not connected; undefined while it is. */
  lastFailure(nodeID: NodeID): string | undefined;
  /** Why requests cannot be sent to a node; undefined while they can. */
  obstacle(nodeID: NodeID): Obstacle | undefined;
  /** Describes the connection to a node, for people. */
  describe(nodeID: NodeID): PeerView;
  /** Addresses to dial a node at, best first. */
  endpoints(nodeID: NodeID): readonly Endpoint[];
  /**
   * Resolves as soon as the predicate holds, which is checked at once and whenever a connection became ready, ended or failed. Rejects with
   * the signal's reason, if the predicate throws, or if the network is closed.
   */
  waitUntil(predicate: () => boolean, signal: AbortSignal): Promise<void>;
  /** Calls back once for all changes of connections within a microtask. Returns a function that ends the subscription. */
  onConnectionChange(listener: () => void): () => void;
  /** Calls back immediately for each node whose connection became ready, ended or failed. */
  onNodeChange(listener: (nodeID: NodeID) => void): () => void;
  /** Rejects only with the signal's reason. */
  appRequest(
    nodeID: NodeID,
    chainID: BlockchainID,
    appBytes: Uint8Array,
    request: AppRequestOptions,
  ): Promise<AppOutcome>;
  stats(): PeerCounts;
}
