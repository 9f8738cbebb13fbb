import { EventLoopScheduler } from '../lib/concurrency/event-loop-scheduler.ts';
import type { BlockchainID, NodeID } from '../warp/ids.ts';
import { type AppOutcome, type AppRequestOptions, createAppRequests } from './connection/app-requests.ts';
import { ConnectionChanges } from './connection/connection-changes.ts';
import { createOwnHandshakes, type PeerIntroduction } from './connection/handshake.ts';
import { MAX_SEND_QUEUE_BYTES, Peer, type PeerOptions } from './connection/peer.ts';
import { createTlsDial } from './connection/tls-dial.ts';
import { UnrequestedTime } from './connection/unrequested-time.ts';
import { createVersionWatch, type VersionWatch } from './connection/version-watch.ts';
import { type AddressBook, createAddressBook } from './discovery/address-book.ts';
import { type ConnectionEnd, DEFAULT_DIAL_LIMITS, type DialLimits, DialSchedule } from './discovery/dial-schedule.ts';
import { MAX_DIALS_PER_STEP } from './discovery/peer-decisions.ts';
import { createPeerDiscovery } from './discovery/peer-discovery.ts';
import { createWantedNodes, type WantedChange } from './discovery/wanted-nodes.ts';
import { createPeerMetrics } from './peer-metrics.ts';
import type { PeerCounts, PeerNetwork, PeerNetworkOptions } from './peer-network.ts';
import type { Obstacle, PeerView } from './peer-view.ts';
import { type Endpoint, isPublicAddress } from './wire/ip-address.ts';

const TICK_MS = 250;
const MAX_KNOWN_ADDRESSES = 20_000;
/** App requests that wait for a response: two fan-outs to all validators, or a few hundred to a large L1. */
const MAX_PENDING_REQUESTS = 32_768;
const GOSSIP_INTERVALS = { minMs: 500, maxMs: 30_000 };
/** Messages of all peers before a yield to the event loop. One takes some 30 µs, and hundreds arrive after a pause of this process. */
const MAX_MESSAGES_PER_YIELD = 32;
/** The filter only saves bytes in a Handshake. */
const FILTER_MAX_AGE_MS = 60_000;

/**
 * Connections of one network to its validators, and app requests over them. The caller names the wanted nodes; the peer network finds their
 * addresses, dials them, and keeps connections alive. It does not know what is requested of a node, or which nodes are validators.
 *
 * `discovery/` decides whom to dial and collects addresses, `connection/` is one connection from dial to close with its requests, `wire/`
 * are the codecs, `identity/` is our certificate.
 *
 * It starts to connect at once. Dispose it to close all connections.
 */
export function openPeerNetwork(options: PeerNetworkOptions): PeerNetwork {
  return new OpenPeerNetwork(options);
}

class OpenPeerNetwork implements PeerNetwork {
  readonly #options: PeerNetworkOptions;
  readonly #limits: DialLimits & { readonly maxSendQueueBytes: number };
  readonly #open = new Map<NodeID, Peer>();
  /** Open connections that can send requests. */
  readonly #ready = new Set<NodeID>();
  readonly #changes = new ConnectionChanges();
  readonly #wanted: ReturnType<typeof createWantedNodes>;
  readonly #createHandshake: ReturnType<typeof createOwnHandshakes>;
  readonly #metrics: ReturnType<typeof createPeerMetrics>;
  readonly #requests: ReturnType<typeof createAppRequests>;
  readonly #book: AddressBook;
  readonly #discovery: ReturnType<typeof createPeerDiscovery>;
  readonly #version: VersionWatch;
  readonly #schedule: DialSchedule;
  readonly #unrequested = new UnrequestedTime();
  readonly #peerOptions: PeerOptions;
  #isStepQueued = false;
  #isClosed = false;
  #cancelTick: () => void;

  constructor(options: PeerNetworkOptions) {
    const { clock, identity, logger, networkID } = options;
    this.#options = options;
    this.#limits = { ...DEFAULT_DIAL_LIMITS, maxSendQueueBytes: MAX_SEND_QUEUE_BYTES, ...options.limits };
    this.#wanted = createWantedNodes(identity.nodeID);
    this.#createHandshake = createOwnHandshakes({ identity, networkID, clock });
    this.#metrics = this.#createMetrics();
    this.#requests = createAppRequests(clock, MAX_PENDING_REQUESTS, {
      beforeTimeout: (nodeID) => this.#open.get(nodeID)?.handleReceived(),
      onEnd: (outcome, ms) => this.#metrics.onAppRequest(outcome, ms / 1_000),
    });
    this.#book = this.#createBook();
    this.#discovery = this.#createDiscovery();
    const onAnswer = (): void => this.#queueStep();
    this.#version = createVersionWatch({ clock, logger, request: options.nodeVersion, onAnswer });
    this.#schedule = this.#createSchedule();
    this.#peerOptions = this.#createPeerOptions();
    this.#cancelTick = this.#scheduleTick();
    this.#queueStep();
  }

  #createMetrics() {
    return createPeerMetrics(this.#options.metrics, {
      connected: () => this.#ready.size,
      connecting: () => this.#schedule.connectingCount,
      wanted: () => this.#wanted.all,
      obstacleOf: (nodeID) => this.obstacle(nodeID),
      knownAddresses: () => this.#book.size,
      pendingRequests: () => this.#requests.size,
    });
  }

  #createBook(): AddressBook {
    const { allowPrivateAddresses, random } = this.#options;
    return createAddressBook({
      maxEntries: MAX_KNOWN_ADDRESSES,
      random,
      isWanted: (nodeID) => this.#wanted.all.has(nodeID),
      mayBeDialled: ({ host }) => allowPrivateAddresses || isPublicAddress(host),
    });
  }

  #createDiscovery() {
    const { clock, random, logger, bootstrapPeers } = this.#options;
    return createPeerDiscovery({
      clock,
      random,
      logger,
      book: this.#book,
      bootstrapPeers,
      gossipIntervals: GOSSIP_INTERVALS,
      dialsPerSecond: this.#limits.dialsPerSecond,
      isWanted: (nodeID) => this.#wanted.all.has(nodeID),
      isSearching: () => !this.#wanted.all.isSubsetOf(this.#ready),
      readyPeers: () => [...this.#ready],
      send: (nodeID, payload) => void this.#open.get(nodeID)?.send(payload),
      onAddress: (nodeID) => this.#onAddress(nodeID),
      onClaim: (result) => this.#metrics.addresses.inc({ result: result === 'first' ? 'new' : result }),
    });
  }

  #createSchedule(): DialSchedule {
    const { clock, identity, random } = this.#options;
    return new DialSchedule({
      limits: this.#limits,
      random,
      nowMs: clock.monotonicMs(),
      hasAddress: (nodeID) => nodeID !== identity.nodeID && this.#book.endpoints(nodeID).length > 0,
      preferredNodes: () => this.#wanted.preferred,
      knownNodes: () => this.#book.nodeIDs(),
    });
  }

  #createPeerOptions(): PeerOptions {
    const { clock, dial, identity, networkID } = this.#options;
    return {
      clock,
      networkID,
      maxSendQueueBytes: this.#limits.maxSendQueueBytes,
      dial: dial ?? createTlsDial(identity),
      scheduler: new EventLoopScheduler(clock, MAX_MESSAGES_PER_YIELD),
      unrequested: this.#unrequested,
      events: {
        createHandshake: () => this.#createOwnHandshake(),
        onReady: (peer, handshake, peerList) => {
          this.#onReady(peer, handshake);
          this.#discovery.onHandshakePeerList(peer.nodeID, peerList);
        },
        onPeerList: ({ nodeID }, peerList) => this.#discovery.onPeerList(nodeID, peerList),
        onAppResponse: ({ nodeID }, response) => this.#requests.onResponse(nodeID, response),
        onAppError: ({ nodeID }, error) => this.#requests.onError(nodeID, error),
        onClosed: (peer, end) => this.#onClosed(peer, end),
        onBytes: (direction, count) => this.#metrics.onBytes(direction, count),
      },
    };
  }

  #createOwnHandshake() {
    const { current } = this.#version;
    // No node is dialled before the version is known.
    if (current === undefined) throw new Error('a handshake needs the node version');
    const nowMs = this.#options.clock.monotonicMs();
    return this.#createHandshake(current, this.#book.knownPeers(nowMs, FILTER_MAX_AGE_MS));
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
    return this.obstacle(nodeID)?.reason;
  }

  obstacle(nodeID: NodeID): Obstacle | undefined {
    if (this.#ready.has(nodeID)) return undefined;
    if (nodeID === this.#options.identity.nodeID) return { cause: 'own_node', reason: 'this is our own NodeID' };
    const lastEnd = this.#schedule.lastEnd(nodeID);
    if (lastEnd !== undefined) return lastEnd;
    if (this.#open.has(nodeID)) return { cause: 'connecting', reason: 'still connecting' };
    if (!this.#book.has(nodeID)) return { cause: 'no_address', reason: 'no address known' };
    if (this.endpoints(nodeID).length === 0) return { cause: 'private_address', reason: 'its address is private' };
    if (this.#version.current === undefined) {
      return { cause: 'version_unknown', reason: 'the node version of the network was not received yet' };
    }
    if (this.#schedule.isFull) return { cause: 'no_room', reason: 'too many connections' };
    return { cause: 'connecting', reason: 'not dialled yet' };
  }

  describe(nodeID: NodeID): PeerView {
    const state = this.#open.get(nodeID)?.state;
    const { handshake } = state?.kind === 'ready' ? state : {};
    return {
      obstacle: this.obstacle(nodeID),
      address: this.#book.signedEndpoint(nodeID),
      client: handshake && {
        name: handshake.clientName,
        version: handshake.version,
        clockOffsetMs: handshake.clockOffsetMs,
      },
    };
  }

  endpoints(nodeID: NodeID): readonly Endpoint[] {
    return this.#book.endpoints(nodeID);
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
    const peer = this.#open.get(nodeID);
    if (peer?.state.kind === 'ready') return this.#requests.send(nodeID, chainID, appBytes, request, peer);
    if (request.signal.aborted) return Promise.reject(request.signal.reason);
    return Promise.resolve({ kind: 'unreachable', reason: this.obstacle(nodeID)?.reason ?? 'not connected' });
  }

  stats(): PeerCounts {
    return {
      connected: this.#ready.size,
      turnedAway: this.#schedule.turnedAwayCount(this.#options.clock.monotonicMs()),
      wanted: this.#wanted.all.size,
      knownAddresses: this.#book.size,
    };
  }

  #scheduleTick(): () => void {
    return this.#options.clock.after(TICK_MS, () => {
      this.#cancelTick = this.#scheduleTick();
      const nowMs = this.#options.clock.monotonicMs();
      this.#unrequested.tick();
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

  #onReady({ nodeID, endpoint: { host, port } }: Peer, { address }: PeerIntroduction): void {
    this.#ready.add(nodeID);
    this.#schedule.onReady(nodeID);
    this.#metrics.readies.inc();
    this.#options.logger.debug({ nodeId: nodeID, host, port }, 'peer ready');
    this.#changes.announce(nodeID);
    this.#book.addSigned(nodeID, address);
  }

  #onClosed({ nodeID, endpoint: { host, port } }: Peer, end: ConnectionEnd): void {
    const { cause, reason } = end;
    this.#open.delete(nodeID);
    const wasReady = this.#ready.delete(nodeID);
    this.#schedule.onClosed(nodeID, end, this.#options.clock.monotonicMs());
    this.#metrics.closed.inc({ cause });
    this.#discovery.onDisconnected(nodeID);
    this.#options.logger.debug({ nodeId: nodeID, host, port, cause, reason }, 'peer closed');
    // The network may require a newer version.
    if (cause === 'handshake' || cause === 'version') this.#version.expire();
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

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#cancelTick();
    this.#discovery.close();
    this.#version.close();
    for (const peer of Array.from(this.#open.values())) peer.close('shutdown', 'we are shutting down');
    this.#metrics.publishBytes();
    this.#changes.close(new Error('the peer network is closed'));
  }
}
