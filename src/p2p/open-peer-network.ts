import type { BlockchainID, NodeID } from '../warp/ids.ts';
import {
  type AppOutcome,
  type AppRequestOptions,
  type AppRequests,
  createAppRequests,
} from './connection/app-requests.ts';
import { ConnectionChanges } from './connection/connection-changes.ts';
import type { PeerIntroduction } from './connection/handshake.ts';
import { OpenPeers, type OpenPeersEvents } from './connection/open-peers.ts';
import { MAX_SEND_QUEUE_BYTES, type Peer } from './connection/peer.ts';
import { createTlsDial } from './connection/tls-dial.ts';
import { Dialer } from './dialer.ts';
import { type ConnectionEnd, DEFAULT_DIAL_LIMITS } from './discovery/dial-schedule.ts';
import { createPeerMetrics } from './peer-metrics.ts';
import type { PeerCounts, PeerNetwork, PeerNetworkOptions } from './peer-network.ts';
import type { Obstacle, PeerView } from './peer-view.ts';
import { StepLoop } from './step-loop.ts';
import type { Endpoint } from './wire/ip-address.ts';

/** App requests that wait for a response: two fan-outs to all validators, or a few hundred to a large L1. */
const MAX_PENDING_REQUESTS = 32_768;

/**
 * Connections of one network to its validators, and app requests over them. The caller names the wanted nodes; the peer network finds their
 * addresses, dials them, and keeps connections alive. It does not know what is requested of a node, or which nodes are validators.
 *
 * `dialer.ts` decides whom to dial, with what `discovery/` knows of addresses; `connection/` is one connection from dial to close with its
 * requests, and those that are open; `wire/` are the codecs, `identity/` is our certificate.
 *
 * It starts to connect at once. Dispose it to close all connections.
 */
export function openPeerNetwork(options: PeerNetworkOptions): PeerNetwork {
  return new OpenPeerNetwork(options);
}

class OpenPeerNetwork implements PeerNetwork {
  readonly #options: PeerNetworkOptions;
  readonly #changes = new ConnectionChanges();
  readonly #metrics: ReturnType<typeof createPeerMetrics>;
  readonly #requests: AppRequests;
  readonly #peers: OpenPeers;
  readonly #dialer: Dialer;
  readonly #steps: StepLoop;

  constructor(options: PeerNetworkOptions) {
    const { clock, dial, identity, networkID } = options;
    const limits = { ...DEFAULT_DIAL_LIMITS, maxSendQueueBytes: MAX_SEND_QUEUE_BYTES, ...options.limits };
    this.#options = options;
    this.#metrics = createPeerMetrics(options.metrics, {
      connected: () => this.#peers.ready.size,
      connecting: () => this.#dialer.schedule.connectingCount,
      wanted: () => this.#dialer.wanted.all,
      obstacleOf: (nodeID) => this.obstacle(nodeID),
      knownAddresses: () => this.#dialer.book.size,
      pendingRequests: () => this.#requests.size,
    });
    this.#requests = createAppRequests(clock, MAX_PENDING_REQUESTS, {
      beforeTimeout: (nodeID) => this.#peers.get(nodeID)?.handleReceived(),
      onEnd: (outcome, ms) => this.#metrics.onAppRequest(outcome, ms / 1_000),
    });
    this.#peers = new OpenPeers({
      clock,
      networkID,
      maxSendQueueBytes: limits.maxSendQueueBytes,
      dial: dial ?? createTlsDial(identity),
      events: this.#events(),
    });
    this.#dialer = new Dialer({
      ...options,
      limits,
      peers: this.#peers,
      queueStep: () => this.#steps.queue(),
      onDial: () => this.#metrics.dials.inc(),
      onClaim: (result) => this.#metrics.addresses.inc({ result: result === 'first' ? 'new' : result }),
    });
    this.#steps = new StepLoop({
      clock,
      onTick: (nowMs) => {
        this.#peers.tick(nowMs);
        this.#dialer.closeUnwanted(nowMs);
        this.#metrics.publishBytes();
      },
      step: (nowMs) => this.#dialer.step(nowMs),
    });
    this.#steps.queue();
  }

  #events(): OpenPeersEvents {
    return {
      createHandshake: () => this.#dialer.createHandshake(),
      onReady: (peer, handshake, peerList) => {
        this.#onReady(peer, handshake);
        this.#dialer.discovery.onHandshakePeerList(peer.nodeID, peerList);
      },
      onPeerList: ({ nodeID }, peerList) => this.#dialer.discovery.onPeerList(nodeID, peerList),
      onAppResponse: ({ nodeID }, response) => this.#requests.onResponse(nodeID, response),
      onAppError: ({ nodeID }, error) => this.#requests.onError(nodeID, error),
      onClosed: (peer, end, wasReady) => this.#onClosed(peer, end, wasReady),
      onBytes: (direction, count) => this.#metrics.onBytes(direction, count),
    };
  }

  want(name: string, nodeIDs: ReadonlySet<NodeID>, isPreferred = false): void {
    this.#dialer.onWantedChange(this.#dialer.wanted.set(name, nodeIDs, isPreferred));
  }

  unwant(name: string): void {
    this.#dialer.onWantedChange(this.#dialer.wanted.delete(name));
  }

  bootstrapAgain(): void {
    this.#dialer.discovery.bootstrapAgain();
  }

  isConnected(nodeID: NodeID): boolean {
    return this.#peers.ready.has(nodeID);
  }

  lastFailure(nodeID: NodeID): string | undefined {
    return this.obstacle(nodeID)?.reason;
  }

  obstacle(nodeID: NodeID): Obstacle | undefined {
    return this.isConnected(nodeID) ? undefined : this.#dialer.obstacle(nodeID);
  }

  describe(nodeID: NodeID): PeerView {
    const state = this.#peers.get(nodeID)?.state;
    const { handshake } = state?.kind === 'ready' ? state : {};
    return {
      obstacle: this.obstacle(nodeID),
      address: this.#dialer.book.signedEndpoint(nodeID),
      client: handshake && {
        name: handshake.clientName,
        version: handshake.version,
        clockOffsetMs: handshake.clockOffsetMs,
      },
    };
  }

  endpoints(nodeID: NodeID): readonly Endpoint[] {
    return this.#dialer.book.endpoints(nodeID);
  }

  waitUntil(predicate: () => boolean, signal: AbortSignal): Promise<void> {
    return this.#changes.waitUntil(predicate, signal);
  }

  onConnectionChange(listener: () => void): () => void {
    return this.#changes.listen(listener);
  }

  onNodeChange(listener: (nodeID: NodeID) => void): () => void {
    return this.#changes.listenToNodes(listener);
  }

  appRequest(
    nodeID: NodeID,
    chainID: BlockchainID,
    appBytes: Uint8Array,
    request: AppRequestOptions,
  ): Promise<AppOutcome> {
    const peer = this.#peers.get(nodeID);
    if (peer?.state.kind === 'ready') return this.#requests.send(nodeID, chainID, appBytes, request, peer);
    if (request.signal.aborted) return Promise.reject(request.signal.reason);
    return Promise.resolve({ kind: 'unreachable', reason: this.obstacle(nodeID)?.reason ?? 'not connected' });
  }

  stats(): PeerCounts {
    const { wanted, book, schedule } = this.#dialer;
    return {
      connected: this.#peers.ready.size,
      turnedAway: schedule.turnedAwayCount(this.#options.clock.monotonicMs()),
      wanted: wanted.all.size,
      knownAddresses: book.size,
    };
  }

  #onReady({ nodeID, endpoint: { host, port } }: Peer, { address }: PeerIntroduction): void {
    this.#dialer.schedule.onReady(nodeID);
    this.#metrics.readies.inc();
    this.#options.logger.debug({ nodeId: nodeID, host, port }, 'peer ready');
    this.#changes.announce(nodeID);
    this.#dialer.book.addSigned(nodeID, address);
  }

  #onClosed({ nodeID, endpoint: { host, port } }: Peer, end: ConnectionEnd, wasReady: boolean): void {
    const { cause, reason } = end;
    this.#metrics.closed.inc({ cause });
    this.#options.logger.debug({ nodeId: nodeID, host, port, cause, reason }, 'peer closed');
    if (wasReady) this.#requests.onDisconnected(nodeID, reason);
    this.#dialer.onClosed(nodeID, end, wasReady);
    this.#changes.announce(nodeID);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#steps.isClosed) return;
    this.#steps.close();
    this.#dialer.close();
    this.#peers.closeAll('shutdown', 'we are shutting down');
    this.#metrics.publishBytes();
    this.#changes.close(new Error('the peer network is closed'));
  }
}
