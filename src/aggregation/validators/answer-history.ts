import { createLru } from '../../lib/cache/lru.ts';
import type { Clock } from '../../lib/concurrency/clock.ts';
import { addTo } from '../../lib/encoding/counts.ts';
import type { NodeID, SubnetID } from '../../warp/ids.ts';
import { type LatencySummary, LatencyWindow } from './latency-window.ts';
import type { SignatureOutcome, ValidatorOutcome } from './validator-outcome.ts';

/** How one node has answered lately. */
export interface AnswerRecord {
  /** Running averages of the time of an answer and of how far single answers are from it; undefined before the first. */
  readonly usual: { readonly meanMs: number; readonly deviationMs: number } | undefined;
  /** The last time it was asked, no good answer came in time. */
  readonly isDoubtful: boolean;
  /** It is doubtful, and may be asked beside the others, to see whether it answers again. */
  readonly isTrialDue: boolean;
}

/** What people want to know of a node, since this process was started. Nothing is decided by it. */
export interface AnswerPast {
  readonly last: LastOutcome & { readonly ageMs: number };
  /** Also where it has signed since. */
  readonly lastRefusal: { readonly code: number; readonly text: string; readonly ageMs: number } | undefined;
  /** Of its last hundred signatures and refusals of messages; undefined where there were none. */
  readonly latency: LatencySummary | undefined;
}

export interface LastOutcome {
  /** Without `not_asked`, which says nothing of the node. */
  readonly outcome: Exclude<ValidatorOutcome['kind'], 'not_asked'>;
  /** Of `timed_out`. */
  readonly reason?: TimeoutReason | undefined;
}

type TimeoutReason = Extract<SignatureOutcome, { kind: 'timed_out' }>['reason'];

/**
 * How nodes have answered, over all requests. Nothing in it is proof: it decides the order of asking, and no result.
 *
 * One node may validate several subnets, and anybody may have it asked about a chain that it does not run. So what it does with questions
 * about the chains of one subnet is held against it for these alone, but for silence of the whole node.
 */
export interface AnswerHistories {
  /** @param subnetID of the chains whose messages nodes are asked to sign */
  of(subnetID: SubnetID): AnswerHistory;
}

/** Of questions about the chains of one subnet. */
export interface AnswerHistory {
  /** Undefined where nothing is known, or nothing that is fresh. It changes with what is learnt: it is to be read at once. */
  recordOf(nodeID: NodeID): AnswerRecord | undefined;
  /** It gave a signature, good or not, after so long. */
  answered(nodeID: NodeID, afterMs: number): void;
  /** Returns how far an answer of any kind exceeded the node's minimum latency: what it waited, with us or with the node. */
  excessOf(nodeID: NodeID, afterMs: number): number;
  /** It should have given a signature by now, and has not; it may well do for the chains of other subnets. */
  failed(nodeID: NodeID): void;
  /** It does not answer at all, or not in the form of the protocol: no chain's questions will be answered. */
  failedAltogether(nodeID: NodeID): void;
  /** It is being asked for the sake of knowing whether it answers: the next trial comes later. */
  beginTrial(nodeID: NodeID): void;
  /** What came of a question, after so long: for {@link pastOf} alone. */
  observed(nodeID: NodeID, outcome: SignatureOutcome, afterMs: number): void;
  /** Undefined where it was never asked, or so long ago that others have taken its place. */
  pastOf(nodeID: NodeID): AnswerPast | undefined;
}

/** All validators that the network plans for; some 150 bytes each, and at most 1.5 KB with their past: 400 of times, 600 of a text. */
const MAX_NODES = 20_000;
/** What a node did longer ago says little of what it will do. One that has stayed silent costs one slow request then. */
const MAX_AGE_MS = 10 * 60_000;
/** As in TCP (RFC 6298): steady, and yet at a new level after some ten answers. */
const MEAN_GAIN = 1 / 8;
const DEVIATION_GAIN = 1 / 4;
/** With each answer: the least rises where the way has become longer for good, in some thousands of answers. */
const LEAST_GROWTH = 1.0001;
/** One that was only late once is soon back; one that stays silent costs a question a minute. */
const FIRST_TRIAL_MS = 2_000;
const MAX_TRIAL_INTERVAL_MS = 60_000;

interface Past {
  outcome: LastOutcome['outcome'];
  reason: TimeoutReason | undefined;
  atMs: number;
  refusal: Refusal | undefined;
  readonly latencies: LatencyWindow;
}

interface Refusal {
  readonly code: number;
  readonly text: string;
  readonly atMs: number;
}

/** Is the record that it is asked for: thousands of them are looked up for each request. */
class Entry implements AnswerRecord {
  readonly #clock: Clock;
  usual: { readonly meanMs: number; readonly deviationMs: number } | undefined;
  leastMs = Number.POSITIVE_INFINITY;
  /** In a row. */
  failures = 0;
  nextTrialMs = 0;
  /** When something was last learnt. */
  atMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.atMs = clock.monotonicMs();
  }

  get isDoubtful(): boolean {
    return this.failures > 0;
  }

  get isTrialDue(): boolean {
    return this.failures > 0 && this.#clock.monotonicMs() >= this.nextTrialMs;
  }

  get isFresh(): boolean {
    return this.#clock.monotonicMs() - this.atMs < MAX_AGE_MS;
  }

  fail(): void {
    this.failures += 1;
    this.putOffTrial();
  }

  putOffTrial(): void {
    this.nextTrialMs = this.#clock.monotonicMs() + trialIntervalMs(this.failures);
  }
}

/** What a node does with questions about the chains of one subnet, where that is not to answer them. */
class SubnetEntry extends Entry {
  readonly subnetID: SubnetID;
  /** It drops them, or refuses whatever is asked. */
  unwilling: Omit<Past, 'latencies'> | undefined;

  constructor(clock: Clock, subnetID: SubnetID) {
    super(clock);
    this.subnetID = subnetID;
  }
}

/** @param slowMs an answer that takes longer comes too late for a request, and is as good as none */
export function createAnswerHistories(clock: Clock, slowMs: number): AnswerHistories {
  const nodes = createLru<NodeID, Entry>(MAX_NODES);
  const pasts = createLru<NodeID, Past>(MAX_NODES);
  /** By subnet and node. */
  const inSubnets = createLru<string, SubnetEntry>(MAX_NODES, ({ subnetID }) => addTo(counts, subnetID, -1));
  /** Of the entries of each subnet: mostly there are none, and nobody need look. */
  const counts = new Map<SubnetID, number>();

  function ofNode(nodeID: NodeID): Entry {
    const known = nodes.get(nodeID);
    if (known?.isFresh) {
      known.atMs = clock.monotonicMs();
      return known;
    }
    const entry = new Entry(clock);
    nodes.set(nodeID, entry);
    return entry;
  }

  function of(subnetID: SubnetID): AnswerHistory {
    // No ID has a space.
    const keyOf = (nodeID: NodeID): string => `${subnetID} ${nodeID}`;
    const find = (nodeID: NodeID): SubnetEntry | undefined =>
      counts.has(subnetID) ? inSubnets.peek(keyOf(nodeID)) : undefined;

    function ofSubnet(nodeID: NodeID): SubnetEntry {
      const known = counts.has(subnetID) ? inSubnets.get(keyOf(nodeID)) : undefined;
      if (known?.isFresh) {
        known.atMs = clock.monotonicMs();
        return known;
      }
      const entry = new SubnetEntry(clock, subnetID);
      inSubnets.set(keyOf(nodeID), entry);
      addTo(counts, subnetID, 1);
      return entry;
    }

    return {
      recordOf(nodeID) {
        // What keeps a node here is what is learnt of it, not that it is looked up.
        const ofAll = nodes.peek(nodeID);
        const ofThese = find(nodeID);
        const fresh = ofAll?.isFresh ? ofAll : undefined;
        return ofThese?.isFresh ? together(fresh, ofThese) : fresh;
      },
      answered(nodeID, afterMs) {
        const entry = ofNode(nodeID);
        entry.usual = average(entry.usual, afterMs);
        entry.failures = 0;
        if (afterMs > slowMs) ofSubnet(nodeID).fail();
        else if (counts.has(subnetID)) inSubnets.delete(keyOf(nodeID));
      },
      excessOf(nodeID, afterMs) {
        const entry = ofNode(nodeID);
        entry.leastMs = Math.min(afterMs, LEAST_GROWTH * entry.leastMs);
        return afterMs - entry.leastMs;
      },
      failed: (nodeID) => ofSubnet(nodeID).fail(),
      failedAltogether: (nodeID) => ofNode(nodeID).fail(),
      beginTrial(nodeID) {
        for (const entry of [nodes.peek(nodeID), find(nodeID)]) if (entry?.isFresh) entry.putOffTrial();
      },
      observed(nodeID, answer, afterMs) {
        if (answer.kind === 'not_asked') return;
        const atMs = clock.monotonicMs();
        const outcome = answer.kind === 'signature' ? 'signed' : answer.kind;
        const reason = answer.kind === 'timed_out' ? answer.reason : undefined;
        const refusal = answer.kind === 'refused' ? { code: answer.code, text: answer.text, atMs } : undefined;
        if (isUnwilling(answer)) {
          ofSubnet(nodeID).unwilling = { outcome, reason, atMs, refusal };
          return;
        }
        const isAnswer = outcome === 'signed' || outcome === 'refused';
        const ofThese = find(nodeID);
        if (isAnswer && ofThese !== undefined) ofThese.unwilling = undefined;
        const known = pasts.get(nodeID);
        const past = known ?? { outcome, reason, atMs, refusal: undefined, latencies: new LatencyWindow() };
        past.outcome = outcome;
        past.reason = reason;
        past.atMs = atMs;
        past.refusal = refusal ?? past.refusal;
        if (isAnswer) past.latencies.add(afterMs);
        if (known === undefined) pasts.set(nodeID, past);
      },
      pastOf(nodeID) {
        const past = pasts.peek(nodeID);
        const unwilling = find(nodeID)?.unwilling;
        const last = unwilling ?? past;
        if (last === undefined) return undefined;
        const refusal = last.refusal ?? past?.refusal;
        const nowMs = clock.monotonicMs();
        return {
          last: { outcome: last.outcome, reason: last.reason, ageMs: nowMs - last.atMs },
          lastRefusal: refusal && { code: refusal.code, text: refusal.text, ageMs: nowMs - refusal.atMs },
          // Most who look do not ask for it, and it takes sorting a hundred numbers.
          get latency() {
            return past?.latencies.summary();
          },
        };
      },
    };
  }

  return { of };
}

/** It may answer as ever about the chains of other subnets. Codes below 0 have nothing to do with the message (avalanchego `network/p2p/error.go`). */
function isUnwilling(answer: SignatureOutcome): boolean {
  if (answer.kind === 'timed_out') return answer.reason === 'request_dropped';
  return answer.kind === 'refused' && answer.code < 0;
}

/** @param ofAll what is known of a node for all subnets */
function together(ofAll: Entry | undefined, ofThese: Entry): AnswerRecord {
  const doubtful = [ofAll, ofThese].filter((entry) => entry?.isDoubtful === true);
  return {
    usual: ofAll?.usual,
    isDoubtful: doubtful.length > 0,
    isTrialDue: doubtful.length > 0 && doubtful.every((entry) => entry?.isTrialDue === true),
  };
}

function average(before: Entry['usual'], afterMs: number): NonNullable<Entry['usual']> {
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
