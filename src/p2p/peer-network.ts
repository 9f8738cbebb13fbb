import type { Clock, Random } from '../lib/concurrency/clock.ts';
import { EventLoopScheduler } from '../lib/concurrency/event-loop-scheduler.ts';
import type { Logger } from '../telemetry/logger.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { BlockchainID, NodeID } from '../warp/ids.ts';
import { type AppOutcome, type AppRequestOptions, createAppRequests } from './connection/app-requests.ts';
import { ConnectionChanges } from './connection/connection-changes.ts';
import type { Dial } from './connection/dial.ts';
import { createOwnHandshakes, type NodeVersion } from './connection/handshake.ts';
import { MAX_SEND_QUEUE_BYTES, Peer, type PeerOptions } from './connection/peer.ts';
import { createTlsDial } from './connection/tls-dial.ts';
import { createVersionWatch } from './connection/version-watch.ts';
import { createAddressBook } from './discovery/address-book.ts';
import {
  type ConnectionEnd,
  createDialSchedule,
  DEFAULT_DIAL_LIMITS,
  type DialLimits,
} from './discovery/dial-schedule.ts';
import { MAX_DIALS_PER_STEP } from './discovery/peer-decisions.ts';
import { type BootstrapPeer, createPeerDiscovery } from './discovery/peer-discovery.ts';
import { createWantedNodes, type WantedChange } from './discovery/wanted-nodes.ts';
import type { Identity } from './identity/identity.ts';
import { createPeerMetrics } from './peer-metrics.ts';
import type { Obstacle, PeerView } from './peer-view.ts';
import { type Endpoint, isPublicAddress } from './wire/ip-address.ts';

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

const TICK_MS = 250;
const MAX_KNOWN_ADDRESSES = 20_000;
/** App requests that wait for a response: two fan-outs to all validators, or a few hundred to a large L1. */
const MAX_PENDING_REQUESTS = 32_768;
const GOSSIP_INTERVALS = { minMs: 500, maxMs: 30_000 };
/** Messages of all peers before a yield to the event loop. One takes some 30 µs, and hundreds arrive after a pause of this process. */
const MAX_MESSAGES_PER_YIELD = 32;
/** The filter only saves bytes in a Handshake. */
const FILTER_MAX_AGE_MS = 60_000;

export interface PeerCounts {
  readonly connected: number;
  /** Nodes that have been closing our connections right after TLS for some time. */
  readonly turnedAway: number;
  readonly wanted: number;
  readonly knownAddresses: number;
}

/** Connections of one network to its validators; {@link openPeerNetwork} opens them. */
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
  const { clock, identity, logger, networkID, random } = options;
  const { nodeID: ownNodeID } = identity;
  const limits = { ...DEFAULT_DIAL_LIMITS, maxSendQueueBytes: MAX_SEND_QUEUE_BYTES, ...options.limits };
  const open = new Map<NodeID, Peer>();
  /** Open connections that can send requests. */
  const ready = new Set<NodeID>();
  const changes = new ConnectionChanges();
  const wanted = createWantedNodes(ownNodeID);
  const createHandshake = createOwnHandshakes({ identity, networkID, clock });
  const metrics = createPeerMetrics(options.metrics, {
    connected: () => ready.size,
    connecting: () => schedule.connectingCount,
    wanted: () => wanted.all,
    obstacleOf: findObstacle,
    knownAddresses: () => book.size,
    pendingRequests: () => requests.size,
  });
  const requests = createAppRequests(clock, MAX_PENDING_REQUESTS, {
    beforeTimeout: (nodeID) => open.get(nodeID)?.handleReceived(),
    onEnd: (outcome, ms) => metrics.onAppRequest(outcome, ms / 1_000),
  });
  const book = createAddressBook({
    maxEntries: MAX_KNOWN_ADDRESSES,
    random,
    isWanted: (nodeID) => wanted.all.has(nodeID),
    mayBeDialled: ({ host }) => options.allowPrivateAddresses || isPublicAddress(host),
  });
  const discovery = createPeerDiscovery({
    clock,
    random,
    logger,
    book,
    bootstrapPeers: options.bootstrapPeers,
    gossipIntervals: GOSSIP_INTERVALS,
    dialsPerSecond: limits.dialsPerSecond,
    isWanted: (nodeID) => wanted.all.has(nodeID),
    isSearching: () => !wanted.all.isSubsetOf(ready),
    readyPeers: () => [...ready],
    send: (nodeID, payload) => void open.get(nodeID)?.send(payload),
    onAddress,
    onClaim: (result) => metrics.addresses.inc({ result: result === 'first' ? 'new' : result }),
  });
  const version = createVersionWatch({ clock, logger, request: options.nodeVersion, onAnswer: queueStep });
  const schedule = createDialSchedule({
    limits,
    random,
    nowMs: clock.monotonicMs(),
    hasAddress: (nodeID) => nodeID !== ownNodeID && book.endpoints(nodeID).length > 0,
    preferredNodes: () => wanted.preferred,
    knownNodes: () => book.nodeIDs(),
  });
  const peerOptions: PeerOptions = {
    clock,
    networkID,
    maxSendQueueBytes: limits.maxSendQueueBytes,
    dial: options.dial ?? createTlsDial(identity),
    scheduler: new EventLoopScheduler(clock, MAX_MESSAGES_PER_YIELD),
    events: {
      createHandshake() {
        const { current } = version;
        // No node is dialled before the version is known.
        if (current === undefined) throw new Error('a handshake needs the node version');
        return createHandshake(current, book.knownPeers(clock.monotonicMs(), FILTER_MAX_AGE_MS));
      },
      onReady({ nodeID, endpoint: { host, port } }, handshake, peerList) {
        ready.add(nodeID);
        schedule.onReady(nodeID);
        metrics.readies.inc();
        logger.debug({ nodeId: nodeID, host, port }, 'peer ready');
        changes.announce(nodeID);
        book.addSigned(nodeID, handshake.address);
        discovery.onHandshakePeerList(nodeID, peerList);
      },
      onPeerList: ({ nodeID }, peerList) => discovery.onPeerList(nodeID, peerList),
      onAppResponse: ({ nodeID }, response) => requests.onResponse(nodeID, response),
      onAppError: ({ nodeID }, error) => requests.onError(nodeID, error),
      onClosed,
      onBytes: (direction, count) => metrics.onBytes(direction, count),
    },
  };
  let isStepQueued = false;
  let isClosed = false;
  let cancelTick = scheduleTick();
  queueStep();

  function scheduleTick(): () => void {
    return clock.after(TICK_MS, () => {
      cancelTick = scheduleTick();
      const nowMs = clock.monotonicMs();
      for (const peer of open.values()) peer.tick(nowMs);
      for (const nodeID of schedule.dueDisconnects(nowMs)) open.get(nodeID)?.close('unwanted', 'not wanted any more');
      metrics.publishBytes();
      step();
    });
  }

  /** Runs one step after a yield to the event loop. */
  function queueStep(): void {
    if (isStepQueued) return;
    isStepQueued = true;
    clock.afterTurn(() => {
      isStepQueued = false;
      step();
    });
  }

  function step(): void {
    if (isClosed) return;
    const nowMs = clock.monotonicMs();
    discovery.tick(nowMs);
    version.tick(nowMs);
    if (version.current === undefined) return;
    const due = schedule.takeDue(nowMs);
    for (const nodeID of due) dial(nodeID);
    if (due.length >= MAX_DIALS_PER_STEP) queueStep();
  }

  function dial(nodeID: NodeID): void {
    const endpoints = book.endpoints(nodeID);
    // Alternates between the signed and the reported address after failures.
    const endpoint = endpoints[schedule.failures(nodeID) % endpoints.length];
    // Only nodes with an address are due.
    if (endpoint === undefined) throw new Error(`${nodeID} is to be dialled without an address`);
    open.set(nodeID, new Peer(nodeID, endpoint, peerOptions));
    metrics.dials.inc();
  }

  function onClosed({ nodeID, endpoint: { host, port } }: Peer, end: ConnectionEnd): void {
    const { cause, reason } = end;
    open.delete(nodeID);
    const wasReady = ready.delete(nodeID);
    schedule.onClosed(nodeID, end, clock.monotonicMs());
    metrics.closed.inc({ cause });
    discovery.onDisconnected(nodeID);
    logger.debug({ nodeId: nodeID, host, port, cause, reason }, 'peer closed');
    // The network may require a newer version.
    if (cause === 'handshake' || cause === 'version') version.expire();
    if (wasReady) {
      requests.onDisconnected(nodeID, reason);
      if (wanted.all.has(nodeID)) discovery.searchEagerly();
    }
    changes.announce(nodeID);
  }

  function onAddress(nodeID: NodeID): void {
    if (!ready.has(nodeID) && schedule.onNewAddress(nodeID, clock.monotonicMs())) {
      discovery.searchEagerly();
      const peer = open.get(nodeID);
      const [best] = book.endpoints(nodeID);
      if (peer !== undefined && (peer.endpoint.host !== best?.host || peer.endpoint.port !== best.port)) {
        peer.close('superseded', 'a newer address became known');
      }
    }
    queueStep();
  }

  function onWantedChange({ added, removed }: WantedChange): void {
    const nowMs = clock.monotonicMs();
    for (const nodeID of added) {
      schedule.want(nodeID, nowMs);
      if (!ready.has(nodeID)) discovery.searchEagerly();
    }
    for (const nodeID of removed) schedule.unwant(nodeID, nowMs);
    queueStep();
  }

  function findObstacle(nodeID: NodeID): Obstacle | undefined {
    if (ready.has(nodeID)) return undefined;
    if (nodeID === ownNodeID) return { cause: 'own_node', reason: 'this is our own NodeID' };
    const lastEnd = schedule.lastEnd(nodeID);
    if (lastEnd !== undefined) return lastEnd;
    if (open.has(nodeID)) return { cause: 'connecting', reason: 'still connecting' };
    if (!book.has(nodeID)) return { cause: 'no_address', reason: 'no address known' };
    if (book.endpoints(nodeID).length === 0) return { cause: 'private_address', reason: 'its address is private' };
    if (version.current === undefined) {
      return { cause: 'version_unknown', reason: 'the node version of the network was not received yet' };
    }
    if (schedule.isFull) return { cause: 'no_room', reason: 'too many connections' };
    return { cause: 'connecting', reason: 'not dialled yet' };
  }

  return {
    want: (name: string, nodeIDs: ReadonlySet<NodeID>, isPreferred = false): void =>
      onWantedChange(wanted.set(name, nodeIDs, isPreferred)),
    unwant: (name: string): void => onWantedChange(wanted.delete(name)),
    bootstrapAgain: (): void => discovery.bootstrapAgain(),
    isConnected: (nodeID: NodeID): boolean => ready.has(nodeID),
    lastFailure: (nodeID: NodeID): string | undefined => findObstacle(nodeID)?.reason,
    obstacle: findObstacle,
    describe(nodeID: NodeID): PeerView {
      const state = open.get(nodeID)?.state;
      const { handshake } = state?.kind === 'ready' ? state : {};
      return {
        obstacle: findObstacle(nodeID),
        address: book.signedEndpoint(nodeID),
        client: handshake && {
          name: handshake.clientName,
          version: handshake.version,
          clockOffsetMs: handshake.clockOffsetMs,
        },
      };
    },
    endpoints: (nodeID: NodeID): readonly Endpoint[] => book.endpoints(nodeID),
    waitUntil: (predicate: () => boolean, signal: AbortSignal): Promise<void> => changes.waitUntil(predicate, signal),
    onConnectionChange: (listener: () => void): (() => void) => changes.listen(listener),
    onNodeChange: (listener: (nodeID: NodeID) => void): (() => void) => changes.listenToNodes(listener),
    appRequest(
      nodeID: NodeID,
      chainID: BlockchainID,
      appBytes: Uint8Array,
      request: AppRequestOptions,
    ): Promise<AppOutcome> {
      const peer = open.get(nodeID);
      if (peer?.state.kind === 'ready') return requests.send(nodeID, chainID, appBytes, request, peer);
      if (request.signal.aborted) return Promise.reject(request.signal.reason);
      return Promise.resolve({ kind: 'unreachable', reason: findObstacle(nodeID)?.reason ?? 'not connected' });
    },
    stats: () => ({
      connected: ready.size,
      turnedAway: schedule.turnedAwayCount(clock.monotonicMs()),
      wanted: wanted.all.size,
      knownAddresses: book.size,
    }),
    async [Symbol.asyncDispose](): Promise<void> {
      if (isClosed) return;
      isClosed = true;
      cancelTick();
      discovery.close();
      version.close();
      for (const peer of Array.from(open.values())) peer.close('shutdown', 'we are shutting down');
      metrics.publishBytes();
      changes.close(new Error('the peer network is closed'));
    },
  };
}
