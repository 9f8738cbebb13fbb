import type { Clock } from '../primitives/clock.ts';
import type { NodeID } from '../primitives/ids.ts';
import { createLru } from '../primitives/lru.ts';
import { type LatencySummary, LatencyWindow } from './latency-window.ts';
import type { SignatureOutcome } from './signature-source.ts';

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
  readonly last: { readonly outcome: AnswerOutcome; readonly ageMs: number };
  /** Also where it has signed since. */
  readonly lastRefusal: { readonly code: number; readonly text: string; readonly ageMs: number } | undefined;
  /** Of its last hundred signatures and refusals; undefined where it has always been silent. */
  readonly latency: LatencySummary | undefined;
}

/** What came of a question. That there was no room for it says nothing of the node. */
export type AnswerOutcome = 'signed' | Exclude<SignatureOutcome['kind'], 'signature' | 'not_sent'>;

/** How nodes have answered, over all requests. Nothing in it is proof: it decides the order of asking, and no result. */
export interface AnswerHistory {
  /** Undefined where nothing is known, or nothing that is fresh. It changes with what is learnt: it is to be read at once. */
  recordOf(nodeID: NodeID): AnswerRecord | undefined;
  /** It gave a signature, good or not, after so long. */
  answered(nodeID: NodeID, afterMs: number): void;
  /**
   * It answered in any way after so long.
   *
   * @returns how much longer that was than its least, which is what the way there and back takes: work stood in line meanwhile,
   *   with us or with it
   */
  excessOf(nodeID: NodeID, afterMs: number): number;
  /** It should have given a signature by now, and has not. */
  failed(nodeID: NodeID): void;
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
/** With each answer: so the least rises where the way has become longer for good, in some thousands of answers. */
const LEAST_GROWTH = 1.0001;
/** One that was only late once is soon back; one that stays silent costs a question a minute. */
const FIRST_TRIAL_MS = 2_000;
const MAX_TRIAL_INTERVAL_MS = 60_000;

interface Past {
  outcome: AnswerOutcome;
  atMs: number;
  refusal: { readonly code: number; readonly text: string; readonly atMs: number } | undefined;
  readonly latencies: LatencyWindow;
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
}

/** @param slowMs an answer that takes longer comes too late for a request, and is as good as none */
export function createAnswerHistory(clock: Clock, slowMs: number): AnswerHistory {
  const entries = createLru<NodeID, Entry>(MAX_NODES);
  const pasts = createLru<NodeID, Past>(MAX_NODES);

  function fresh(nodeID: NodeID): Entry | undefined {
    // What keeps a node here is what is learnt of it, not that it is looked up.
    const entry = entries.peek(nodeID);
    return entry !== undefined && clock.monotonicMs() - entry.atMs < MAX_AGE_MS ? entry : undefined;
  }

  function touch(nodeID: NodeID): Entry {
    const known = entries.get(nodeID);
    const nowMs = clock.monotonicMs();
    if (known !== undefined && nowMs - known.atMs < MAX_AGE_MS) {
      known.atMs = nowMs;
      return known;
    }
    const entry = new Entry(clock);
    entries.set(nodeID, entry);
    return entry;
  }

  function fail(entry: Entry): void {
    entry.failures += 1;
    entry.nextTrialMs = clock.monotonicMs() + trialIntervalMs(entry.failures);
  }

  return {
    recordOf: fresh,
    answered(nodeID, afterMs) {
      const entry = touch(nodeID);
      entry.usual = average(entry.usual, afterMs);
      if (afterMs > slowMs) fail(entry);
      else entry.failures = 0;
    },
    excessOf(nodeID, afterMs) {
      const entry = touch(nodeID);
      entry.leastMs = Math.min(afterMs, LEAST_GROWTH * entry.leastMs);
      return afterMs - entry.leastMs;
    },
    failed: (nodeID) => fail(touch(nodeID)),
    beginTrial(nodeID) {
      const entry = fresh(nodeID);
      if (entry !== undefined) entry.nextTrialMs = clock.monotonicMs() + trialIntervalMs(entry.failures);
    },
    observed(nodeID, answer, afterMs) {
      if (answer.kind === 'not_sent') return;
      const atMs = clock.monotonicMs();
      const outcome = answer.kind === 'signature' ? 'signed' : answer.kind;
      const known = pasts.get(nodeID);
      const past = known ?? { outcome, atMs, refusal: undefined, latencies: new LatencyWindow() };
      past.outcome = outcome;
      past.atMs = atMs;
      if (answer.kind === 'refused') past.refusal = { code: answer.code, text: answer.text, atMs };
      if (outcome === 'signed' || outcome === 'refused') past.latencies.add(afterMs);
      if (known === undefined) pasts.set(nodeID, past);
    },
    pastOf(nodeID) {
      const past = pasts.peek(nodeID);
      if (past === undefined) return undefined;
      const { outcome, atMs, refusal, latencies } = past;
      const nowMs = clock.monotonicMs();
      return {
        last: { outcome, ageMs: nowMs - atMs },
        lastRefusal: refusal && { code: refusal.code, text: refusal.text, ageMs: nowMs - refusal.atMs },
        // Most who look do not ask for it, and it takes sorting a hundred numbers.
        get latency() {
          return latencies.summary();
        },
      };
    },
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
