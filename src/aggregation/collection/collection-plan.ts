import type { WarpValidator } from '../../validators/warp-set.ts';
import type { AggregationLimits } from '../aggregation-limits.ts';
import { forecastOf, type ValidatorForecast } from '../validators/validator-forecast.ts';
import type { Tally } from './tally.ts';
import type { ValidatorState } from './validator-state.ts';

export interface CollectionView {
  readonly nowMs: number;
  isConnected(validator: WarpValidator): boolean;
  /** A validator that is not connected may still become so until then. */
  readonly connectDeadlineMs: number;
  /** The message is first sent to a few validators, because it may be refused by all or is large. */
  readonly isCautious: boolean;
  /** Whether validators that refused may be asked again, because others have signed. */
  readonly mayRepeat: boolean;
  readonly limits: Pick<AggregationLimits, 'reconnectGraceMs' | 'maxConcurrentQueries'>;
}

export type CollectionPlan =
  /** Quorum plus buffer is reached, or the quorum is and nothing more is worth waiting for. */
  | { readonly kind: 'enough' }
  /** The quorum is not reached even if every validator that may sign does, and no answer that is due can make the refusal final. */
  | { readonly kind: 'out of reach' }
  /** Only refusals that may pass could bring the quorum, and no answer is due. */
  | { readonly kind: 'not yet'; readonly wakeAtMs: number }
  /** Plan again on the next change, or at `wakeAtMs`. */
  | { readonly kind: 'pending'; readonly wakeAtMs: number; readonly isIdle: boolean }
  | { readonly kind: 'ask'; readonly validators: readonly WarpValidator[]; readonly wakeAtMs: number };

/** Number of refusing validators that are asked again at a time while none has signed. */
const PROBES = 2;
/** Validators that a doubtful message is sent to first. */
const FIRST_WAVE = 3;
/** Attempts at a validator that refuses which the buffer waits for: some 0.4 s. Longer, it is not worth it. */
const MAX_AWAITED_ATTEMPTS = 3;
const NEVER = Number.POSITIVE_INFINITY;

/**
 * Plans whom to ask next, from the states of all validators, the time and the connections: in the tally's order, as many as quorum plus
 * buffer need. Doubtful ones are not counted on, so the next ones are asked at the same time. Pure.
 */
export function planCollection(tally: Tally, view: CollectionView): CollectionPlan {
  const { signedWeight, neededWeight, targetWeight } = tally;
  if (signedWeight >= targetWeight) return { kind: 'enough' };
  const seen = lookAtAll(tally, view);
  const { wakeAtMs } = seen;
  const isIdle = seen.inTime + seen.answered === 0;
  if (signedWeight + weightOf(seen, POSSIBLE) < neededWeight) {
    return isVerdictOpen(tally, seen) ? { kind: 'pending', wakeAtMs, isIdle: false } : { kind: 'out of reach' };
  }
  // The buffer is a precaution: it is not worth waiting for validators that will probably fail.
  if (signedWeight >= neededWeight && weightOf(seen, AWAITED) === 0n) return { kind: 'enough' };
  const validators = whomToAsk(tally, view, seen);
  if (validators.length > 0) {
    const lateAtMs = validators.map((one) => view.nowMs + forecastOf(tally.forecasts, one).hedgeAfterMs);
    return { kind: 'ask', validators, wakeAtMs: Math.min(wakeAtMs, ...lateAtMs) };
  }
  const unasked = isReachedWithoutAvoided(tally, seen) ? weightOf(seen, AVOIDED_OPEN) : 0n;
  const withoutRefusing = signedWeight + weightOf(seen, POSSIBLE) - weightOf(seen, REPEATABLE) - unasked;
  const needsRefusing = withoutRefusing < neededWeight;
  return isIdle && needsRefusing ? { kind: 'not yet', wakeAtMs } : { kind: 'pending', wakeAtMs, isIdle };
}

/**
 * Chooses which of the validators that refused are asked again now. If some have signed, all of them: the message is good, and they lag.
 * While none has, two at a time, in rotation: a message that every validator refuses, perhaps because none has seen it yet, then costs
 * little.
 */
export function planProbes(
  tally: Tally,
  view: Pick<CollectionView, 'nowMs' | 'isConnected'>,
): readonly WarpValidator[] {
  const { states, askingOrder, signedWeight } = tally;
  const stateOf = ({ index }: WarpValidator): ValidatorState => states[index] as ValidatorState;
  const refusing = askingOrder.filter((validator) => {
    const state = stateOf(validator);
    const isDue = state.kind === 'waiting' && state.refusal !== undefined && state.notBeforeMs <= view.nowMs;
    return isDue && view.isConnected(validator);
  });
  if (signedWeight > 0n) return refusing;
  const inFlight = states.filter((state) => isInTime(state, view.nowMs) && state.refusal !== undefined).length;
  const inTurn = refusing.toSorted((a, b) => stateOf(a).attempts - stateOf(b).attempts);
  const [first] = inTurn;
  const next = inTurn.filter((one) => first !== undefined && stateOf(one).attempts === stateOf(first).attempts);
  // The two are far apart in the order of weight, so that it is unlikely that both lag or lie.
  const second = inTurn[Math.max(1, next.length >> 1)];
  return [first, second].filter((one) => one !== undefined).slice(0, Math.max(0, PROBES - inFlight));
}

/** What a look at all validators shows: sums of weights, numbers, and whom it finds ready. */
interface Seen {
  readonly weights: BigUint64Array;
  /** Validators being asked, and how many of them are not late. */
  asking: number;
  inTime: number;
  answered: number;
  /** Asked, and without a signature so far. */
  inVain: number;
  /** Validators whose last answer was a refusal. */
  refusals: number;
  /** Validators that may be asked now, in asking order, and those of them that timed out. */
  readonly ready: WarpValidator[];
  readonly lastResorts: WarpValidator[];
  wakeAtMs: number;
}

/** Weight that may still sign, and parts of it: that waits after a refusal, after a timeout, that is avoided, and that is asked or may be at once. */
const POSSIBLE = 0;
const REPEATABLE = 1;
const LAST_RESORT = 2;
const AVOIDED = 3;
const OPEN = 4;
/** Weight still to come that is worth waiting for after the quorum is reached. */
const AWAITED = 5;
/** Weight of validators whose signature is expected soon. */
const COUNTED_ON = 6;
/** Weight of validators whose answer is due. */
const DUE = 7;
/** Weight of validators that refused, and that no later block changes. */
const REFUSED_FOR_GOOD = 8;
/** The part of the avoided weight that has not refused. */
const AVOIDED_OPEN = 9;
const PARTS = 10;

function add({ weights }: Seen, part: number, weight: bigint): void {
  weights[part] = weightOf({ weights }, part) + weight;
}

function weightOf({ weights }: Pick<Seen, 'weights'>, part: number): bigint {
  return weights[part] as bigint;
}

function lookAtAll({ askingOrder, states, forecasts }: Tally, view: CollectionView): Seen {
  const seen: Seen = {
    // Adds ten times as fast as properties do, of which each sum is a new object. The weight of a set is a uint64.
    weights: new BigUint64Array(PARTS),
    asking: 0,
    inTime: 0,
    answered: 0,
    inVain: 0,
    refusals: 0,
    ready: [],
    lastResorts: [],
    wakeAtMs: NEVER,
  };
  for (const validator of askingOrder) {
    const state = states[validator.index] as ValidatorState;
    if (state.kind === 'signed') continue;
    look(seen, validator, state, forecastOf(forecasts, validator), view);
  }
  return seen;
}

function look(
  seen: Seen,
  validator: WarpValidator,
  state: Exclude<ValidatorState, { kind: 'signed' }>,
  { kind: forecast }: ValidatorForecast,
  view: CollectionView,
): void {
  const { weight } = validator;
  const hasRefused = state.refusal !== undefined;
  if (hasRefused) seen.refusals += 1;
  switch (state.kind) {
    case 'failed':
      seen.inVain += 1;
      if (state.isForGood) add(seen, REFUSED_FOR_GOOD, weight);
      return;
    case 'answered':
      seen.answered += 1;
      add(seen, POSSIBLE, weight);
      add(seen, AWAITED, weight);
      add(seen, COUNTED_ON, weight);
      break;
    case 'queued':
    case 'asking':
      seen.asking += 1;
      add(seen, POSSIBLE, weight);
      add(seen, OPEN, weight);
      if (isInTime(state, view.nowMs)) {
        seen.inTime += 1;
        add(seen, DUE, weight);
        if (isCountedOn(forecast)) add(seen, COUNTED_ON, weight);
        // Otherwise a validator that only the buffer needs would never be found to answer again.
        if (forecast === 'expected' || forecast === 'on trial') add(seen, AWAITED, weight);
        if (state.kind === 'asking') seen.wakeAtMs = Math.min(seen.wakeAtMs, state.lateAtMs);
      } else {
        seen.inVain += 1;
        if (forecast === 'expected') add(seen, AWAITED, weight);
      }
      break;
    case 'waiting': {
      if (state.attempts > 0) seen.inVain += 1;
      const fromMs = state.notBeforeMs;
      const isDue = fromMs <= view.nowMs;
      const isReady = isDue && view.isConnected(validator);
      const untilMs = isDue && !isReady ? connectByMs(state, view) : NEVER;
      if (untilMs <= view.nowMs) return;
      seen.wakeAtMs = Math.min(seen.wakeAtMs, isDue ? untilMs : fromMs);
      add(seen, POSSIBLE, weight);
      // An avoided validator is asked only for the quorum anyway.
      const isLastResort =
        state.failure?.kind === 'timed_out' &&
        state.attempts >= validator.nodeIDs.length &&
        !hasRefused &&
        forecast !== 'avoided';
      if (hasRefused) add(seen, REPEATABLE, weight);
      else add(seen, OPEN, weight);
      if (isLastResort) add(seen, LAST_RESORT, weight);
      const isWorthIt = hasRefused ? state.attempts <= MAX_AWAITED_ATTEMPTS : !isLastResort;
      if (isWorthIt && (forecast === 'expected' || (isReady && forecast === 'on trial'))) add(seen, AWAITED, weight);
      if (isReady) (isLastResort ? seen.lastResorts : seen.ready).push(validator);
    }
  }
  if (forecast !== 'avoided') return;
  add(seen, AVOIDED, weight);
  if (!hasRefused) add(seen, AVOIDED_OPEN, weight);
}

function whomToAsk(tally: Tally, view: CollectionView, seen: Seen): readonly WarpValidator[] {
  const { signedWeight, neededWeight, targetWeight, states, forecasts } = tally;
  const isUnsigned = signedWeight === 0n && seen.answered === 0;
  // While none has signed, no new ones are asked beside those that refuse, nor if the quorum needs these.
  if (isUnsigned && seen.refusals >= PROBES && (seen.inTime > 0 || weightOf(seen, OPEN) < neededWeight)) return [];
  const room = Math.min(view.limits.maxConcurrentQueries - seen.asking, isUnsigned ? waveWidth(view, seen) : NEVER);
  const isWithoutAvoided = isReachedWithoutAvoided(tally, seen);
  const chosen: WarpValidator[] = [];
  let expected = signedWeight + weightOf(seen, COUNTED_ON);
  for (const [candidates, isLastResort] of [
    [seen.ready, false],
    [seen.lastResorts, true],
  ] as const) {
    for (const validator of candidates) {
      const { kind } = forecastOf(forecasts, validator);
      const isForQuorumOnly = kind === 'invalid signer' || kind === 'avoided' || isLastResort;
      if (expected >= (isForQuorumOnly ? neededWeight : targetWeight) || chosen.length >= room) return chosen;
      if (kind === 'avoided' && isWithoutAvoided) continue;
      if (!view.mayRepeat && states[validator.index]?.refusal !== undefined) continue;
      chosen.push(validator);
      if (isCountedOn(kind)) expected += validator.weight;
    }
  }
  return chosen;
}

/** An avoided validator signs only if there is no quorum without it. */
function isReachedWithoutAvoided({ signedWeight, neededWeight }: Tally, seen: Seen): boolean {
  const others = weightOf(seen, POSSIBLE) - weightOf(seen, LAST_RESORT) - weightOf(seen, AVOIDED);
  return signedWeight + others >= neededWeight;
}

/** Each wave without a signature doubles the number of validators asked. */
function waveWidth({ isCautious }: CollectionView, { inTime, inVain }: Seen): number {
  if (!isCautious) return NEVER;
  return inTime > 0 ? 0 : Math.max(FIRST_WAVE, inVain);
}

/**
 * Whether answers that are still due can show that the quorum is refused for good. They are awaited, because otherwise their order would
 * decide between a temporary failure and a final one.
 */
function isVerdictOpen({ warpSet, neededWeight }: Tally, seen: Seen): boolean {
  const [due, refusedForGood] = [weightOf(seen, DUE), weightOf(seen, REFUSED_FOR_GOOD)];
  if (due === 0n || refusedForGood === 0n) return false;
  const left = warpSet.totalWeight - refusedForGood;
  return left >= neededWeight && left - due < neededWeight;
}

function isInTime(state: ValidatorState, nowMs: number): boolean {
  return state.kind === 'queued' || (state.kind === 'asking' && nowMs < state.lateAtMs);
}

/** Includes invalid signers and avoided validators: no more of them are asked than the quorum needs. */
function isCountedOn(forecast: ValidatorForecast['kind']): boolean {
  return forecast === 'expected' || forecast === 'invalid signer' || forecast === 'avoided';
}

/** A connection that broke during a request has a separate grace period. */
function connectByMs(
  { notBeforeMs, failure }: Extract<ValidatorState, { kind: 'waiting' }>,
  { connectDeadlineMs, limits }: CollectionView,
): number {
  if (failure?.kind !== 'unreachable') return connectDeadlineMs;
  return Math.max(connectDeadlineMs, notBeforeMs + limits.reconnectGraceMs);
}
