import type { Clock, Random } from '../lib/concurrency/clock.ts';
import { EventLoopScheduler } from '../lib/concurrency/event-loop-scheduler.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { BlockchainID, NodeID } from '../warp/ids.ts';
import { type AppOutcome, type AppRequestOptions, AppRequests } from './connection/app-requests.ts';
import type { Dial } from './connection/dial.ts';
import type { NodeVersion } from './connection/handshake.ts';
import { OwnHandshake } from './connection/own-handshake.ts';
import { Peer, type PeerEvents, type PeerOptions, type PeerState } from './connection/peer.ts';
import { DEFAULT_PEER_LIMITS, type PeerLimits } from './connection/peer-limits.ts';
import { createTlsDial } from './connection/tls-dial.ts';
import { VersionWatch } from './connection/version-watch.ts';
import { AddressBook } from './discovery/address-book.ts';
import { ConnectionChanges } from './discovery/connection-changes.ts';
import { DialSchedule } from './discovery/dial-schedule.ts';
import { isPermitted, MAX_DIALS_PER_STEP } from './discovery/peer-decisions.ts';
import { type BootstrapPeer, PeerDiscovery } from './discovery/peer-discovery.ts';
import { type WantedChange, WantedNodes } from './discovery/wanted-nodes.ts';
import type { Identity } from './identity/identity.ts';
import type { PeerLogger } from './peer-logger.ts';
import { createPeerMetrics, type PeerMetrics } from './peer-metrics.ts';
import { findObstacle, type Obstacle, type PeerView } from './peer-view.ts';
import type { PeerMessageInit } from './wire/messages.ts';

export interface PeerNetworkOptions {
  /** May be shared by several networks. */
  readonly identity: Identity;
  readonly networkID: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: PeerLogger;
  readonly metrics: Metrics;
  /** The version for the handshake, as the API node's. Asked again from time to time, so that an upgrade is followed. */
  readonly nodeVersion: (signal: AbortSignal) => Promise<NodeVersion>;
  /**
   * First addresses: those of `info.peers`, of the API node itself and of the configuration. Asked at the start, and again,
   * with growing pauses, while wanted nodes are not connected.
   */
  readonly bootstrapPeers: (signal: AbortSignal) => Promise<readonly BootstrapPeer[]>;
  /** Also permits host names, as nobody knows where they lead. */
  readonly allowPrivateAddresses: boolean;
  readonly limits?: Partial<PeerLimits>;
  /** How connections are made: TLS with the identity's certificate, unless given. */
  readonly dial?: Dial;
}

export interface PeerNetworkStats {
  /** Peers ready for requests, wanted or not. */
  readonly connected: number;
  /** Nodes that have taken our connections and closed them without a word for some time. */
  readonly turnedAway: number;
  readonly wanted: number;
  readonly knownAddresses: number;
}

/** Connections to validators. A peer's failure is a value everywhere; nothing a peer does makes a method throw. */
export interface PeerNetwork extends AsyncDisposable {
  readonly nodeID: NodeID;
  /**
   * The nodes that connections are wanted to, under a name such as a subnet ID. Replaces the earlier set of that name.
   * Connections to nodes in no set any more are closed after some minutes, except a few to learn addresses from. Those of preferred
   * sets are dialled first, and room is kept for them.
   */
  want(name: string, nodeIDs: ReadonlySet<NodeID>, isPreferred?: boolean): void;
  unwant(name: string): void;
  /** Asks for first addresses anew, within a moment: those of the configuration have changed. */
  bootstrapAgain(): void;
  /** Whether requests can be sent to the node now. */
  isConnected(nodeID: NodeID): boolean;
  /** Why a node is not connected, in some words for people; undefined while it is. */
  lastFailure(nodeID: NodeID): string | undefined;
  describe(nodeID: NodeID): PeerView;
  /**
   * Resolves as soon as the predicate holds, which is checked at once and whenever a connection got ready, ended or failed.
   * Rejects with the signal's reason, or where the predicate throws or the network is closed.
   */
  waitUntil(predicate: () => boolean, signal: AbortSignal): Promise<void>;
  /** Calls back after connections got ready, ended or failed, once for all changes of one turn. Returns the function that ends it. */
  onConnectionChange(listener: () => void): () => void;
  /** Calls back at once for each node whose connection got ready, ended or failed, before the others hear of it. */
  onNodeChange(listener: (nodeID: NodeID) => void): () => void;
  /** Rejects with the signal's reason, and with nothing else. */
  appRequest(
    nodeID: NodeID,
    chainID: BlockchainID,
    appBytes: Uint8Array,
    options: AppRequestOptions,
  ): Promise<AppOutcome>;
  stats(): PeerNetworkStats;
}

/** Starts to connect at once. Dispose it to close all connections. Several in one process share nothing but what they are given. */
export function createPeerNetwork(options: PeerNetworkOptions): PeerNetwork {
  return new DialingPeerNetwork(options);
}

/** How often deadlines are checked, and due nodes dialled. */
const TICK_MS = 250;
/**
 * Those that were asked together fall silent together. A ping takes some five microseconds; at so many a tick all of 12,000 have had
 * theirs after twelve seconds, and there are twenty between the time of a ping and the end of a connection.
 */
const MAX_PINGS_PER_TICK = 256;
/** Messages handled in one turn of the event loop, over all peers. One takes some 30 µs, and hundreds come after a pause of this process. */
const MAX_MESSAGES_PER_TURN = 32;
/** The filter of a Handshake may be this old: it only saves bytes there. */
const FILTER_MAX_AGE_MS = 60_000;

/** Ties the parts together. Its own are the open connections and the tick. */
class DialingPeerNetwork implements PeerNetwork {
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
  /** Of the open ones, those that requests can be sent to. */
  readonly #ready = new Set<NodeID>();
  #isStepQueued = false;
  #isClosed = false;
  #cancelTick: () => void;

  constructor(options: PeerNetworkOptions) {
    const { clock, identity, logger, networkID, random } = options;
    const limits: PeerLimits = { ...DEFAULT_PEER_LIMITS, ...options.limits };
    this.#options = options;
    this.nodeID = identity.nodeID;
    this.#peerOptions = {
      clock,
      dial: options.dial ?? createTlsDial(identity),
      networkID,
      limits,
      scheduler: new EventLoopScheduler(clock, MAX_MESSAGES_PER_TURN),
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
    this.#requests = new AppRequests(clock, limits.maxPendingRequests, {
      beforeTimeout: (nodeID) => this.#open.get(nodeID)?.handleReceived(),
      onEnd: (outcome, ms) => this.#metrics.onAppRequest(outcome, ms / 1_000),
    });
    this.#wanted = new WantedNodes(this.nodeID);
    this.#book = new AddressBook({
      maxEntries: limits.maxKnownAddresses,
      random,
      isWanted: (nodeID) => this.#wanted.all.has(nodeID),
      mayBeDialled: (endpoint) => isPermitted(endpoint, options.allowPrivateAddresses),
    });
    this.#discovery = new PeerDiscovery({
      clock,
      random,
      logger,
      metrics: this.#metrics,
      book: this.#book,
      bootstrapPeers: options.bootstrapPeers,
      gossipIntervals: { minMs: limits.minGossipIntervalMs, maxMs: limits.maxGossipIntervalMs },
      dialsPerSecond: limits.dialsPerSecond,
      isWanted: (nodeID) => this.#wanted.all.has(nodeID),
      isSearching: () => this.#isWantedMissing(),
      readyPeers: () => [...this.#ready],
      send: (nodeID, payload) => void this.#open.get(nodeID)?.send(payload),
      onAddress: (nodeID) => this.#onAddress(nodeID),
    });
    this.#version = new VersionWatch({
      clock,
      logger,
      ask: options.nodeVersion,
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

  want(name: string, nodeIDs: ReadonlySet<NodeID>, isPreferred = false): void {
    this.#onWantedChange(this.#wanted.set(name, nodeIDs, isPreferred));
  }

  unwant(name: string): void {
    this.#onWantedChange(this.#wanted.delete(name));
  }

  bootstrapAgain(): void {
    this.#discovery.bootstrapAgain();
  }

  isConnected(nodeID: NodeID): boolean {
    return this.#ready.has(nodeID);
  }

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
      let pings = 0;
      for (const peer of this.#open.values()) if (peer.tick(nowMs, pings < MAX_PINGS_PER_TICK)) pings += 1;
      for (const nodeID of this.#schedule.dueDisconnects(nowMs)) {
        this.#open.get(nodeID)?.close('unwanted', 'not wanted any more');
      }
      this.#metrics.publishBytes();
      this.#step();
    });
  }

  /** A step in the next turn of the event loop, once for all that asked for it. */
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
    this.#version.askIfUnsure(nowMs);
    // Without a version there is no Handshake to send.
    if (this.#version.current === undefined) return;
    const due = this.#schedule.takeDue(nowMs);
    for (const nodeID of due) this.#dial(nodeID);
    if (due.length > 0) this.#version.askIfOld(nowMs);
    if (due.length >= MAX_DIALS_PER_STEP) this.#queueStep();
  }

  #dial(nodeID: NodeID): void {
    const endpoints = this.#book.endpoints(nodeID);
    // The newest signed address first; after a failure the reported one, too.
    const endpoint = endpoints[this.#schedule.failures(nodeID) % endpoints.length];
    // Only nodes with an address are due.
    if (endpoint === undefined) throw new Error(`${nodeID} is to be dialled without an address`);
    this.#open.set(nodeID, new Peer(nodeID, endpoint, this.#peerOptions));
    this.#metrics.onDial();
  }

  #peerEvents(): PeerEvents {
    return {
      createHandshake: () => this.#createHandshake(),
      onReady: (peer, handshake, peerList) => {
        const { nodeID, endpoint } = peer;
        this.#ready.add(nodeID);
        this.#schedule.onReady(nodeID);
        this.#metrics.onReady();
        this.#options.logger.debug({ nodeID, host: endpoint.host, port: endpoint.port }, 'peer ready');
        this.#onConnectionChange(nodeID);
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
    this.#metrics.onClosed(cause);
    this.#discovery.onDisconnected(nodeID);
    this.#options.logger.debug({ nodeID, host: endpoint.host, port: endpoint.port, cause, reason }, 'peer closed');
    // A refused handshake may mean that the network has moved on to a newer version.
    if (cause === 'handshake') this.#version.doubt();
    if (wasReady) {
      this.#requests.onDisconnected(nodeID, reason);
      if (this.#wanted.all.has(nodeID)) this.#discovery.searchEagerly();
    }
    this.#onConnectionChange(nodeID);
  }

  #onConnectionChange(nodeID: NodeID): void {
    if (this.#schedule.lacksRoom) this.#queueStep();
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
    return findObstacle({
      isReady: this.#ready.has(nodeID),
      isSelf: nodeID === this.nodeID,
      lastEnd: this.#schedule.lastEnd(nodeID),
      isOpen: this.#open.has(nodeID),
      isKnown: this.#book.has(nodeID),
      mayBeDialled: this.#book.endpoints(nodeID).length > 0,
      version: this.#version,
      isFull: this.#schedule.isFull,
    });
  }

  #isWantedMissing(): boolean {
    for (const nodeID of this.#wanted.all) if (!this.#ready.has(nodeID)) return true;
    return false;
  }

  #createHandshake(): PeerMessageInit {
    const version = this.#version.current;
    // Nobody is dialled before the version is known.
    if (version === undefined) throw new Error('a handshake needs the node version');
    const nowMs = this.#options.clock.monotonicMs();
    return this.#handshake.create(version, this.#book.knownPeers(nowMs, FILTER_MAX_AGE_MS));
  }
}
