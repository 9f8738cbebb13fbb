import type { Random } from '../../lib/concurrency/clock.ts';
import { TokenBucket } from '../../lib/concurrency/token-bucket.ts';
import type { NodeID } from '../../warp/ids.ts';
import type { PeerState } from '../connection/peer.ts';
import { MIN_TURNED_AWAY, TURNED_AWAY_MS } from '../identity/identity-conflict.ts';
import { type DialCandidate, dialBudget, MAX_BACKOFF_MS, nextRedialPauseMs, planDials } from './peer-decisions.ts';

export interface DialLimits {
  readonly dialsPerSecond: number;
  /** Dialled connections that are not ready. */
  readonly maxConnecting: number;
  readonly maxConnections: number;
  /** Unwanted peers that stay connected as sources of addresses. */
  readonly gossipSources: number;
}

export const DEFAULT_DIAL_LIMITS: DialLimits = {
  dialsPerSecond: 50,
  // 50 dials a second with a timeout of 10 s.
  maxConnecting: 500,
  // 10,000 L1 validators, 1,000 of the primary network, and some to spare.
  maxConnections: 12_000,
  gossipSources: 5,
};

/** A connection that was ready for this long resets the backoff. Nodes refuse a second connection from one address within 10 s. */
const STABLE_AFTER_MS = 10_000;
/** Maximum random delay of the first dial after such a connection broke. */
const FIRST_REDIAL_MS = 500;
/** Time until unwanted connections are closed. */
const UNWANTED_GRACE_MS = 300_000;

export interface DialScheduleOptions {
  readonly limits: DialLimits;
  readonly random: Random;
  readonly nowMs: number;
  /** Whether the node has an address that may be dialled. */
  readonly hasAddress: (nodeID: NodeID) => boolean;
  /** Wanted nodes that are dialled first and have reserved connections. */
  readonly preferredNodes: () => ReadonlySet<NodeID>;
  /** Nodes with an address, the API node's peers first: some are dialled as sources of addresses. */
  readonly knownNodes: () => Iterable<NodeID>;
}

export type ConnectionEnd = Omit<Extract<PeerState, { kind: 'closed' }>, 'kind'>;

/** Minimum time between dials of a node that signs new addresses all the time. */
const MIN_REDIAL_MS = 1_000;
/** Known nodes considered as sources of addresses. */
const MAX_SOURCE_CANDIDATES = 256;

/** Dial history of a node. Times are monotonic. */
interface NodeRecord {
  readonly nodeID: NodeID;
  isOpen: boolean;
  /** Failed dials since the last stable connection or new address. */
  failures: number;
  /** Last pause, 0 before the first. */
  pauseMs: number;
  nextDialAtMs: number;
  lastDialAtMs: number;
  lastEnd: Pick<ConnectionEnd, 'cause' | 'reason' | 'clockOffsetMs'> | undefined;
  /** Consecutive connections that the node closed right after TLS, and the time of the first one. */
  turnedAway: number;
  turnedAwaySinceMs: number;
  /** Undefined while it is wanted. */
  unwantedSinceMs: number | undefined;
}

/**
 * Decides when each node is dialled, within the limits of all dials. It opens and closes nothing: the caller reports `onReady` and
 * `onClosed` of each dial.
 *
 * Bound: one record for each wanted node, each connection, and each of the few sources of addresses that failed.
 */
export class DialSchedule {
  readonly #options: DialScheduleOptions;
  readonly #records = new Map<NodeID, NodeRecord>();
  /** Dialled connections that are not ready. */
  readonly #connecting = new Set<NodeID>();
  #openCount = 0;
  readonly #tokens: TokenBucket;

  constructor(options: DialScheduleOptions) {
    const { dialsPerSecond } = options.limits;
    this.#options = options;
    this.#tokens = new TokenBucket({ capacity: dialsPerSecond, perSecond: dialsPerSecond }, options.nowMs);
  }

  get connectingCount(): number {
    return this.#connecting.size;
  }

  get isFull(): boolean {
    return this.#openCount >= this.#options.limits.maxConnections;
  }

  /** Failed dials since the last stable connection or new address. */
  failures(nodeID: NodeID): number {
    return this.#records.get(nodeID)?.failures ?? 0;
  }

  /** End of the node's last connection; undefined if it was ready since, or none has ended. */
  lastEnd(nodeID: NodeID): NodeRecord['lastEnd'] {
    return this.#records.get(nodeID)?.lastEnd;
  }

  want(nodeID: NodeID, nowMs: number): void {
    this.#recordOf(nodeID, nowMs).unwantedSinceMs = undefined;
  }

  unwant(nodeID: NodeID, nowMs: number): void {
    const record = this.#records.get(nodeID);
    if (record === undefined) return;
    record.unwantedSinceMs = nowMs;
    if (!record.isOpen) this.#records.delete(nodeID);
  }

  /** Returns the nodes to dial now, and counts them as dialled. */
  takeDue(nowMs: number): NodeID[] {
    const tokensLeft = this.#tokens.left(nowMs);
    if (tokensLeft < 1) return [];
    const load = {
      tokens: tokensLeft,
      openCount: this.#openCount,
      connectingCount: this.#connecting.size,
      preferredMissing: this.#countPreferredMissing(),
    };
    const budget = dialBudget(load, this.#options.limits);
    if (budget.total <= 0) return [];
    const due = planDials(this.#candidates(budget.unwanted > 0, nowMs), budget);
    this.#tokens.spend(due.length);
    for (const nodeID of due) {
      const record = this.#recordOf(nodeID, nowMs);
      record.isOpen = true;
      record.lastDialAtMs = nowMs;
      this.#openCount += 1;
      this.#connecting.add(nodeID);
    }
    return due;
  }

  onReady(nodeID: NodeID): void {
    this.#connecting.delete(nodeID);
    const record = this.#records.get(nodeID);
    if (record === undefined) return;
    record.lastEnd = undefined;
    record.turnedAway = 0;
  }

  onClosed(nodeID: NodeID, end: ConnectionEnd, nowMs: number): void {
    const record = this.#records.get(nodeID);
    if (record?.isOpen !== true) return;
    record.isOpen = false;
    record.lastEnd = { cause: end.cause, reason: end.reason, clockOffsetMs: end.clockOffsetMs };
    this.#openCount -= 1;
    this.#connecting.delete(nodeID);
    if (end.cause === 'not_admitted') {
      if (record.turnedAway === 0) record.turnedAwaySinceMs = nowMs;
      record.turnedAway += 1;
    }
    if (end.readyForMs !== undefined && end.readyForMs >= STABLE_AFTER_MS) {
      record.failures = 0;
      record.pauseMs = 0;
      record.nextDialAtMs = nowMs + FIRST_REDIAL_MS * this.#options.random();
    } else if (end.cause !== 'superseded') {
      record.failures += 1;
      record.pauseMs = nextRedialPauseMs(record.pauseMs, this.#options.random);
      record.nextDialAtMs = nowMs + record.pauseMs;
    }
    if (end.cause === 'unwanted') this.#records.delete(nodeID);
  }

  /** Counts nodes that have been closing connections right after TLS for some time, see `identity-conflict.ts`. */
  turnedAwayCount(nowMs: number): number {
    let count = 0;
    for (const { turnedAway, turnedAwaySinceMs } of this.#records.values()) {
      if (turnedAway >= MIN_TURNED_AWAY && nowMs - turnedAwaySinceMs >= TURNED_AWAY_MS) count += 1;
    }
    return count;
  }

  /** Resets the backoff of a node. Returns false for a node that is not dialled. */
  onNewAddress(nodeID: NodeID, nowMs: number): boolean {
    const record = this.#records.get(nodeID);
    if (record === undefined) return false;
    record.failures = 0;
    record.nextDialAtMs = Math.max(nowMs, record.lastDialAtMs + MIN_REDIAL_MS);
    return true;
  }

  /** Returns connections to close, which have been unwanted for long enough. */
  dueDisconnects(nowMs: number): NodeID[] {
    const unwanted: { nodeID: NodeID; unwantedSinceMs: number }[] = [];
    for (const { nodeID, isOpen, nextDialAtMs, unwantedSinceMs } of this.#records.values()) {
      if (unwantedSinceMs === undefined) continue;
      if (isOpen) unwanted.push({ nodeID, unwantedSinceMs });
      // A source that failed keeps its record for a while, so that others are tried first.
      else if (nextDialAtMs + MAX_BACKOFF_MS < nowMs) this.#records.delete(nodeID);
    }
    const surplus = Math.max(0, unwanted.length - this.#options.limits.gossipSources);
    return unwanted
      .filter(({ unwantedSinceMs }) => nowMs - unwantedSinceMs >= UNWANTED_GRACE_MS)
      .sort((a, b) => a.unwantedSinceMs - b.unwantedSinceMs)
      .slice(0, surplus)
      .map(({ nodeID }) => nodeID);
  }

  #countPreferredMissing(): number | undefined {
    const preferred = this.#options.preferredNodes();
    if (preferred.size === 0) return undefined;
    let count = 0;
    for (const nodeID of preferred) if (this.#records.get(nodeID)?.isOpen !== true) count += 1;
    return count;
  }

  *#candidates(withSources: boolean, nowMs: number): Generator<DialCandidate> {
    const preferred = this.#options.preferredNodes();
    for (const { nodeID, isOpen, failures, nextDialAtMs, unwantedSinceMs } of this.#records.values()) {
      if (isOpen || unwantedSinceMs !== undefined) continue;
      if (nextDialAtMs > nowMs || !this.#options.hasAddress(nodeID)) continue;
      yield { nodeID, rank: preferred.has(nodeID) ? 'preferred' : 'wanted', failures, nextDialAtMs };
    }
    if (!withSources) return;
    let considered = 0;
    for (const nodeID of this.#options.knownNodes()) {
      const record = this.#records.get(nodeID);
      const isWanted = record !== undefined && record.unwantedSinceMs === undefined;
      if (isWanted || record?.isOpen === true || !this.#options.hasAddress(nodeID)) continue;
      const { failures, nextDialAtMs } = record ?? { failures: 0, nextDialAtMs: nowMs };
      if (nextDialAtMs <= nowMs) yield { nodeID, rank: 'unwanted', failures, nextDialAtMs };
      considered += 1;
      if (considered >= MAX_SOURCE_CANDIDATES) return;
    }
  }

  #recordOf(nodeID: NodeID, nowMs: number): NodeRecord {
    const known = this.#records.get(nodeID);
    if (known !== undefined) return known;
    const record: NodeRecord = {
      nodeID,
      isOpen: false,
      failures: 0,
      pauseMs: 0,
      nextDialAtMs: nowMs,
      lastDialAtMs: Number.NEGATIVE_INFINITY,
      lastEnd: undefined,
      turnedAway: 0,
      turnedAwaySinceMs: nowMs,
      unwantedSinceMs: nowMs,
    };
    this.#records.set(nodeID, record);
    return record;
  }
}
