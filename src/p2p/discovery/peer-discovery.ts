import { backoffMs } from '../../lib/concurrency/backoff.ts';
import type { Clock, Random } from '../../lib/concurrency/clock.ts';
import { startDeadline } from '../../lib/concurrency/deadline.ts';
import { PenaltyBucket } from '../../lib/concurrency/penalty-bucket.ts';
import { TokenBucket } from '../../lib/concurrency/token-bucket.ts';
import { ParseError } from '../../lib/encoding/parse-error.ts';
import type { NodeID } from '../../warp/ids.ts';
import { encodeKnownPeers } from '../connection/handshake.ts';
import type { ClaimedIpPort, PeerList } from '../gen/p2p_pb.js';
import type { PeerLogger } from '../peer-logger.ts';
import type { PeerMetrics } from '../peer-metrics.ts';
import { isDialable } from '../wire/ip-address.ts';
import { encodeMessage } from '../wire/messages.ts';
import { parseClaimedIpPort, verifySignedAddress } from '../wire/signed-address.ts';
import type { AddressBook, Endpoint } from './address-book.ts';
import { chooseGossipSources, type SearchIntervals, searchIntervalMs } from './peer-decisions.ts';

/** Where the API node or the operator says that a node is. */
export interface BootstrapPeer extends Endpoint {
  readonly nodeID: NodeID;
}

export interface PeerDiscoveryOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: PeerLogger;
  readonly metrics: PeerMetrics;
  readonly book: AddressBook;
  readonly bootstrapPeers: (signal: AbortSignal) => Promise<readonly BootstrapPeer[]>;
  readonly gossipIntervals: SearchIntervals;
  readonly dialsPerSecond: number;
  readonly isWanted: (nodeID: NodeID) => boolean;
  /** Whether a wanted node is not connected. */
  readonly isSearching: () => boolean;
  readonly readyPeers: () => readonly NodeID[];
  readonly send: (nodeID: NodeID, payload: Uint8Array) => void;
  /** A node has an address it did not have before. */
  readonly onAddress: (nodeID: NodeID) => void;
}

/** Questions that may be open at a time. An answer with new addresses is followed by the next question, to another peer. */
const GOSSIP_FAN_OUT = 4;
/** A node that has nothing new does not answer: after this long its question counts as answered, and it may be asked again. */
const GOSSIP_OVERDUE_MS = 500;
/** A later answer is not taken any more. Bounds the state: four questions each half a second, for this long. */
const GOSSIP_ANSWER_MS = 10_000;
/** How old the filter in a question may be: making a new one takes some milliseconds for each thousand known addresses. */
const FILTER_AGES: SearchIntervals = { minMs: 2_000, maxMs: 60_000 };
/** Nodes send at most 15 entries. More than this are not even looked at, since each may cost a verification. */
const MAX_PEER_LIST_ENTRIES = 64;
/** The API is asked again after a tenth of the time that a node has been missing, within these limits. */
const BOOTSTRAP_INTERVALS: SearchIntervals = { minMs: 5_000, maxMs: 300_000 };
/** After a failure of the API. */
const BOOTSTRAP_RETRY = { baseMs: 1_000, maxMs: 30_000 };
const BOOTSTRAP_TIMEOUT_MS = 30_000;

/**
 * Verifications of addresses for each dial that is allowed. One takes a third of a millisecond, so at 50 dials a second they take at
 * most a seventh of one core. A peer can sign new addresses of its own nodes all the time; what is not verified comes again later.
 */
const VERIFICATIONS_PER_DIAL = 8;
/** For longer than a second, however many dials are allowed: a quarter of one core. */
const MAX_VERIFICATIONS_PER_SECOND = 800;
/** Verifications of what one peer sent: nodes send 15 addresses at a time, and mostly known ones. */
const OF_PEER = { capacity: 128, perSecond: 8 };
/** Nodes verify what they pass on, so that a wrong signature is hardly ever an accident. */
const POINTS_OF_WRONG = 8;
/** All peers that are connected. */
const MAX_PEERS = 20_000;

/**
 * Finds out where nodes are: from the API for a start, then from the signed addresses that peers pass on. Fills the
 * {@link AddressBook} and has no other effect; it dials nobody.
 */
export class PeerDiscovery {
  readonly #options: PeerDiscoveryOptions;
  readonly #closing = new AbortController();
  /** When a node last went missing or was found. Monotonic, as all times here. */
  #lastChangeMs: number;
  #lastRoundAtMs = Number.NEGATIVE_INFINITY;
  /** When each peer was asked that has not answered. A PeerList that nobody asked for is not worth its verifications. */
  readonly #asked = new Map<NodeID, number>();
  readonly #lastNews = new Map<NodeID, number>();
  readonly #penalties: PenaltyBucket;
  /** Wanted nodes have a bucket of their own, which addresses that anybody can make up do not empty. */
  readonly #verifications: { readonly wanted: TokenBucket; readonly others: TokenBucket };
  #bootstrap: { state: 'idle' | 'running'; lastAtMs: number; failures: number; succeeded: boolean } = {
    state: 'idle',
    lastAtMs: Number.NEGATIVE_INFINITY,
    failures: 0,
    succeeded: false,
  };

  #isBootstrapOld = false;

  constructor(options: PeerDiscoveryOptions) {
    this.#options = options;
    this.#lastChangeMs = options.clock.monotonicMs();
    this.#penalties = new PenaltyBucket({ ...OF_PEER, clock: options.clock, maxKeys: MAX_PEERS });
    const perSecond = VERIFICATIONS_PER_DIAL * options.dialsPerSecond;
    const createBucket = () =>
      new TokenBucket(
        { capacity: perSecond, perSecond: Math.min(perSecond, MAX_VERIFICATIONS_PER_SECOND) },
        this.#lastChangeMs,
      );
    this.#verifications = { wanted: createBucket(), others: createBucket() };
  }

  /** A node went missing or was found: the pauses between searches start short again. */
  searchEagerly(): void {
    this.#lastChangeMs = this.#options.clock.monotonicMs();
  }

  /** The first peers are others now: the next tick asks for them, whoever is connected. */
  bootstrapAgain(): void {
    this.#isBootstrapOld = true;
  }

  /** To be called a few times a second. */
  tick(nowMs: number): void {
    this.#bootstrapIfDue(nowMs);
    for (const [nodeID, askedAtMs] of this.#asked) {
      if (nowMs - askedAtMs >= GOSSIP_OVERDUE_MS) this.#lastNews.set(nodeID, 0);
      if (nowMs - askedAtMs >= GOSSIP_ANSWER_MS) this.#asked.delete(nodeID);
    }
    const { gossipIntervals, isSearching } = this.#options;
    const intervalMs = isSearching()
      ? searchIntervalMs(nowMs - this.#lastChangeMs, gossipIntervals)
      : gossipIntervals.maxMs;
    if (nowMs - this.#lastRoundAtMs < intervalMs) return;
    this.#lastRoundAtMs = nowMs;
    this.#ask(GOSSIP_FAN_OUT, nowMs);
  }

  /** The addresses with which a peer confirmed our Handshake, chosen by the filter in it. */
  onHandshakePeerList(nodeID: NodeID, peerList: PeerList): void {
    this.#take(nodeID, peerList);
  }

  onPeerList(nodeID: NodeID, peerList: PeerList): void {
    if (this.#asked.delete(nodeID)) this.#take(nodeID, peerList);
  }

  onDisconnected(nodeID: NodeID): void {
    this.#asked.delete(nodeID);
    this.#lastNews.delete(nodeID);
  }

  close(): void {
    this.#closing.abort(new Error('the peer network is closed'));
  }

  #take(nodeID: NodeID, peerList: PeerList): void {
    let news = 0;
    for (const claimed of peerList.claimedIpPorts.slice(0, MAX_PEER_LIST_ENTRIES)) {
      const result = this.#takeClaim(nodeID, claimed);
      this.#options.metrics.onAddress(result === 'first' ? 'new' : result);
      if (result === 'first') news += 1;
    }
    this.#lastNews.set(nodeID, news);
    // Nodes send at most 15 addresses at a time: as long as some are new, there may be more. A later address of a node that has one does
    // not count: a peer can sign those of its own nodes anew for ever, and have us verify them as fast as it answers.
    if (news > 0 && this.#options.isSearching()) this.#ask(1, this.#options.clock.monotonicMs());
  }

  #takeClaim(peer: NodeID, claimed: ClaimedIpPort): 'first' | 'new' | 'known' | 'invalid' | 'skipped' {
    const { book, clock, isWanted, onAddress } = this.#options;
    let isTaken = false;
    try {
      const address = parseClaimedIpPort(claimed);
      if (!book.isNews(address.nodeID, address.timestamp)) return 'known';
      const bucket = isWanted(address.nodeID) ? this.#verifications.wanted : this.#verifications.others;
      if (this.#penalties.level(peer) >= 1 || bucket.left(clock.monotonicMs()) < 1) return 'skipped';
      bucket.spend(1);
      this.#penalties.charge(peer, 1);
      isTaken = true;
      verifySignedAddress(address, clock.now());
      const isFirst = book.signedEndpoint(address.nodeID) === undefined;
      book.addSigned(address.nodeID, address);
      onAddress(address.nodeID);
      return isFirst ? 'first' : 'new';
    } catch (error) {
      if (!(error instanceof ParseError)) throw error;
      if (isTaken) this.#penalties.charge(peer, POINTS_OF_WRONG - 1);
      return 'invalid';
    }
  }

  #ask(count: number, nowMs: number): void {
    const { book, random, readyPeers, send } = this.#options;
    const open = new Set<NodeID>();
    for (const [nodeID, askedAtMs] of this.#asked) if (nowMs - askedAtMs < GOSSIP_OVERDUE_MS) open.add(nodeID);
    const free = Math.min(count, GOSSIP_FAN_OUT - open.size);
    if (free <= 0) return;
    const sources = readyPeers().filter((nodeID) => !open.has(nodeID));
    const chosen = chooseGossipSources(sources, (nodeID) => this.#lastNews.get(nodeID), free, random);
    if (chosen.length === 0) return;
    const knownPeers = encodeKnownPeers(
      book.knownPeers(nowMs, searchIntervalMs(nowMs - this.#lastChangeMs, FILTER_AGES)),
    );
    const payload = encodeMessage({ case: 'getPeerList', value: { knownPeers, allSubnets: true } });
    for (const nodeID of chosen) {
      this.#asked.set(nodeID, nowMs);
      send(nodeID, payload);
    }
  }

  #bootstrapIfDue(nowMs: number): void {
    if (this.#bootstrap.state === 'running') return;
    if (!this.#isBootstrapOld && !this.#isBootstrapDue(nowMs)) return;
    this.#isBootstrapOld = false;
    this.#bootstrap = { ...this.#bootstrap, state: 'running' };
    void this.#askForBootstrapPeers();
  }

  #isBootstrapDue(nowMs: number): boolean {
    const { lastAtMs, failures, succeeded } = this.#bootstrap;
    const { isSearching, readyPeers } = this.#options;
    if (succeeded && !isSearching() && readyPeers().length > 0) return false;
    const waitMs =
      failures > 0
        ? backoffMs(failures, BOOTSTRAP_RETRY)
        : searchIntervalMs(nowMs - this.#lastChangeMs, BOOTSTRAP_INTERVALS);
    return nowMs - lastAtMs >= waitMs;
  }

  async #askForBootstrapPeers(): Promise<void> {
    const { bootstrapPeers, clock, logger } = this.#options;
    using deadline = startDeadline(clock, BOOTSTRAP_TIMEOUT_MS, 'asking for first peers', this.#closing.signal);
    try {
      const peers = await bootstrapPeers(deadline.signal);
      if (this.#closing.signal.aborted) return;
      this.#bootstrap = { state: 'idle', lastAtMs: clock.monotonicMs(), failures: 0, succeeded: true };
      this.#takeReported(peers);
    } catch (error) {
      if (this.#closing.signal.aborted) return;
      const failures = this.#bootstrap.failures + 1;
      this.#bootstrap = { ...this.#bootstrap, state: 'idle', lastAtMs: clock.monotonicMs(), failures };
      logger.warn({ err: error, failures }, 'cannot ask for first peers');
    }
  }

  #takeReported(peers: readonly BootstrapPeer[]): void {
    const { book, onAddress, logger } = this.#options;
    let news = 0;
    for (const { nodeID, host, port } of peers) {
      if (!isDialable({ host, port }) || !book.addReported(nodeID, { host, port })) continue;
      news += 1;
      onAddress(nodeID);
    }
    logger.debug({ reported: peers.length, news }, 'asked for first peers');
  }
}
