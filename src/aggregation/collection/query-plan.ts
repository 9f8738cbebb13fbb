import type { WarpValidator } from '../../validators/warp-set.ts';
import { MAX_STARTED_PER_TURN } from '../admission/query-concurrency.ts';
import type { AggregationLimits } from '../aggregation-limits.ts';
import { forecastOf } from '../validators/validator-forecast.ts';
import type { AttemptFailure } from '../validators/validator-outcome.ts';
import { CollectionState, type CollectionView, isCountedOn } from './collection-state.ts';
import { judgeRefusal, weightRefusedForGood } from './refusal-verdict.ts';
import type { Tally, ValidatorState } from './tally.ts';

export type QueryLimits = Pick<
  AggregationLimits,
  'reconnectGraceMs' | 'refusalDelaysMs' | 'unreachableDelaysMs' | 'maxConcurrentQueries'
>;

export interface QueryView extends CollectionView {
  /** The message is first sent to a few validators, because it may be refused by all or is large. */
  readonly isCautious: boolean;
  readonly isPChainMessage: boolean;
  /** Whether validators that refused may be asked again, because others have signed. */
  readonly mayRepeat: boolean;
}

export type QueryPlan =
  /** Quorum plus buffer is reached, or the quorum is and nothing more is worth waiting for. */
  | { readonly kind: 'enough' }
  /** The quorum is not reached even if every validator that still may sign does, and no pending answer can make the refusal final. */
  | { readonly kind: 'out of reach' }
  /** Only refusals that may pass could bring the quorum, and no answer is due. */
  | { readonly kind: 'not yet' }
  /** Ask these now, and plan again on the next change, or at `wakeAtMs`. */
  | {
      readonly kind: 'go on';
      readonly ask: readonly WarpValidator[];
      readonly wakeAtMs: number;
      /** Whether no validator is being asked and counted on. */
      readonly isIdle: boolean;
    };

/**
 * Plans which validators to ask next: in the tally's order, as many as quorum plus buffer need. Doubtful ones are not
 * counted on, so the next ones are asked at the same time. Pure, but for `collection`, which keeps sums between calls.
 */
export function planQueries(
  tally: Tally,
  view: QueryView,
  limits: QueryLimits,
  collection: CollectionState = new CollectionState(tally),
): QueryPlan {
  const { signedWeight, neededWeight, targetWeight } = tally;
  if (signedWeight >= targetWeight) return { kind: 'enough' };
  collection.update(view, limits);
  const { possible, awaited } = collection;
  let { wakeAtMs } = collection;
  if (signedWeight + possible < neededWeight) {
    return isVerdictOpen(tally, view, collection)
      ? { kind: 'go on', ask: [], wakeAtMs, isIdle: false }
      : { kind: 'out of reach' };
  }
  // The buffer is a precaution: it is not worth waiting for validators that will probably fail.
  if (signedWeight >= neededWeight && awaited === 0n) return { kind: 'enough' };

  const isIdle = collection.inTime + collection.answered === 0;
  const needsRefusing = signedWeight + possible - collection.repeatable < neededWeight;
  const stop = (): QueryPlan =>
    isIdle && needsRefusing ? { kind: 'not yet' } : { kind: 'go on', ask: [], wakeAtMs, isIdle };
  const ask: WarpValidator[] = [];
  let expected = signedWeight + collection.countedOn;
  const isUnsigned = signedWeight === 0n && collection.answered === 0;
  const room = Math.min(
    limits.maxConcurrentQueries - collection.asking,
    waveWidth(view, collection, isUnsigned),
    MAX_ASKED_AT_ONCE,
  );
  if (expected >= targetWeight || room <= 0) return stop();
  // While none has signed, those that refused are asked again two at a time: see `planProbes`.
  if (isUnsigned && collection.refusals >= PROBES && (collection.inTime > 0 || collection.open < neededWeight)) {
    return stop();
  }
  for (const validator of collection.inOrder()) {
    if (!view.mayRepeat && collection.hasRefused(validator)) continue;
    const forecast = forecastOf(tally.forecasts, validator);
    const isForQuorumOnly =
      forecast.kind === 'invalid signer' || forecast.kind === 'avoided' || collection.isLastResort(validator);
    if (expected >= (isForQuorumOnly ? neededWeight : targetWeight) || ask.length >= room) break;
    // An avoided validator signs only if there is no quorum without it.
    const others = signedWeight + possible - collection.lastResort - collection.possibleOfAvoided();
    if (forecast.kind === 'avoided' && others >= neededWeight) continue;
    // The change of a connection may not be counted yet.
    if (!view.isConnected(validator)) continue;
    ask.push(validator);
    if (isCountedOn(forecast)) expected += validator.weight;
    wakeAtMs = Math.min(wakeAtMs, view.nowMs + forecast.hedgeAfterMs);
  }
  return ask.length === 0 ? stop() : { kind: 'go on', ask, wakeAtMs, isIdle: false };
}

/**
 * Whether answers that are still due in time can show that the quorum is refused for good. They are awaited, because otherwise their order
 * would decide between a temporary failure and a final one.
 */
function isVerdictOpen(tally: Tally, { isPChainMessage, nowMs }: QueryView, collection: CollectionState): boolean {
  if (collection.inTime === 0 || collection.refusals === 0) return false;
  const { warpSet, neededWeight, states } = tally;
  const refused = weightRefusedForGood(tally, isPChainMessage);
  if (refused === 0n || warpSet.totalWeight - refused < neededWeight) return false;
  let inTime = 0n;
  for (const { index, weight } of warpSet.validators) {
    const state = states[index];
    if (state?.kind === 'queued' || (state?.kind === 'asking' && nowMs < state.lateAtMs)) inTime += weight;
  }
  return warpSet.totalWeight - refused - inTime < neededWeight;
}

export const MAX_ASKED_AT_ONCE = MAX_STARTED_PER_TURN;

/** Validators that a doubtful message is sent to first. */
const FIRST_WAVE = 3;

/** Each wave without a signature doubles the number of validators asked. */
function waveWidth({ isCautious }: QueryView, collection: CollectionState, isUnsigned: boolean): number {
  if (!isCautious || !isUnsigned) return Number.POSITIVE_INFINITY;
  return collection.inTime > 0 ? 0 : Math.max(FIRST_WAVE, collection.inVain);
}

/** Number of refusing validators that are asked again at a time while none has signed. */
const PROBES = 2;

/**
 * Chooses which of the validators that refused are asked again now. If some have signed, all of them: the message is good, and they lag.
 * While none has, two at a time, in rotation: a message that every validator refuses, perhaps because none has seen it yet, then costs
 * little.
 */
export function planProbes(
  { states, signedWeight }: Pick<Tally, 'states' | 'signedWeight'>,
  collection: CollectionState,
): readonly WarpValidator[] {
  const attemptsOf = ({ index }: WarpValidator): number => {
    const state = states[index];
    return state?.kind === 'waiting' ? state.attempts : 0;
  };
  const refusing = [...collection.inOrder()].filter((validator) => collection.hasRefused(validator));
  if (signedWeight > 0n) return refusing.slice(0, MAX_ASKED_AT_ONCE);
  const inTurn = refusing.toSorted((a, b) => attemptsOf(a) - attemptsOf(b));
  const [first] = inTurn;
  const next = inTurn.filter((validator) => first !== undefined && attemptsOf(validator) === attemptsOf(first));
  // The two are far apart in the order of weight, so that it is unlikely that both lag or lie.
  const second = inTurn[Math.max(1, next.length >> 1)];
  return [first, second]
    .filter((validator) => validator !== undefined)
    .slice(0, Math.max(0, PROBES - collection.repeated));
}

/** Returns the state after a failed attempt. All nodes of a validator are tried; one that refuses may lag. */
export function afterFailure(
  failure: AttemptFailure,
  attempt: {
    readonly attempts: number;
    /** Attempts that timed out, with this one. */
    readonly timeouts: number;
    readonly nodeCount: number;
    readonly nowMs: number;
    readonly isPChainMessage: boolean;
  },
  limits: QueryLimits,
): ValidatorState {
  const { attempts, timeouts, nodeCount, nowMs, isPChainMessage } = attempt;
  switch (failure.kind) {
    case 'timed_out':
      // Once more than it has nodes, if the quorum needs it.
      return timeouts <= nodeCount ? waiting(nowMs) : { kind: 'failed', failure };
    case 'unreachable':
    case 'not_asked': {
      if (attempts < nodeCount) return waiting(nowMs);
      // A connection needs time to come back, and a full queue to drain.
      const delayMs = limits.unreachableDelaysMs[attempts - nodeCount];
      return delayMs === undefined ? { kind: 'failed', failure } : waiting(nowMs + delayMs);
    }
    case 'refused': {
      if (judgeRefusal(failure.code, isPChainMessage) !== 'may pass') return { kind: 'failed', failure };
      return waiting(nowMs + refusalDelayMs(limits, attempts - 1));
    }
    case 'invalid_signature':
      return { kind: 'failed', failure };
  }

  function waiting(notBeforeMs: number): ValidatorState {
    return { kind: 'waiting', notBeforeMs, attempts, lastFailure: failure };
  }
}

/** @param repeats number of earlier repetitions */
export function refusalDelayMs({ refusalDelaysMs }: Pick<QueryLimits, 'refusalDelaysMs'>, repeats: number): number {
  return refusalDelaysMs[repeats] ?? refusalDelaysMs.at(-1) ?? 0;
}
