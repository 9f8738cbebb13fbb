import type { Clock, Random } from '../lib/concurrency/clock.ts';
import { EventLoopScheduler } from '../lib/concurrency/event-loop-scheduler.ts';
import type { Logger } from '../telemetry/logger.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { BlockchainID, NodeID } from '../warp/ids.ts';
import { type AppOutcome, type AppRequestOptions, AppRequests } from './connection/app-requests.ts';
import { ConnectionChanges } from './connection/connection-changes.ts';
import type { Dial } from './connection/dial.ts';
import { type NodeVersion, OwnHandshake } from './connection/handshake.ts';
import { MAX_SEND_QUEUE_BYTES, Peer, type PeerEvents, type PeerOptions, type PeerState } from './connection/peer.ts';
import { createTlsDial } from './connection/tls-dial.ts';
import { VersionWatch } from './connection/version-watch.ts';
import { AddressBook } from './discovery/address-book.ts';
import { DEFAULT_DIAL_LIMITS, type DialLimits, DialSchedule } from './discovery/dial-schedule.ts';
import { MAX_DIALS_PER_STEP } from './discovery/peer-decisions.ts';
import { type BootstrapPeer, PeerDiscovery } from './discovery/peer-discovery.ts';
import { type WantedChange, WantedNodes } from './discovery/wanted-nodes.ts';
import type { Identity } from './identity/identity.ts';
import { createPeerMetrics, type PeerMetrics } from './peer-metrics.ts';
import type { Obstacle, PeerView } from './peer-view.ts';
import { isPublicAddress } from './wire/ip-address.ts';
import type { PeerMessageInit } from './wire/messages.ts';

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

export interface PeerNetworkStats {
  readonly connected: number;
  /** Nodes that have been closing our connections right after TLS for some time. */
  readonly turnedAway: number;
  readonly wanted: number;
  readonly knownAddresses: number;
}

const TICK_MS = 250;
const MAX_KNOWN_ADDRESSES = 20_000;
/** App requests that wait for a response: two fan-outs to all validators, or some hundred to a large L1. */
const MAX_PENDING_REQUESTS = 32_768;
const GOSSIP_INTERVALS = { minMs: 500, maxMs: 30_000 };
/** Messages of all peers before a yield to the event loop. One takes some 30 µs, and hundreds arrive after a pause of this process. */
const MAX_MESSAGES_PER_YIELD = 32;
/** The filter only saves bytes in a Handshake. */
const FILTER_MAX_AGE_MS = 60_000;

/**
 * Connections of one network to its validators, and app requests over them. The caller names the wanted nodes; this folder finds their
 * addresses, dials them, and keeps connections alive. It does not know what is requested of a node, or which nodes are validators.
 *
 * `discovery/` decides whom to dial and collects addresses, `connection/` is one connection from dial to close with its requests, `wire/`
 * are the codecs, `identity/` is our certificate.
 *
 * It starts to connect at once. Dispose it to close all connections.
 */
export class PeerNetwork implements AsyncDisposable {
  readonly nodeID: NodeID;
  readonly #options: PeerNetworkOptions;
  readonly #peerOptions: PeerOptions;
  readonly #metrics: PeerMetrics;
  readonly #handshake: OwnHandshake;
  readonly #wanted: WantedNodes;
  readonly #book: AddressBook;
  readonly #discovery: PeerDiscovery;
  readonly #version: VersionWatch;
  readonly #schedule: DialSchedule;
  readonly #requests: AppRequests;
  readonly #changes = new ConnectionChanges();
  readonly #open = new Map<NodeID, Peer>();
  /** Open connections that can send requests. */
  readonly #ready = new Set<NodeID>();
  #isStepQueued = false;
  #isClosed = false;
  #cancelTick: () => void;

  constructor(options: PeerNetworkOptions) {
    const { clock, identity, logger, networkID, random } = options;
    const limits = { ...DEFAULT_DIAL_LIMITS, maxSendQueueBytes: MAX_SEND_QUEUE_BYTES, ...options.limits };
    this.#options = options;
    this.nodeID = identity.nodeID;
    this.#peerOptions = {
      clock,
      dial: options.dial ?? createTlsDial(identity),
      networkID,
      maxSendQueueBytes: limits.maxSendQueueBytes,
      scheduler: new EventLoopScheduler(clock, MAX_MESSAGES_PER_YIELD),
      events: this.#peerEvents(),
    };
    this.#handshake = new OwnHandshake({ identity, networkID, clock });
    this.#metrics = createPeerMetrics(options.metrics, {
      connected: () => this.#ready.size,
      connecting: () => this.#schedule.connectingCount,
      wanted: () => this.#wanted.all,
      obstacleOf: (nodeID) => this.#findObstacle(nodeID),
      knownAddresses: () => this.#book.size,
      pendingRequests: () => this.#requests.size,
    });
    this.#requests = new AppRequests(clock, MAX_PENDING_REQUESTS, {
      beforeTimeout: (nodeID) => this.#open.get(nodeID)?.handleReceived(),
      onEnd: (outcome, ms) => this.#metrics.onAppRequest(outcome, ms / 1_000),
    });
    this.#wanted = new WantedNodes(this.nodeID);
    this.#book = new AddressBook({
      maxEntries: MAX_KNOWN_ADDRESSES,
      random,
      isWanted: (nodeID) => this.#wanted.all.has(nodeID),
      mayBeDialled: ({ host }) => options.allowPrivateAddresses || isPublicAddress(host),
    });
    this.#discovery = new PeerDiscovery({
      clock,
      random,
      logger,
      book: this.#book,
      bootstrapPeers: options.bootstrapPeers,
      gossipIntervals: GOSSIP_INTERVALS,
      dialsPerSecond: limits.dialsPerSecond,
      isWanted: (nodeID) => this.#wanted.all.has(nodeID),
      isSearching: () => !this.#wanted.all.isSubsetOf(this.#ready),
      readyPeers: () => [...this.#ready],
      send: (nodeID, payload) => void this.#open.get(nodeID)?.send(payload),
      onAddress: (nodeID) => this.#onAddress(nodeID),
      onClaim: (result) => this.#metrics.addresses.inc({ result: result === 'first' ? 'new' : result }),
    });
    this.#version = new VersionWatch({
      clock,
      logger,
      request: options.nodeVersion,
      onAnswer: () => this.#queueStep(),
    });
    this.#schedule = new DialSchedule({
      limits,
      random,
      nowMs: clock.monotonicMs(),
      hasAddress: (nodeID) => nodeID !== this.nodeID && this.#book.endpoints(nodeID).length > 0,
      preferredNodes: () => this.#wanted.preferred,
      knownNodes: () => this.#book.nodeIDs(),
    });
    this.#cancelTick = this.#scheduleTick();
    this.#queueStep();
  }

  /**
   * Requests connections to nodes, under a name such as a subnet ID. Replaces the earlier set of that name. Connections to nodes in no set
   * are closed after some minutes, except a few as sources of addresses. Preferred sets are dialled first and have reserved connections.
   */
  want(name: string, nodeIDs: ReadonlySet<NodeID>, isPreferred = false): void {
    this.#onWantedChange(this.#wanted.set(name, nodeIDs, isPreferred));
  }

  unwant(name: string): void {
    this.#onWantedChange(this.#wanted.delete(name));
  }

  /** Requests bootstrap peers again at the next tick, because the configured ones have changed. */
  bootstrapAgain(): void {
    this.#discovery.bootstrapAgain();
  }

  /** Whether requests can be sent to the node now. */
  isConnected(nodeID: NodeID): boolean {
    return this.#ready.has(nodeID);
  }

  /** Reason for people why a node is not connected; undefined while it is. */
  lastFailure(nodeID: NodeID): string | undefined {
    return this.#findObstacle(nodeID)?.reason;
  }

  describe(nodeID: NodeID): PeerView {
    const state = this.#open.get(nodeID)?.state;
    const { handshake } = state?.kind === 'ready' ? state : {};
    return {
      obstacle: this.#findObstacle(nodeID),
      address: this.#book.signedEndpoint(nodeID),
      client: handshake && { name: handshake.clientName, version: handshake.version },
    };
  }

  /**
   * Resolves as soon as the predicate holds, which is checked at once and whenever a connection got ready, ended or failed. Rejects with
   * the signal's reason, where the predicate throws, or where the network is closed.
   */
  waitUntil(predicate: () => boolean, signal: AbortSignal): Promise<void> {
    return this.#changes.waitUntil(predicate, signal);
  }

  /** Calls back once for all changes of connections within a microtask. Returns a function that ends the subscription. */
  onConnectionChange(listener: () => void): () => void {
    return this.#changes.listen(listener);
  }

  /** Calls back immediately for each node whose connection got ready, ended or failed. */
  onNodeChange(listener: (nodeID: NodeID) => void): () => void {
    return this.#changes.listenToNodes(listener);
  }

  /** Rejects only with the signal's reason. */
  appRequest(
    nodeID: NodeID,
    chainID: BlockchainID,
    appBytes: Uint8Array,
    options: AppRequestOptions,
  ): Promise<AppOutcome> {
    const peer = this.#open.get(nodeID);
    if (peer?.state.kind === 'ready') return this.#requests.send(nodeID, chainID, appBytes, options, peer);
    if (options.signal.aborted) return Promise.reject(options.signal.reason);
    return Promise.resolve({ kind: 'unreachable', reason: this.lastFailure(nodeID) ?? 'not connected' });
  }

  stats(): PeerNetworkStats {
    const turnedAway = this.#schedule.turnedAwayCount(this.#options.clock.monotonicMs());
    return { connected: this.#ready.size, turnedAway, wanted: this.#wanted.all.size, knownAddresses: this.#book.size };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#cancelTick();
    this.#discovery.close();
    this.#version.close();
    for (const peer of [...this.#open.values()]) peer.close('shutdown', 'we are shutting down');
    this.#metrics.publishBytes();
    this.#changes.close(new Error('the peer network is closed'));
  }

  #scheduleTick(): () => void {
    return this.#options.clock.after(TICK_MS, () => {
      this.#cancelTick = this.#scheduleTick();
      const nowMs = this.#options.clock.monotonicMs();
      for (const peer of this.#open.values()) peer.tick(nowMs);
      for (const nodeID of this.#schedule.dueDisconnects(nowMs)) {
        this.#open.get(nodeID)?.close('unwanted', 'not wanted any more');
      }
      this.#metrics.publishBytes();
      this.#step();
    });
  }

  /** Runs one step after a yield to the event loop. */
  #queueStep(): void {
    if (this.#isStepQueued) return;
    this.#isStepQueued = true;
    this.#options.clock.afterTurn(() => {
      this.#isStepQueued = false;
      this.#step();
    });
  }

  #step(): void {
    if (this.#isClosed) return;
    const nowMs = this.#options.clock.monotonicMs();
    this.#discovery.tick(nowMs);
    this.#version.tick(nowMs);
    if (this.#version.current === undefined) return;
    const due = this.#schedule.takeDue(nowMs);
    for (const nodeID of due) this.#dial(nodeID);
    if (due.length >= MAX_DIALS_PER_STEP) this.#queueStep();
  }

  #dial(nodeID: NodeID): void {
    const endpoints = this.#book.endpoints(nodeID);
    // Alternates between the signed and the reported address after failures.
    const endpoint = endpoints[this.#schedule.failures(nodeID) % endpoints.length];
    // Only nodes with an address are due.
    if (endpoint === undefined) throw new Error(`${nodeID} is to be dialled without an address`);
    this.#open.set(nodeID, new Peer(nodeID, endpoint, this.#peerOptions));
    this.#metrics.dials.inc();
  }

  #peerEvents(): PeerEvents {
    return {
      createHandshake: () => this.#createHandshake(),
      onReady: (peer, handshake, peerList) => {
        const { nodeID, endpoint } = peer;
        this.#ready.add(nodeID);
        this.#schedule.onReady(nodeID);
        this.#metrics.readies.inc();
        this.#options.logger.debug({ nodeID, host: endpoint.host, port: endpoint.port }, 'peer ready');
        this.#changes.announce(nodeID);
        this.#book.addSigned(nodeID, handshake.address);
        this.#discovery.onHandshakePeerList(nodeID, peerList);
      },
      onPeerList: (peer, peerList) => this.#discovery.onPeerList(peer.nodeID, peerList),
      onAppResponse: (peer, response) => this.#requests.onResponse(peer.nodeID, response),
      onAppError: (peer, error) => this.#requests.onError(peer.nodeID, error),
      onClosed: (peer, end) => this.#onClosed(peer, end),
      onBytes: (direction, count) => this.#metrics.onBytes(direction, count),
    };
  }

  #onClosed(peer: Peer, end: PeerState & { kind: 'closed' }): void {
    const { nodeID, endpoint } = peer;
    const { cause, reason } = end;
    this.#open.delete(nodeID);
    const wasReady = this.#ready.delete(nodeID);
    this.#schedule.onClosed(nodeID, end, this.#options.clock.monotonicMs());
    this.#metrics.closed.inc({ cause });
    this.#discovery.onDisconnected(nodeID);
    this.#options.logger.debug({ nodeID, host: endpoint.host, port: endpoint.port, cause, reason }, 'peer closed');
    // The network may require a newer version.
    if (cause === 'handshake') this.#version.expire();
    if (wasReady) {
      this.#requests.onDisconnected(nodeID, reason);
      if (this.#wanted.all.has(nodeID)) this.#discovery.searchEagerly();
    }
    this.#changes.announce(nodeID);
  }

  #onAddress(nodeID: NodeID): void {
    if (!this.#ready.has(nodeID) && this.#schedule.onNewAddress(nodeID, this.#options.clock.monotonicMs())) {
      this.#discovery.searchEagerly();
      const peer = this.#open.get(nodeID);
      const [best] = this.#book.endpoints(nodeID);
      if (peer !== undefined && (peer.endpoint.host !== best?.host || peer.endpoint.port !== best.port)) {
        peer.close('superseded', 'a newer address became known');
      }
    }
    this.#queueStep();
  }

  #onWantedChange({ added, removed }: WantedChange): void {
    const nowMs = this.#options.clock.monotonicMs();
    for (const nodeID of added) {
      this.#schedule.want(nodeID, nowMs);
      if (!this.#ready.has(nodeID)) this.#discovery.searchEagerly();
    }
    for (const nodeID of removed) this.#schedule.unwant(nodeID, nowMs);
    this.#queueStep();
  }

  #findObstacle(nodeID: NodeID): Obstacle | undefined {
    if (this.#ready.has(nodeID)) return undefined;
    if (nodeID === this.nodeID) return { cause: 'own_node', reason: 'this is our own NodeID' };
    const lastEnd = this.#schedule.lastEnd(nodeID);
    if (lastEnd !== undefined) return lastEnd;
    if (this.#open.has(nodeID)) return { cause: 'connecting', reason: 'still connecting' };
    if (!this.#book.has(nodeID)) return { cause: 'no_address', reason: 'no address known' };
    if (this.#book.endpoints(nodeID).length === 0) {
      return { cause: 'private_address', reason: 'its address is private' };
    }
    if (this.#version.current === undefined) {
      const why = this.#version.failure ?? 'not received yet';
      return { cause: 'version_unknown', reason: `the node version of the network is not known: ${why}` };
    }
    if (this.#schedule.isFull) return { cause: 'no_room', reason: 'too many connections' };
    return { cause: 'connecting', reason: 'not dialled yet' };
  }

  #createHandshake(): PeerMessageInit {
    const version = this.#version.current;
    // No node is dialled before the version is known.
    if (version === undefined) throw new Error('a handshake needs the node version');
    const nowMs = this.#options.clock.monotonicMs();
    return this.#handshake.create(version, this.#book.knownPeers(nowMs, FILTER_MAX_AGE_MS));
  }
}
