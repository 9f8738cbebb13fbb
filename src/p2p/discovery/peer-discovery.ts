import { backoffMs } from '../../lib/concurrency/backoff.ts';
import type { Clock, Random } from '../../lib/concurrency/clock.ts';
import { startDeadline } from '../../lib/concurrency/deadline.ts';
import { PenaltyBucket } from '../../lib/concurrency/penalty-bucket.ts';
import { TokenBucket } from '../../lib/concurrency/token-bucket.ts';
import { ParseError } from '../../lib/encoding/parse-error.ts';
import { createThrottledWarnings } from '../../telemetry/log-throttle.ts';
import type { Logger } from '../../telemetry/logger.ts';
import type { NodeID } from '../../warp/ids.ts';
import type { ClaimedIpPort, PeerList } from '../gen/p2p_pb.js';
import { type Endpoint, isDialable } from '../wire/ip-address.ts';
import { encodeMessage } from '../wire/messages.ts';
import { parseClaimedIpPort, verifySignedAddress } from '../wire/signed-address.ts';
import type { AddressBook } from './address-book.ts';
import { chooseGossipSources, type SearchIntervals, searchIntervalMs } from './peer-decisions.ts';

/** Address from the API node or the configuration. */
export interface BootstrapPeer extends Endpoint {
  readonly nodeID: NodeID;
}

/** `first` is the first address of a node, `new` a newer one, `skipped` one beyond the rate limits. */
export type ClaimResult = 'first' | 'new' | 'known' | 'invalid' | 'skipped';

export interface PeerDiscoveryOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Pick<Logger, 'debug' | 'warn'>;
  readonly book: AddressBook;
  readonly bootstrapPeers: (signal: AbortSignal) => Promise<readonly BootstrapPeer[]>;
  readonly gossipIntervals: SearchIntervals;
  readonly dialsPerSecond: number;
  readonly isWanted: (nodeID: NodeID) => boolean;
  /** Whether a wanted node is not connected. */
  readonly isSearching: () => boolean;
  readonly readyPeers: () => readonly NodeID[];
  readonly send: (nodeID: NodeID, payload: Uint8Array) => void;
  /** Called for each node with a new address. */
  readonly onAddress: (nodeID: NodeID) => void;
  /** Called for each address received from a peer. */
  readonly onClaim: (result: ClaimResult) => void;
}

/** Requests for addresses at a time. A response with new addresses is followed by a request to another peer. */
const GOSSIP_FAN_OUT = 4;
/** A node without new addresses does not respond: after this time its request counts as ended. */
const GOSSIP_OVERDUE_MS = 500;
/** A later response is dropped. Bounds the state to four requests each half a second. */
const GOSSIP_ANSWER_MS = 10_000;
/** Age of the filter in a request. A new one takes some milliseconds for each thousand addresses. */
const FILTER_AGES: SearchIntervals = { minMs: 2_000, maxMs: 60_000 };
/** Nodes send at most 15 entries. Further ones are ignored, because each may cost a verification. */
const MAX_PEER_LIST_ENTRIES = 64;
/** Limits of the pause between requests for bootstrap peers. */
const BOOTSTRAP_INTERVALS: SearchIntervals = { minMs: 5_000, maxMs: 300_000 };
const BOOTSTRAP_RETRY = { baseMs: 1_000, maxMs: 30_000 };
const BOOTSTRAP_TIMEOUT_MS = 30_000;

/**
 * A verification takes a third of a millisecond, so at 50 dials a second they take at most a seventh of one core. A peer can sign new
 * addresses of its nodes all the time. Skipped addresses are received again later.
 */
const VERIFICATIONS_PER_DIAL = 8;
/** A quarter of one core. */
const MAX_VERIFICATIONS_PER_SECOND = 800;
/** Verifications for one peer: nodes send 15 addresses at a time, mostly known ones. */
const PEER_VERIFICATIONS = { capacity: 128, perSecond: 8 };
/** Penalty for an invalid signature, which nodes never pass on. */
const INVALID_SIGNATURE_POINTS = 8;
/** Connected peers. */
const MAX_PEERS = 20_000;

/** Fills the {@link AddressBook} from the API and then from the signed addresses that peers pass on. It does not dial. */
export interface PeerDiscovery {
  /** Call it a few times a second. */
  tick(nowMs: number): void;
  /** Resets the pauses between searches, after a node went missing or was found. */
  searchEagerly(): void;
  /** Requests bootstrap peers at the next tick. */
  bootstrapAgain(): void;
  onHandshakePeerList(nodeID: NodeID, peerList: PeerList): void;
  /** @returns whether it was requested; others are dropped */
  onPeerList(nodeID: NodeID, peerList: PeerList): boolean;
  onDisconnected(nodeID: NodeID): void;
  close(): void;
}

export function createPeerDiscovery(options: PeerDiscoveryOptions): PeerDiscovery {
  const { clock, random, logger, book, isWanted, isSearching, readyPeers, send, onAddress, gossipIntervals } = options;
  const warn = createThrottledWarnings(logger, clock);
  const closing = new AbortController();
  /** Time when a node last went missing or was found. All times are monotonic. */
  let lastChangeMs = clock.monotonicMs();
  let lastRoundAtMs = Number.NEGATIVE_INFINITY;
  /** Time of each request without a response. Unrequested PeerLists are dropped. */
  const asked = new Map<NodeID, number>();
  const lastNews = new Map<NodeID, number>();
  const penalties = new PenaltyBucket({ ...PEER_VERIFICATIONS, clock, maxKeys: MAX_PEERS });
  const verificationsPerSecond = VERIFICATIONS_PER_DIAL * options.dialsPerSecond;
  const createBucket = () =>
    new TokenBucket(
      {
        capacity: verificationsPerSecond,
        perSecond: Math.min(verificationsPerSecond, MAX_VERIFICATIONS_PER_SECOND),
      },
      lastChangeMs,
    );
  /** Separate buckets, so that invented nodes do not use up the verifications for wanted ones. */
  const verifications = { wanted: createBucket(), others: createBucket() };
  const bootstrap = { isRunning: false, lastAtMs: Number.NEGATIVE_INFINITY, failures: 0, succeeded: false };
  let isBootstrapOld = false;

  function tick(nowMs: number): void {
    bootstrapIfDue(nowMs);
    for (const [nodeID, askedAtMs] of asked) {
      if (nowMs - askedAtMs >= GOSSIP_OVERDUE_MS) lastNews.set(nodeID, 0);
      if (nowMs - askedAtMs >= GOSSIP_ANSWER_MS) asked.delete(nodeID);
    }
    const intervalMs = isSearching() ? searchIntervalMs(nowMs - lastChangeMs, gossipIntervals) : gossipIntervals.maxMs;
    if (nowMs - lastRoundAtMs < intervalMs) return;
    lastRoundAtMs = nowMs;
    ask(GOSSIP_FAN_OUT, nowMs);
  }

  function take(nodeID: NodeID, peerList: PeerList): void {
    let news = 0;
    for (const claimed of peerList.claimedIpPorts.slice(0, MAX_PEER_LIST_ENTRIES)) {
      const result = takeClaim(nodeID, claimed);
      options.onClaim(result);
      if (result === 'first') news += 1;
    }
    lastNews.set(nodeID, news);
    // Nodes send at most 15 addresses at a time: after new ones, there may be more. Newer addresses of known nodes do not count, because a
    // peer can sign those of its nodes repeatedly and make us verify them as fast as it responds.
    if (news > 0 && isSearching()) ask(1, clock.monotonicMs());
  }

  function takeClaim(peer: NodeID, claimed: ClaimedIpPort): ClaimResult {
    let isCharged = false;
    try {
      const address = parseClaimedIpPort(claimed);
      if (!book.isNewer(address.nodeID, address.timestamp)) return 'known';
      const bucket = isWanted(address.nodeID) ? verifications.wanted : verifications.others;
      if (penalties.level(peer) >= 1 || bucket.left(clock.monotonicMs()) < 1) return 'skipped';
      bucket.spend(1);
      penalties.charge(peer, 1);
      isCharged = true;
      verifySignedAddress(address, clock.now());
      const isFirst = book.signedEndpoint(address.nodeID) === undefined;
      book.addSigned(address.nodeID, address);
      onAddress(address.nodeID);
      return isFirst ? 'first' : 'new';
    } catch (error) {
      if (!(error instanceof ParseError)) throw error;
      if (isCharged) penalties.charge(peer, INVALID_SIGNATURE_POINTS - 1);
      return 'invalid';
    }
  }

  function ask(count: number, nowMs: number): void {
    const open = new Set<NodeID>();
    for (const [nodeID, askedAtMs] of asked) if (nowMs - askedAtMs < GOSSIP_OVERDUE_MS) open.add(nodeID);
    const free = Math.min(count, GOSSIP_FAN_OUT - open.size);
    if (free <= 0) return;
    const sources = readyPeers().filter((nodeID) => !open.has(nodeID));
    const chosen = chooseGossipSources(sources, (nodeID) => lastNews.get(nodeID), free, random);
    if (chosen.length === 0) return;
    const knownPeers = book.knownPeers(nowMs, searchIntervalMs(nowMs - lastChangeMs, FILTER_AGES));
    const payload = encodeMessage({ case: 'getPeerList', value: { knownPeers, allSubnets: true } });
    for (const nodeID of chosen) {
      asked.set(nodeID, nowMs);
      send(nodeID, payload);
    }
  }

  function bootstrapIfDue(nowMs: number): void {
    if (bootstrap.isRunning || !(isBootstrapOld || isBootstrapDue(nowMs))) return;
    isBootstrapOld = false;
    bootstrap.isRunning = true;
    void askForBootstrapPeers();
  }

  function isBootstrapDue(nowMs: number): boolean {
    const { lastAtMs, failures, succeeded } = bootstrap;
    if (succeeded && !isSearching() && readyPeers().length > 0) return false;
    const waitMs =
      failures > 0 ? backoffMs(failures, BOOTSTRAP_RETRY) : searchIntervalMs(nowMs - lastChangeMs, BOOTSTRAP_INTERVALS);
    return nowMs - lastAtMs >= waitMs;
  }

  async function askForBootstrapPeers(): Promise<void> {
    using deadline = startDeadline(clock, BOOTSTRAP_TIMEOUT_MS, 'asking for first peers', closing.signal);
    try {
      const peers = await options.bootstrapPeers(deadline.signal);
      if (closing.signal.aborted) return;
      Object.assign(bootstrap, { isRunning: false, lastAtMs: clock.monotonicMs(), failures: 0, succeeded: true });
      takeReported(peers);
    } catch (error) {
      if (closing.signal.aborted) return;
      const failures = bootstrap.failures + 1;
      Object.assign(bootstrap, { isRunning: false, lastAtMs: clock.monotonicMs(), failures });
      warn('first peers', { err: error, failures }, 'cannot ask for first peers');
    }
  }

  function takeReported(peers: readonly BootstrapPeer[]): void {
    let news = 0;
    for (const { nodeID, host, port } of peers) {
      if (!isDialable({ host, port }) || !book.addReported(nodeID, { host, port })) continue;
      news += 1;
      onAddress(nodeID);
    }
    logger.debug({ reported: peers.length, news }, 'asked for first peers');
  }

  return {
    tick,
    searchEagerly() {
      lastChangeMs = clock.monotonicMs();
    },
    bootstrapAgain() {
      isBootstrapOld = true;
    },
    onHandshakePeerList: take,
    onPeerList(nodeID, peerList) {
      const isRequested = asked.delete(nodeID);
      if (isRequested) take(nodeID, peerList);
      return isRequested;
    },
    onDisconnected(nodeID) {
      asked.delete(nodeID);
      lastNews.delete(nodeID);
    },
    close: () => closing.abort(new Error('the peer network is closed')),
  };
}
