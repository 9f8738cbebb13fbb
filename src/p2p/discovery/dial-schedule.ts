import type { Random } from '../../lib/concurrency/clock.ts';
import { TokenBucket } from '../../lib/concurrency/token-bucket.ts';
import type { NodeID } from '../../warp/ids.ts';
import type { CloseCause } from '../connection/peer.ts';
import { MIN_TURNED_AWAY, TURNED_AWAY_MS } from '../identity/identity-conflict.ts';
import {
  type DialCandidate,
  dialBudget,
  nextRedialPauseMs,
  planDials,
  planDisconnects,
  type RedialLimits,
  YOUNG_DIAL_MS,
} from './peer-decisions.ts';

/** How often and how many nodes are dialled, and how long connections are kept that nobody wants. */
export interface DialLimits extends RedialLimits {
  /** The backoff starts anew after a connection that was ready for this long. */
  readonly stableAfterMs: number;
  /** The first attempt after such a connection broke comes at random within this time. */
  readonly firstRedialMs: number;
  readonly dialsPerSecond: number;
  /** Connections that may be under way at the same time. */
  readonly maxConnecting: number;
  readonly maxConnections: number;
  /** Peers that nobody wants but that are kept connected, to learn addresses from. */
  readonly gossipSources: number;
  /** How long other connections are kept after nobody wants them any more. */
  readonly unwantedGraceMs: number;
}

export const DEFAULT_DIAL_LIMITS: DialLimits = {
  initialBackoffMs: 1_000,
  maxBackoffMs: 60_000,
  // Nodes refuse a second connection from one address within 10 s.
  stableAfterMs: 10_000,
  firstRedialMs: 500,
  dialsPerSecond: 50,
  // 50 dials a second that all hang until their timeout of 10 s.
  maxConnecting: 500,
  // 10,000 L1 validators, 1,000 of the primary network, and some to spare.
  maxConnections: 12_000,
  gossipSources: 5,
  unwantedGraceMs: 300_000,
};

export interface DialScheduleOptions {
  readonly limits: DialLimits;
  readonly random: Random;
  readonly nowMs: number;
  /** Whether there is an address of the node that may be dialled. */
  readonly hasAddress: (nodeID: NodeID) => boolean;
  /** Wanted nodes that are dialled before other wanted ones, and that room is kept for; by default there are none. */
  readonly preferredNodes?: () => ReadonlySet<NodeID>;
  /** All nodes whose address is known, the API node's peers first: some are dialled to learn addresses from them. */
  readonly knownNodes: () => Iterable<NodeID>;
}

/** How a connection ended. */
export interface ConnectionEnd {
  readonly cause: CloseCause;
  readonly reason: string;
  /** Undefined where it never was ready. */
  readonly readyForMs: number | undefined;
}

/** A node that signs new addresses all the time is not dialled more often than this. */
const MIN_REDIAL_MS = 1_000;
/** How many of the known nodes are considered as first sources of addresses. */
const MAX_SOURCE_CANDIDATES = 256;

/** Times are monotonic. */
interface NodeRecord {
  readonly nodeID: NodeID;
  isOpen: boolean;
  /** Failed attempts since the last connection that lasted, or since the last new address. */
  failures: number;
  /** The last pause, 0 after none. */
  pauseMs: number;
  nextDialAtMs: number;
  lastDialAtMs: number;
  lastEnd: Pick<ConnectionEnd, 'cause' | 'reason'> | undefined;
  /** How often in a row it took the connection and closed it without a word, and when that began. */
  turnedAway: number;
  turnedAwaySinceMs: number;
  /** Undefined while it is wanted. */
  unwantedSinceMs: number | undefined;
}

/**
 * Which node is dialled when: the history of every node that is wanted, connected or was lately tried, and what all dials
 * together may cost. It opens and closes nothing; whoever does reports every dial's `onReady` and `onClosed`.
 *
 * Bound: one record for each wanted node, each connection, and each of the few sources of addresses that failed.
 */
export class DialSchedule {
  readonly #options: DialScheduleOptions;
  readonly #records = new Map<NodeID, NodeRecord>();
  /** When each connection that is not ready yet was dialled. */
  readonly #connecting = new Map<NodeID, number>();
  #openCount = 0;
  /** A dial costs one. They are earned by time, a second's worth at most. */
  readonly #tokens: TokenBucket;
  #lacksRoom = false;

  constructor(options: DialScheduleOptions) {
    this.#options = options;
    const { dialsPerSecond: perSecond } = options.limits;
    this.#tokens = new TokenBucket({ capacity: perSecond, perSecond }, options.nowMs);
  }

  /** Connections that were dialled and are not ready yet. */
  get connectingCount(): number {
    return this.#connecting.size;
  }

  get isFull(): boolean {
    return this.#openCount >= this.#options.limits.maxConnections;
  }

  /**
   * The last {@link takeDue} might have dialled more with more room: a connection that gets ready or ends may make some. Where only time
   * brings more dials, looking at all nodes again at every connection would be in vain.
   */
  get lacksRoom(): boolean {
    return this.#lacksRoom;
  }

  /** Failed attempts in a row; they start anew with a connection that lasts and with a new address. */
  failures(nodeID: NodeID): number {
    return this.#records.get(nodeID)?.failures ?? 0;
  }

  /** How its last connection ended; undefined where it was ready since, or has not ended yet. */
  lastEnd(nodeID: NodeID): Pick<ConnectionEnd, 'cause' | 'reason'> | undefined {
    return this.#records.get(nodeID)?.lastEnd;
  }

  want(nodeID: NodeID, nowMs: number): void {
    this.#record(nodeID, nowMs).unwantedSinceMs = undefined;
  }

  unwant(nodeID: NodeID, nowMs: number): void {
    const record = this.#records.get(nodeID);
    if (record === undefined) return;
    record.unwantedSinceMs = nowMs;
    if (!record.isOpen) this.#records.delete(nodeID);
  }

  /** The nodes to dial now, which count as dialled from here on. */
  takeDue(nowMs: number): NodeID[] {
    const { limits } = this.#options;
    const tokens = this.#tokens.left(nowMs);
    this.#lacksRoom = false;
    // Looking at all nodes is not worth it where none may be dialled.
    if (tokens < 1) return [];
    const load = {
      tokens,
      openCount: this.#openCount,
      connectingCount: this.#connecting.size,
      youngCount: this.#countYoung(nowMs),
      preferredMissing: this.#countPreferredMissing(),
    };
    const budget = dialBudget(load, limits);
    const due = budget.total <= 0 ? [] : planDials(this.#candidates(budget.unwanted > 0, nowMs), budget, nowMs);
    const room = Math.min(budget.total, budget.others);
    this.#lacksRoom = room < Math.floor(tokens) && due.length >= room;
    this.#tokens.spend(due.length);
    for (const nodeID of due) {
      const record = this.#record(nodeID, nowMs);
      record.isOpen = true;
      record.lastDialAtMs = nowMs;
      this.#openCount += 1;
      this.#connecting.set(nodeID, nowMs);
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
    record.lastEnd = { cause: end.cause, reason: end.reason };
    this.#openCount -= 1;
    this.#connecting.delete(nodeID);
    if (end.cause === 'not_admitted') {
      if (record.turnedAway === 0) record.turnedAwaySinceMs = nowMs;
      record.turnedAway += 1;
    }
    const { limits, random } = this.#options;
    if (end.readyForMs !== undefined && end.readyForMs >= limits.stableAfterMs) {
      record.failures = 0;
      record.pauseMs = 0;
      record.nextDialAtMs = nowMs + limits.firstRedialMs * random();
    } else if (end.cause !== 'superseded') {
      record.failures += 1;
      record.pauseMs = nextRedialPauseMs(record.pauseMs, limits, random);
      record.nextDialAtMs = nowMs + record.pauseMs;
    }
    if (end.cause === 'unwanted') this.#records.delete(nodeID);
  }

  /** How many nodes have been taking connections and closing them without a word for some time, see `identity-conflict.ts`. */
  turnedAwayCount(nowMs: number): number {
    let count = 0;
    for (const { turnedAway, turnedAwaySinceMs } of this.#records.values()) {
      if (turnedAway >= MIN_TURNED_AWAY && nowMs - turnedAwaySinceMs >= TURNED_AWAY_MS) count += 1;
    }
    return count;
  }

  /** A new address deserves a new attempt, whatever came of the old one. Says whether the node is one that is dialled at all. */
  onNewAddress(nodeID: NodeID, nowMs: number): boolean {
    const record = this.#records.get(nodeID);
    if (record === undefined) return false;
    record.failures = 0;
    record.nextDialAtMs = Math.max(nowMs, record.lastDialAtMs + MIN_REDIAL_MS);
    return true;
  }

  /** The connections to close now, as nobody has wanted them for long enough. */
  dueDisconnects(nowMs: number): NodeID[] {
    const { gossipSources, maxBackoffMs, unwantedGraceMs } = this.#options.limits;
    const unwanted: { nodeID: NodeID; unwantedSinceMs: number }[] = [];
    for (const { nodeID, isOpen, nextDialAtMs, unwantedSinceMs } of this.#records.values()) {
      if (unwantedSinceMs === undefined) continue;
      if (isOpen) unwanted.push({ nodeID, unwantedSinceMs });
      // A source that failed is remembered, so that it is not the first to be tried again. Not for ever, though.
      else if (nextDialAtMs + maxBackoffMs < nowMs) this.#records.delete(nodeID);
    }
    return planDisconnects(unwanted, { keep: gossipSources, graceMs: unwantedGraceMs }, nowMs);
  }

  #countPreferredMissing(): number | undefined {
    const preferred = this.#options.preferredNodes?.();
    if (preferred === undefined || preferred.size === 0) return undefined;
    let count = 0;
    for (const nodeID of preferred) if (this.#records.get(nodeID)?.isOpen !== true) count += 1;
    return count;
  }

  #countYoung(nowMs: number): number {
    let count = 0;
    for (const dialledAtMs of this.#connecting.values()) if (nowMs - dialledAtMs < YOUNG_DIAL_MS) count += 1;
    return count;
  }

  *#candidates(withSources: boolean, nowMs: number): Generator<DialCandidate> {
    const { hasAddress, knownNodes, preferredNodes } = this.#options;
    const preferred = preferredNodes?.();
    for (const { nodeID, isOpen, failures, nextDialAtMs, unwantedSinceMs } of this.#records.values()) {
      if (isOpen || unwantedSinceMs !== undefined) continue;
      if (nextDialAtMs > nowMs || !hasAddress(nodeID)) continue;
      yield { nodeID, wanted: true, preferred: preferred?.has(nodeID) === true, failures, nextDialAtMs };
    }
    if (!withSources) return;
    let considered = 0;
    for (const nodeID of knownNodes()) {
      const record = this.#records.get(nodeID);
      const isWanted = record !== undefined && record.unwantedSinceMs === undefined;
      if (isWanted || record?.isOpen === true || !hasAddress(nodeID)) continue;
      const { failures, nextDialAtMs } = record ?? { failures: 0, nextDialAtMs: nowMs };
      yield { nodeID, wanted: false, failures, nextDialAtMs };
      considered += 1;
      if (considered >= MAX_SOURCE_CANDIDATES) return;
    }
  }

  #record(nodeID: NodeID, nowMs: number): NodeRecord {
    let record = this.#records.get(nodeID);
    if (record === undefined) {
      record = {
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
    }
    return record;
  }
}
