import type { SecureContext } from 'node:tls';
import type { Registry } from 'prom-client';
import type { Clock, Random } from '../primitives/clock.ts';
import { startDeadline } from '../primitives/deadline.ts';
import type { BlockchainID, NodeID } from '../primitives/ids.ts';
import { AddressBook } from './address-book.ts';
import { type AppOutcome, type AppRequestOptions, AppRequests } from './app-requests.ts';
import { createBlsSecretKey, createHandshake, type NodeVersion, signAddressWithBls } from './handshake.ts';
import { createIdentityContext, type Identity } from './identity.ts';
import type { PeerMessageInit } from './messages.ts';
import { type CloseCause, Peer, type PeerEvents, type PeerSettings } from './peer.ts';
import { type DialCandidate, nextBackoffMs, permittedEndpoints, planDials, planDisconnects } from './peer-decisions.ts';
import { type BootstrapPeer, PeerDiscovery } from './peer-discovery.ts';
import type { PeerLogger } from './peer-logger.ts';
import { createPeerMetrics, type PeerMetrics } from './peer-metrics.ts';
import { signAddress } from './signed-address.ts';

/** Bounds and times of the peer network. */
export interface PeerLimits {
  /** For TCP to stand. */
  readonly dialTimeoutMs: number;
  /** For TLS to stand. A frozen node takes the TCP connection and hangs here. */
  readonly tlsTimeoutMs: number;
  /** For both Handshakes and the PeerLists that confirm them. */
  readonly handshakeTimeoutMs: number;
  /** Nodes ping every 22.5 s, and we after `pingAfterMs`: who says nothing for this long is gone. */
  readonly silenceTimeoutMs: number;
  readonly pingAfterMs: number;
  /** Pause after the first failure; grows by [1, 2) each time. */
  readonly initialBackoffMs: number;
  readonly maxBackoffMs: number;
  /** The backoff starts anew after a connection that was ready for this long. */
  readonly stableAfterMs: number;
  /** The first attempt after such a connection broke comes at random within this time. */
  readonly firstRedialMs: number;
  readonly dialsPerSecond: number;
  /** Connections being set up at the same time: what dials that all hang until their timeout add up to. */
  readonly maxConnecting: number;
  readonly maxConnections: number;
  readonly maxKnownAddresses: number;
  /** App requests that wait for an answer, over all peers. */
  readonly maxPendingRequests: number;
  /** Bytes that may wait for one peer. */
  readonly maxSendQueueBytes: number;
  /** Peers that nobody wants but that are kept connected to learn addresses from. */
  readonly gossipSources: number;
  /** How long other connections outlive the last wish for them. */
  readonly unwantedGraceMs: number;
  readonly minGossipIntervalMs: number;
  readonly maxGossipIntervalMs: number;
}

const DEFAULT_PEER_LIMITS: PeerLimits = {
  dialTimeoutMs: 10_000,
  // The reference node gives up TLS after 15 s, and one that is alive answers within a second.
  tlsTimeoutMs: 10_000,
  handshakeTimeoutMs: 10_000,
  // The reference node's 30 s, and a margin for its ping that was on the way.
  silenceTimeoutMs: 35_000,
  pingAfterMs: 12_000,
  initialBackoffMs: 1_000,
  maxBackoffMs: 60_000,
  // Nodes refuse a second connection from one address within 10 s.
  stableAfterMs: 10_000,
  firstRedialMs: 500,
  dialsPerSecond: 50,
  // 50 dials a second that take 10 s each.
  maxConnecting: 500,
  // 10,000 L1 validators, 1,000 of the primary network, and some spare.
  maxConnections: 12_000,
  maxKnownAddresses: 20_000,
  // Two fan-outs to everybody, or some hundred to a large L1.
  maxPendingRequests: 32_768,
  // Twice the longest frame; a signature request has some 300 bytes.
  maxSendQueueBytes: 4 * 1024 * 1024,
  gossipSources: 5,
  unwantedGraceMs: 300_000,
  minGossipIntervalMs: 500,
  maxGossipIntervalMs: 30_000,
};

export interface PeerNetworkOptions {
  readonly identity: Identity;
  readonly networkID: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: PeerLogger;
  /** Where this network's metrics are registered: one registry cannot hold two networks without labels of its own. */
  readonly registry: Registry;
  /** The version for the handshake, as the API node's: asked again for later connections, so that an upgrade is followed. */
  readonly nodeVersion: (signal: AbortSignal) => Promise<NodeVersion>;
  /**
   * First addresses: those of `info.peers`, of the API node itself and of the configuration. Asked at the start, and again,
   * ever more seldom, while wanted nodes are not connected.
   */
  readonly bootstrapPeers: (signal: AbortSignal) => Promise<readonly BootstrapPeer[]>;
  /** Also permits host names, of which nobody knows where they lead. */
  readonly allowPrivateAddresses: boolean;
  readonly limits?: Partial<PeerLimits>;
}

export interface PeerNetworkStats {
  /** Peers ready for requests, wanted or not. */
  readonly connected: number;
  readonly wanted: number;
  readonly knownAddresses: number;
}

/** Connections to validators. A peer's failure is a value everywhere; nothing a peer does makes a method throw. */
export interface PeerNetwork extends AsyncDisposable {
  readonly nodeID: NodeID;
  /**
   * The nodes that connections are wanted to, under a name such as a subnet ID; replaces the earlier set of that name.
   * Connections in no set any more are closed after some minutes, but for a few that addresses are learnt from.
   */
  want(name: string, nodeIDs: ReadonlySet<NodeID>): void;
  unwant(name: string): void;
  /** Whether requests can be sent to the node now. */
  isConnected(nodeID: NodeID): boolean;
  /** Why a node is not connected, in some words for people; undefined while it is. */
  lastFailure(nodeID: NodeID): string | undefined;
  /**
   * Resolves as soon as the predicate holds, which is checked at once and whenever a connection got ready, ended or failed.
   * Rejects with the signal's reason, or where the predicate throws or the network is closed.
   */
  waitUntil(predicate: () => boolean, signal: AbortSignal): Promise<void>;
  /** Calls back after every change of a connection, many at once as one; returns the unsubscription. */
  onConnectionChange(listener: () => void): () => void;
  /** Rejects with the signal's reason, and with nothing else. */
  appRequest(
    nodeID: NodeID,
    chainID: BlockchainID,
    appBytes: Uint8Array,
    options: AppRequestOptions,
  ): Promise<AppOutcome>;
  stats(): PeerNetworkStats;
}

/** Starts to connect at once. Dispose it to close all connections. */
export function createPeerNetwork(options: PeerNetworkOptions): PeerNetwork {
  return new DialingPeerNetwork(options);
}

/** Name under which nodes are told what we are; free to choose. */
const CLIENT_NAME = 'avalanchego';
/** Nobody can dial us; nodes take this address for what it is and tell nobody. */
const OWN_ADDRESS = { host: '0.0.0.0', port: 1 };
/** How often deadlines are checked, and dials spread. */
const TICK_MS = 250;
/** The filter of a Handshake may be this old: it only saves bytes there. */
const FILTER_MAX_AGE_MS = 60_000;
/** A dial takes a third of a millisecond of ours: after this many, others have their turn. */
const MAX_DIALS_PER_STEP = 32;
/**
 * Dials not older than this that may be on their way: TLS takes a millisecond or two of ours each, and hundreds that come
 * at once would hold up all else for a second. Older ones do not count, as they hang without taking any of our time.
 */
const MAX_YOUNG_DIALS = 100;
const YOUNG_DIAL_MS = 2_000;
/** A node that signs new addresses all the time is not redialled more often than this. */
const MIN_REDIAL_MS = 1_000;
/** How long a version is taken for the present one, and how soon it is asked again after a refused handshake or a failure. */
const VERSION_MAX_AGE_MS = 60_000;
const VERSION_RETRY_MS = 2_000;
const VERSION_TIMEOUT_MS = 10_000;
/** How many of the known nodes are considered as first sources of addresses. The API's come first. */
const MAX_SOURCE_CANDIDATES = 256;

/** A node that is wanted, connected, or was lately tried. Times are monotonic. */
interface NodeRecord {
  readonly nodeID: NodeID;
  peer: Peer | undefined;
  /** Failed attempts since the last connection that lasted, or since the last new address. */
  failures: number;
  backoffMs: number;
  nextDialAtMs: number;
  lastDialAtMs: number;
  lastFailure: string | undefined;
  /** Undefined while it is wanted. */
  unwantedSinceMs: number | undefined;
}

interface Waiter {
  readonly predicate: () => boolean;
  readonly resolve: () => void;
  readonly reject: (reason: unknown) => void;
}

class DialingPeerNetwork implements PeerNetwork {
  readonly nodeID: NodeID;
  readonly #options: PeerNetworkOptions;
  readonly #limits: PeerLimits;
  readonly #settings: PeerSettings;
  readonly #events: PeerEvents;
  readonly #metrics: PeerMetrics;
  readonly #secureContext: SecureContext;
  readonly #address;
  readonly #blsSignature: Uint8Array;
  readonly #book: AddressBook;
  readonly #discovery: PeerDiscovery;
  readonly #requests: AppRequests;

  readonly #wantedSets = new Map<string, ReadonlySet<NodeID>>();
  #wanted: ReadonlySet<NodeID> = new Set();
  /** Bound: wanted nodes, and the few sources of addresses. */
  readonly #records = new Map<NodeID, NodeRecord>();
  readonly #open = new Map<NodeID, Peer>();
  readonly #connecting = new Set<NodeID>();
  readonly #ready = new Set<NodeID>();
  readonly #waiters = new Set<Waiter>();
  readonly #changeListeners = new Set<() => void>();

  #version: { value: NodeVersion; askedAtMs: number } | undefined;
  #isVersionDoubtful = false;
  #versionAsk: { state: 'idle' | 'running'; notBeforeMs: number; failure: string | undefined };
  #dialTokens: number;
  #dialTokensAtMs: number;
  /** The last step might have dialled more, had it been allowed to. */
  #isDialBacklog = false;
  #isStepQueued = false;
  #isChangeQueued = false;
  #cancelTick: () => void;
  readonly #closing = new AbortController();

  constructor(options: PeerNetworkOptions) {
    const { clock, identity, random, registry } = options;
    this.#options = options;
    this.nodeID = identity.nodeID;
    this.#limits = { ...DEFAULT_PEER_LIMITS, ...options.limits };
    this.#settings = { networkID: options.networkID, ...this.#limits };
    this.#secureContext = createIdentityContext(identity);
    const unsigned = { ...OWN_ADDRESS, timestamp: BigInt(Math.floor(clock.now() / 1000)) };
    this.#address = signAddress(identity, unsigned);
    this.#blsSignature = signAddressWithBls(unsigned, createBlsSecretKey());
    this.#metrics = createPeerMetrics(registry, () => ({
      connected: this.#ready.size,
      connecting: this.#connecting.size,
      wanted: this.#wanted.size,
      knownAddresses: this.#book.size,
      pendingRequests: this.#requests.size,
    }));
    this.#requests = new AppRequests(clock, this.#limits.maxPendingRequests);
    this.#book = new AddressBook({
      maxEntries: this.#limits.maxKnownAddresses,
      random,
      isWanted: (nodeID) => this.#wanted.has(nodeID),
    });
    this.#discovery = new PeerDiscovery({
      clock,
      random,
      logger: options.logger,
      metrics: this.#metrics,
      book: this.#book,
      bootstrapPeers: options.bootstrapPeers,
      gossipIntervals: { minMs: this.#limits.minGossipIntervalMs, maxMs: this.#limits.maxGossipIntervalMs },
      isSearching: () => this.#isSearching(),
      readyPeers: () => [...this.#ready],
      send: (nodeID, payload) => void this.#open.get(nodeID)?.send(payload),
      onAddress: (nodeID) => this.#onAddress(nodeID),
    });
    this.#events = {
      createHandshake: () => this.#createHandshake(),
      onReady: (peer, handshake, peerList) => {
        this.#connecting.delete(peer.nodeID);
        this.#ready.add(peer.nodeID);
        this.#metrics.onReady();
        this.#options.logger.debug(
          { nodeID: peer.nodeID, host: peer.endpoint.host, port: peer.endpoint.port },
          'peer ready',
        );
        this.#queueChange();
        this.#book.addSigned(peer.nodeID, handshake.address);
        this.#discovery.onHandshakePeerList(peer.nodeID, peerList);
      },
      onPeerList: (peer, peerList) => this.#discovery.onPeerList(peer.nodeID, peerList),
      onAppResponse: (peer, response) => this.#requests.onResponse(peer.nodeID, response),
      onAppError: (peer, error) => this.#requests.onError(peer.nodeID, error),
      onClosed: (peer, { cause, reason, readyForMs }) => this.#onClosed(peer, cause, reason, readyForMs),
      onBytes: (direction, count) => this.#metrics.onBytes(direction, count),
    };

    const nowMs = clock.monotonicMs();
    this.#dialTokens = this.#limits.dialsPerSecond;
    this.#dialTokensAtMs = nowMs;
    this.#versionAsk = { state: 'idle', notBeforeMs: nowMs, failure: undefined };
    this.#cancelTick = this.#scheduleTick();
    this.#queueStep();
  }

  want(name: string, nodeIDs: ReadonlySet<NodeID>): void {
    this.#wantedSets.set(name, new Set(nodeIDs));
    this.#updateWanted();
  }

  unwant(name: string): void {
    if (this.#wantedSets.delete(name)) this.#updateWanted();
  }

  isConnected(nodeID: NodeID): boolean {
    return this.#ready.has(nodeID);
  }

  lastFailure(nodeID: NodeID): string | undefined {
    if (this.#ready.has(nodeID)) return undefined;
    if (nodeID === this.nodeID) return 'this is our own NodeID';
    const record = this.#records.get(nodeID);
    if (record?.lastFailure !== undefined) return record.lastFailure;
    if (record?.peer !== undefined) return 'still connecting';
    if (!this.#book.has(nodeID)) return 'no address known';
    if (this.#endpoints(nodeID).length === 0) return 'its address is private';
    if (this.#version === undefined) {
      return `the node version of the network is not known: ${this.#versionAsk.failure ?? 'still asking'}`;
    }
    return this.#open.size >= this.#limits.maxConnections ? 'too many connections' : 'not dialled yet';
  }

  waitUntil(predicate: () => boolean, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#closing.signal.aborted) throw this.#closing.signal.reason;
      signal.throwIfAborted();
      if (predicate()) {
        resolve();
        return;
      }
      const leave = (): void => {
        this.#waiters.delete(waiter);
        signal.removeEventListener('abort', onAbort);
      };
      const waiter: Waiter = {
        predicate,
        resolve: () => {
          leave();
          resolve();
        },
        reject: (reason) => {
          leave();
          reject(reason);
        },
      };
      const onAbort = (): void => waiter.reject(signal.reason);
      signal.addEventListener('abort', onAbort, { once: true });
      this.#waiters.add(waiter);
    });
  }

  onConnectionChange(listener: () => void): () => void {
    this.#changeListeners.add(listener);
    return () => this.#changeListeners.delete(listener);
  }

  async appRequest(
    nodeID: NodeID,
    chainID: BlockchainID,
    appBytes: Uint8Array,
    options: AppRequestOptions,
  ): Promise<AppOutcome> {
    options.signal.throwIfAborted();
    const peer = this.#open.get(nodeID);
    if (peer?.state.kind !== 'ready') {
      return { kind: 'unreachable', reason: this.lastFailure(nodeID) ?? 'not connected' };
    }
    const { clock } = this.#options;
    const startMs = clock.monotonicMs();
    let kind: AppOutcome['kind'] | 'aborted' = 'aborted';
    let isAlive = (): boolean => false;
    const cancelPing = clock.after(options.timeoutMs / 2, () => {
      isAlive = peer.ping();
    });
    try {
      let outcome = await this.#requests.send(nodeID, chainID, appBytes, options, (payload) => peer.send(payload));
      if (outcome.kind === 'silent' && isAlive()) outcome = { kind: 'ignored' };
      kind = outcome.kind;
      return outcome;
    } finally {
      cancelPing();
      this.#metrics.onAppRequest(kind, (this.#options.clock.monotonicMs() - startMs) / 1000);
    }
  }

  stats(): PeerNetworkStats {
    return { connected: this.#ready.size, wanted: this.#wanted.size, knownAddresses: this.#book.size };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#closing.signal.aborted) return;
    this.#closing.abort(new Error('the peer network is closed'));
    this.#cancelTick();
    this.#discovery.close();
    for (const peer of [...this.#open.values()]) peer.close('shutdown', 'we are shutting down');
    for (const waiter of [...this.#waiters]) waiter.reject(this.#closing.signal.reason);
  }

  #scheduleTick(): () => void {
    return this.#options.clock.after(TICK_MS, () => {
      this.#cancelTick = this.#scheduleTick();
      const nowMs = this.#options.clock.monotonicMs();
      for (const peer of this.#open.values()) peer.tick(nowMs);
      this.#disconnectUnwanted(nowMs);
      this.#step();
    });
  }

  /** A step in the next turn of the event loop, once for all that asked for it. */
  #queueStep(): void {
    if (this.#isStepQueued) return;
    this.#isStepQueued = true;
    setImmediate(() => {
      this.#isStepQueued = false;
      this.#step();
    });
  }

  #step(): void {
    if (this.#closing.signal.aborted) return;
    const nowMs = this.#options.clock.monotonicMs();
    this.#discovery.tick(nowMs);
    if (this.#version === undefined || this.#isVersionDoubtful) this.#askVersion(nowMs);
    if (this.#version !== undefined) this.#dialDue(nowMs);
  }

  #dialDue(nowMs: number): void {
    const { dialsPerSecond, gossipSources, maxConnecting, maxConnections } = this.#limits;
    const earned = ((nowMs - this.#dialTokensAtMs) / 1000) * dialsPerSecond;
    this.#dialTokens = Math.min(dialsPerSecond, this.#dialTokens + earned);
    this.#dialTokensAtMs = nowMs;
    const budget = {
      total: Math.min(
        Math.floor(this.#dialTokens),
        maxConnecting - this.#connecting.size,
        maxConnections - this.#open.size,
        MAX_YOUNG_DIALS - this.#countYoungDials(nowMs),
        MAX_DIALS_PER_STEP,
      ),
      unwanted: gossipSources - this.#open.size,
    };
    this.#isDialBacklog = budget.total <= 0;
    if (this.#isDialBacklog) return;
    const plan = planDials(this.#dialCandidates(budget.unwanted > 0, nowMs), budget, nowMs);
    for (const nodeID of plan) this.#dial(nodeID, nowMs);
    this.#dialTokens -= plan.length;
    if (plan.length > 0) this.#askVersion(nowMs);
    this.#isDialBacklog = plan.length === budget.total;
    if (plan.length === MAX_DIALS_PER_STEP) this.#queueStep();
  }

  #countYoungDials(nowMs: number): number {
    let count = 0;
    for (const nodeID of this.#connecting) {
      const record = this.#records.get(nodeID);
      if (record !== undefined && nowMs - record.lastDialAtMs < YOUNG_DIAL_MS) count += 1;
    }
    return count;
  }

  *#dialCandidates(withSources: boolean, nowMs: number): Generator<DialCandidate> {
    for (const record of this.#records.values()) {
      const { nodeID, peer, failures, nextDialAtMs, unwantedSinceMs } = record;
      if (peer !== undefined || unwantedSinceMs !== undefined) continue;
      if (nextDialAtMs > nowMs || this.#endpoints(nodeID).length === 0) continue;
      yield { nodeID, wanted: true, failures, nextDialAtMs };
    }
    if (!withSources) return;
    let considered = 0;
    for (const nodeID of this.#book.nodeIDs()) {
      if (nodeID === this.nodeID || this.#wanted.has(nodeID) || this.#open.has(nodeID)) continue;
      if (this.#endpoints(nodeID).length === 0) continue;
      const { failures, nextDialAtMs } = this.#records.get(nodeID) ?? { failures: 0, nextDialAtMs: nowMs };
      yield { nodeID, wanted: false, failures, nextDialAtMs };
      considered += 1;
      if (considered >= MAX_SOURCE_CANDIDATES) return;
    }
  }

  #dial(nodeID: NodeID, nowMs: number): void {
    const record = this.#record(nodeID, nowMs);
    const endpoints = this.#endpoints(nodeID);
    // The newest signed address first; after a failure also the one we were told.
    const endpoint = endpoints[record.failures % endpoints.length];
    if (endpoint === undefined) return;
    record.lastDialAtMs = nowMs;
    record.peer = new Peer(nodeID, endpoint, {
      clock: this.#options.clock,
      secureContext: this.#secureContext,
      settings: this.#settings,
      events: this.#events,
    });
    this.#open.set(nodeID, record.peer);
    this.#connecting.add(nodeID);
    this.#metrics.onDial();
  }

  #disconnectUnwanted(nowMs: number): void {
    const unwanted: { nodeID: NodeID; unwantedSinceMs: number }[] = [];
    for (const record of this.#records.values()) {
      const { nodeID, peer, unwantedSinceMs } = record;
      if (unwantedSinceMs === undefined) continue;
      if (peer !== undefined) unwanted.push({ nodeID, unwantedSinceMs });
      // A source that failed is remembered until it may be tried again.
      else if (record.nextDialAtMs + this.#limits.maxBackoffMs < nowMs) this.#records.delete(nodeID);
    }
    const limits = { keep: this.#limits.gossipSources, graceMs: this.#limits.unwantedGraceMs };
    for (const nodeID of planDisconnects(unwanted, limits, nowMs)) {
      this.#open.get(nodeID)?.close('unwanted', 'not wanted any more');
    }
  }

  #onClosed(peer: Peer, cause: CloseCause, reason: string, readyForMs: number | undefined): void {
    const { nodeID } = peer;
    const { clock, logger, random } = this.#options;
    this.#open.delete(nodeID);
    this.#connecting.delete(nodeID);
    const wasReady = this.#ready.delete(nodeID);
    this.#metrics.onClosed(cause);
    this.#discovery.onDisconnected(nodeID);
    logger.debug({ nodeID, host: peer.endpoint.host, port: peer.endpoint.port, cause, reason }, 'peer closed');

    const record = this.#records.get(nodeID);
    if (record !== undefined) {
      const nowMs = clock.monotonicMs();
      record.peer = undefined;
      record.lastFailure = reason;
      if (readyForMs !== undefined && readyForMs >= this.#limits.stableAfterMs) {
        record.failures = 0;
        record.backoffMs = 0;
        record.nextDialAtMs = nowMs + this.#limits.firstRedialMs * random();
      } else if (cause !== 'superseded') {
        const { initialBackoffMs: initialMs, maxBackoffMs: maxMs } = this.#limits;
        record.failures += 1;
        record.backoffMs = nextBackoffMs(record.backoffMs, { initialMs, maxMs }, random);
        record.nextDialAtMs = nowMs + record.backoffMs;
      }
      if (cause === 'unwanted') this.#records.delete(nodeID);
    }
    // A refused handshake may mean that the network has moved on to a newer version.
    if (cause === 'handshake') this.#isVersionDoubtful = true;
    if (wasReady) {
      this.#requests.onDisconnected(nodeID, reason);
      if (this.#wanted.has(nodeID)) this.#discovery.stir();
    }
    this.#queueChange();
  }

  #onAddress(nodeID: NodeID): void {
    const record = this.#records.get(nodeID);
    if (record !== undefined && !this.#ready.has(nodeID)) {
      const nowMs = this.#options.clock.monotonicMs();
      this.#discovery.stir();
      record.failures = 0;
      record.nextDialAtMs = Math.max(nowMs, record.lastDialAtMs + MIN_REDIAL_MS);
      const [best] = this.#endpoints(nodeID);
      const tried = record.peer?.endpoint;
      if (tried !== undefined && (tried.host !== best?.host || tried.port !== best.port)) {
        record.peer?.close('superseded', 'a newer address became known');
      }
    }
    this.#queueStep();
  }

  #updateWanted(): void {
    const before = this.#wanted;
    const after = new Set<NodeID>();
    for (const nodeIDs of this.#wantedSets.values()) for (const nodeID of nodeIDs) after.add(nodeID);
    // Our own NodeID may be a validator's, where the operator gave us its certificate.
    after.delete(this.nodeID);
    this.#wanted = after;

    const nowMs = this.#options.clock.monotonicMs();
    for (const nodeID of after) {
      if (before.has(nodeID)) continue;
      this.#record(nodeID, nowMs).unwantedSinceMs = undefined;
      if (!this.#ready.has(nodeID)) this.#discovery.stir();
    }
    for (const nodeID of before) {
      const record = after.has(nodeID) ? undefined : this.#records.get(nodeID);
      if (record === undefined) continue;
      record.unwantedSinceMs = nowMs;
      if (record.peer === undefined) this.#records.delete(nodeID);
    }
    this.#queueStep();
  }

  #record(nodeID: NodeID, nowMs: number): NodeRecord {
    let record = this.#records.get(nodeID);
    if (record === undefined) {
      record = {
        nodeID,
        peer: undefined,
        failures: 0,
        backoffMs: 0,
        nextDialAtMs: nowMs,
        lastDialAtMs: Number.NEGATIVE_INFINITY,
        lastFailure: undefined,
        unwantedSinceMs: nowMs,
      };
      this.#records.set(nodeID, record);
    }
    return record;
  }

  #endpoints(nodeID: NodeID) {
    return permittedEndpoints(this.#book.endpoints(nodeID), this.#options.allowPrivateAddresses);
  }

  #isSearching(): boolean {
    for (const nodeID of this.#wanted) if (!this.#ready.has(nodeID)) return true;
    return false;
  }

  #createHandshake(): PeerMessageInit {
    const { clock, networkID } = this.#options;
    // Nobody is dialled before the version is known.
    if (this.#version === undefined) throw new Error('a handshake needs the node version');
    const value = createHandshake({
      networkID,
      nowMs: clock.now(),
      version: this.#version.value,
      clientName: CLIENT_NAME,
      address: this.#address,
      blsSignature: this.#blsSignature,
      trackedSubnets: [],
      knownPeers: this.#book.knownPeers(clock.monotonicMs(), FILTER_MAX_AGE_MS),
      allSubnets: true,
    });
    return { case: 'handshake', value };
  }

  /** Asks for the node version where it is not known or old. The old one serves until the answer is there. */
  #askVersion(nowMs: number): void {
    if (this.#versionAsk.state === 'running' || nowMs < this.#versionAsk.notBeforeMs) return;
    const isFresh = this.#version !== undefined && nowMs - this.#version.askedAtMs < VERSION_MAX_AGE_MS;
    if (isFresh && !this.#isVersionDoubtful) return;
    this.#versionAsk = { ...this.#versionAsk, state: 'running' };
    void this.#fetchVersion();
  }

  async #fetchVersion(): Promise<void> {
    const { clock, logger, nodeVersion } = this.#options;
    using deadline = startDeadline(clock, VERSION_TIMEOUT_MS, 'asking for the node version', this.#closing.signal);
    let failure: string | undefined;
    try {
      const value = await nodeVersion(deadline.signal);
      this.#version = { value, askedAtMs: clock.monotonicMs() };
      this.#isVersionDoubtful = false;
    } catch (error) {
      if (this.#closing.signal.aborted) return;
      failure = error instanceof Error ? error.message : String(error);
      logger.warn({ err: error }, 'cannot ask for the node version');
    }
    this.#versionAsk = { state: 'idle', notBeforeMs: clock.monotonicMs() + VERSION_RETRY_MS, failure };
    this.#queueStep();
  }

  /** A connection got ready, ended or failed. Checks the waiters' predicates once after all changes of this turn: each may look at thousands of nodes. */
  #queueChange(): void {
    if (this.#isDialBacklog) this.#queueStep();
    if (this.#isChangeQueued) return;
    this.#isChangeQueued = true;
    queueMicrotask(() => {
      this.#isChangeQueued = false;
      for (const listener of [...this.#changeListeners]) listener();
      for (const waiter of [...this.#waiters]) {
        try {
          if (waiter.predicate()) waiter.resolve();
        } catch (error) {
          waiter.reject(error);
        }
      }
    });
  }
}
