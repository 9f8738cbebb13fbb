import { LRUCache } from 'lru-cache';
import type { Clock } from '../../lib/concurrency/clock.ts';
import { addTo } from '../../lib/encoding/counts.ts';
import type { NodeID, SubnetID } from '../../warp/ids.ts';
import { type LatencySummary, LatencyWindow } from './latency-window.ts';
import type { AttemptOutcome } from './validator-outcome.ts';

export interface AnswerRecord {
  /** Running averages of the latency and of its deviation; undefined before the first answer. */
  readonly usualLatency: { readonly meanMs: number; readonly deviationMs: number } | undefined;
  readonly isDoubtful: boolean;
  /** Doubtful, and due to be asked beside the others as a trial. */
  readonly isTrialDue: boolean;
}

/** Past answers of a node since the process started, for views only. */
export interface AnswerPast {
  readonly last: LastOutcome & { readonly ageMs: number };
  /** Kept after later signatures. */
  readonly lastRefusal: { readonly code: number; readonly text: string; readonly ageMs: number } | undefined;
  /** The last hundred signatures and refusals; undefined before the first. */
  readonly latency: LatencySummary | undefined;
}

export interface LastOutcome {
  /** Without `not_asked`, which says nothing about the node. */
  readonly outcome: Exclude<AttemptOutcome['kind'], 'not_asked'>;
  readonly reason?: TimeoutReason | undefined;
}

type TimeoutReason = Extract<AttemptOutcome, { kind: 'timed_out' }>['reason'];

/**
 * Histories of nodes over all requests. They decide the order of asking, never a result.
 * A client may have a node asked about a chain that it does not run, so failures count only for chains of the same subnet,
 * except if the node answers no request.
 */
export interface AnswerHistories {
  of(subnetID: SubnetID): AnswerHistory;
}

/** The histories of nodes for chains of one subnet. */
export interface AnswerHistory {
  /** Undefined if there is no fresh record. The object is live: read it at once. */
  recordOf(nodeID: NodeID): AnswerRecord | undefined;
  /**
   * Records the outcome of a request. Returns how far an answer exceeded the node's minimum latency: the time spent in queues here or
   * at the node; undefined if it gave no answer.
   */
  learn(nodeID: NodeID, outcome: AttemptOutcome, afterMs: number): number | undefined;
  /** Records that a node is late, or refused what others signed. */
  failed(nodeID: NodeID): void;
  beginTrial(nodeID: NodeID): void;
  pastOf(nodeID: NodeID): AnswerPast | undefined;
}

/** All validators that the network plans for: some 150 bytes each, and at most 1.5 KB with their past. */
const MAX_NODES = 20_000;
/** Older answers say little about the next one. */
const MAX_AGE_MS = 10 * 60_000;
/** The gains of TCP (RFC 6298). */
const MEAN_GAIN = 1 / 8;
const DEVIATION_GAIN = 1 / 4;
/** Growth of the minimum latency with each answer, so that it follows a lasting change within some thousands of answers. */
const LEAST_GROWTH = 1.0001;
/** A node that was late once is soon tried again; one that does not answer costs a request a minute. */
const FIRST_TRIAL_MS = 2_000;
const MAX_TRIAL_INTERVAL_MS = 60_000;

/** The last outcome and the last refusal. */
interface Past {
  readonly outcome: LastOutcome['outcome'];
  readonly reason: TimeoutReason | undefined;
  readonly atMs: number;
  readonly refusal: { readonly code: number; readonly text: string; readonly atMs: number } | undefined;
}

/** The record itself: thousands are looked up for each request. Only the past and latencies are kept when it is no longer fresh. */
class Entry implements AnswerRecord {
  readonly #clock: Clock;
  usualLatency: { readonly meanMs: number; readonly deviationMs: number } | undefined;
  leastMs = Number.POSITIVE_INFINITY;
  failures = 0;
  nextTrialMs = 0;
  freshAtMs: number;
  past: Past | undefined;
  latencies: LatencyWindow | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.freshAtMs = clock.monotonicMs();
  }

  get isDoubtful(): boolean {
    return this.failures > 0;
  }

  get isTrialDue(): boolean {
    return this.failures > 0 && this.#clock.monotonicMs() >= this.nextTrialMs;
  }

  get isFresh(): boolean {
    return this.#clock.monotonicMs() - this.freshAtMs < MAX_AGE_MS;
  }

  refresh(): void {
    if (!this.isFresh) Object.assign(this, { usualLatency: undefined, leastMs: Number.POSITIVE_INFINITY, failures: 0 });
    this.freshAtMs = this.#clock.monotonicMs();
  }

  fail(): void {
    this.failures += 1;
    this.putOffTrial();
  }

  putOffTrial(): void {
    this.nextTrialMs = this.#clock.monotonicMs() + trialIntervalMs(this.failures);
  }
}

/** @param slowMs an answer that takes longer counts as a failure */
export function createAnswerHistories(clock: Clock, slowMs: number): AnswerHistories {
  const nodes = new LRUCache<NodeID, Entry>({ max: MAX_NODES });
  /** Keyed by subnet and node. */
  const inSubnets = new LRUCache<string, Entry>({
    max: MAX_NODES,
    dispose: (_, key) => addTo(counts, subnetOf(key), -1),
  });
  /** Number of entries by subnet: mostly there are none, and no lookup is needed. */
  const counts = new Map<string, number>();

  function findOrAddNode(nodeID: NodeID): Entry {
    const known = nodes.get(nodeID);
    if (known !== undefined) return known;
    const entry = new Entry(clock);
    nodes.set(nodeID, entry);
    return entry;
  }

  /** Returns a fresh entry. */
  function refreshNode(nodeID: NodeID): Entry {
    const entry = findOrAddNode(nodeID);
    entry.refresh();
    return entry;
  }

  function of(subnetID: SubnetID): AnswerHistory {
    const find = (nodeID: NodeID): Entry | undefined =>
      counts.has(subnetID) ? inSubnets.peek(keyOf(subnetID, nodeID)) : undefined;

    /** Returns a fresh entry for the chains of this subnet. */
    function refreshInSubnet(nodeID: NodeID): Entry {
      const key = keyOf(subnetID, nodeID);
      const known = inSubnets.get(key);
      known?.refresh();
      if (known !== undefined) return known;
      const entry = new Entry(clock);
      inSubnets.set(key, entry);
      addTo(counts, subnetID, 1);
      return entry;
    }

    /** Adapts the minimum latency, and returns how far an answer exceeded it. */
    function recordExcess(nodeID: NodeID, afterMs: number): number {
      const entry = refreshNode(nodeID);
      entry.leastMs = Math.min(afterMs, LEAST_GROWTH * entry.leastMs);
      return afterMs - entry.leastMs;
    }

    function observe(nodeID: NodeID, answer: Exclude<AttemptOutcome, { kind: 'not_asked' }>, afterMs: number): void {
      const atMs = clock.monotonicMs();
      const outcome = answer.kind;
      const reason = answer.kind === 'timed_out' ? answer.reason : undefined;
      const refusal = answer.kind === 'refused' ? { code: answer.code, text: answer.text, atMs } : undefined;
      const isOfSubnet = isUnwilling(answer);
      const entry = isOfSubnet ? refreshInSubnet(nodeID) : findOrAddNode(nodeID);
      entry.past = { outcome, reason, atMs, refusal: refusal ?? entry.past?.refusal };
      if (isOfSubnet || (outcome !== 'signed' && outcome !== 'refused')) return;
      const ofThese = find(nodeID);
      if (ofThese !== undefined) ofThese.past = undefined;
      entry.latencies ??= new LatencyWindow();
      entry.latencies.add(afterMs);
    }

    return {
      recordOf(nodeID) {
        // Only new records keep an entry in the cache, not lookups.
        const ofAll = nodes.peek(nodeID);
        const ofThese = find(nodeID);
        const fresh = ofAll?.isFresh ? ofAll : undefined;
        return ofThese?.isFresh ? combine(fresh, ofThese) : fresh;
      },
      learn(nodeID, outcome, afterMs) {
        if (outcome.kind === 'not_asked') return undefined;
        observe(nodeID, outcome, afterMs);
        switch (outcome.kind) {
          case 'signed': {
            const entry = refreshNode(nodeID);
            entry.usualLatency = average(entry.usualLatency, afterMs);
            entry.failures = 0;
            if (afterMs > slowMs) refreshInSubnet(nodeID).fail();
            else if (counts.has(subnetID)) inSubnets.delete(keyOf(subnetID, nodeID));
            return recordExcess(nodeID, afterMs);
          }
          // A refusal may be right.
          case 'refused':
            return recordExcess(nodeID, afterMs);
          case 'timed_out':
            if (outcome.reason === 'request_dropped') refreshInSubnet(nodeID).fail();
            else refreshNode(nodeID).fail();
            return undefined;
          case 'invalid_signature':
            refreshNode(nodeID).fail();
            return undefined;
          // It is not asked while it is not connected.
          case 'unreachable':
            return undefined;
        }
      },
      failed: (nodeID) => refreshInSubnet(nodeID).fail(),
      beginTrial(nodeID) {
        for (const entry of [nodes.peek(nodeID), find(nodeID)]) if (entry?.isFresh) entry.putOffTrial();
      },
      pastOf(nodeID) {
        const entry = nodes.peek(nodeID);
        const last = find(nodeID)?.past ?? entry?.past;
        if (last === undefined) return undefined;
        const refusal = last.refusal ?? entry?.past?.refusal;
        const nowMs = clock.monotonicMs();
        return {
          last: { outcome: last.outcome, reason: last.reason, ageMs: nowMs - last.atMs },
          lastRefusal: refusal && { code: refusal.code, text: refusal.text, ageMs: nowMs - refusal.atMs },
          // Computed on demand: it sorts a hundred numbers.
          get latency() {
            return entry?.latencies?.summary();
          },
        };
      },
    };
  }

  return { of };
}

/** No ID has a space. */
function keyOf(subnetID: SubnetID, nodeID: NodeID): string {
  return `${subnetID} ${nodeID}`;
}

function subnetOf(key: string): string {
  return key.slice(0, key.indexOf(' '));
}

/** Codes below 0 have nothing to do with the message (avalanchego `network/p2p/error.go`). */
function isUnwilling(answer: AttemptOutcome): boolean {
  if (answer.kind === 'timed_out') return answer.reason === 'request_dropped';
  return answer.kind === 'refused' && answer.code < 0;
}

function combine(ofAll: Entry | undefined, ofThese: Entry): AnswerRecord {
  const doubtful = [ofAll, ofThese].filter((entry) => entry?.isDoubtful === true);
  return {
    usualLatency: ofAll?.usualLatency,
    isDoubtful: doubtful.length > 0,
    isTrialDue: doubtful.length > 0 && doubtful.every((entry) => entry?.isTrialDue === true),
  };
}

function average(before: Entry['usualLatency'], afterMs: number): NonNullable<Entry['usualLatency']> {
  if (before === undefined) return { meanMs: afterMs, deviationMs: afterMs / 2 };
  const { meanMs, deviationMs } = before;
  return {
    meanMs: meanMs + MEAN_GAIN * (afterMs - meanMs),
    deviationMs: deviationMs + DEVIATION_GAIN * (Math.abs(afterMs - meanMs) - deviationMs),
  };
}

function trialIntervalMs(failures: number): number {
  return Math.min(FIRST_TRIAL_MS * 2 ** Math.max(0, failures - 1), MAX_TRIAL_INTERVAL_MS);
}
