import type { WarpValidator } from '../../validators/warp-set.ts';
import { MAX_STARTED_PER_TURN } from '../admission/query-concurrency.ts';
import { forecastOf } from '../validators/validator-forecast.ts';
import type { SignatureFailure } from '../validators/validator-outcome.ts';
import { CollectionState, type CollectionView, type ConnectionLimits, isCountedOn } from './collection-state.ts';
import { judgeRefusal, weightRefusedForGood } from './refusal-verdict.ts';
import { failureOf, type Tally, type ValidatorState } from './tally.ts';

export interface QueryLimits extends ConnectionLimits {
  /** Time after which a validator is late, and the next ones are asked too; less if its usual latency is known. */
  readonly hedgeAfterMs: number;
  /** Delays before a validator is asked again that refused, because it may lag by a block or two, or whose connection broke. */
  readonly retryDelaysMs: readonly number[];
  readonly maxConcurrentQueries: number;
}

export interface QueryView extends CollectionView {
  /** The message is first sent to a few validators, because it may be refused by all or is large. */
  readonly isCautious: boolean;
}

export type QueryPlan =
  /** Quorum plus buffer is reached, or the quorum is and nothing more is worth waiting for. */
  | { readonly kind: 'enough' }
  /** The quorum is not reached even if every validator signs that still may, and no answer due in time can make the refusal final. */
  | { readonly kind: 'out of reach' }
  /** Ask these now, and plan again on the next change, or at `wakeAtMs`. */
  | {
      readonly kind: 'go on';
      readonly ask: readonly WarpValidator[];
      readonly wakeAtMs: number;
      /** Only waits: for a delay, a connection, or late validators. */
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
  const noSignature = limitsWithoutSignature(tally, collection);
  collection.setRefusersLost(noSignature?.isHopeless === true, view, limits);
  const { possible, awaited, wakeAtMs } = collection;

  if (signedWeight + possible < neededWeight) {
    return isVerdictOpen(tally, view, collection)
      ? { kind: 'go on', ask: [], wakeAtMs, isIdle: false }
      : { kind: 'out of reach' };
  }
  // The buffer is a precaution: it is not worth waiting for validators that will probably fail.
  if (signedWeight >= neededWeight && awaited === 0n) return { kind: 'enough' };

  const room = Math.min(
    limits.maxConcurrentQueries - collection.asking,
    waveWidth(view, collection, noSignature),
    MAX_ASKED_AT_ONCE,
  );
  const ask: WarpValidator[] = [];
  let nextWakeAtMs = wakeAtMs;
  let expected = signedWeight + collection.countedOn;
  const isBusy = collection.inTime + collection.answered > 0;
  if (expected >= targetWeight || room <= 0) return { kind: 'go on', ask, wakeAtMs, isIdle: !isBusy };
  for (const validator of candidatesIn(tally, collection, noSignature)) {
    const forecast = forecastOf(tally.forecasts, validator);
    const isForQuorumOnly = forecast.kind === 'invalid signer' || forecast.kind === 'avoided';
    if (expected >= (isForQuorumOnly ? neededWeight : targetWeight) || ask.length >= room) break;
    // An avoided validator signs only if there is no quorum without it.
    if (forecast.kind === 'avoided' && signedWeight + possible - collection.possibleOfAvoided() >= neededWeight) {
      break;
    }
    // The change of a connection may not be counted yet.
    if (!view.isConnected(validator)) continue;
    ask.push(validator);
    if (isCountedOn(forecast)) expected += validator.weight;
    nextWakeAtMs = Math.min(nextWakeAtMs, view.nowMs + forecast.hedgeAfterMs);
  }
  return { kind: 'go on', ask, wakeAtMs: nextWakeAtMs, isIdle: ask.length === 0 && !isBusy };
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
function waveWidth(
  { isCautious }: QueryView,
  collection: CollectionState,
  noSignature: NoSignatureYet | undefined,
): number {
  if (!isCautious || noSignature === undefined) return Number.POSITIVE_INFINITY;
  return collection.inTime > 0 ? 0 : Math.max(FIRST_WAVE, collection.inVain);
}

/** Sample of those that refused, from the heaviest to the lightest, so that they do not all lag or lie. */
const SAMPLE = 8;

/** State of a collection in which no validator has signed yet. */
interface NoSignatureYet {
  /** Many have refused: no new validator is asked while others are pending, nor if the quorum needs validators that refused. */
  readonly asksOnlyAgain: boolean;
  /** Validators that refused once and may be asked a second time. */
  readonly retriesLeft: number;
  /** The whole sample has refused to the end, and so, it is assumed, will all others that refused. */
  readonly isHopeless: boolean;
}

/**
 * Limits the cost of a message that every validator refuses, perhaps because none has seen it yet. Until one signs, only a
 * sample is asked again, and no new validator if the quorum needs those that refused. Such a message costs one request to a
 * third of the validators, instead of three to each.
 */
function limitsWithoutSignature(
  { signedWeight, neededWeight }: Tally,
  collection: CollectionState,
): NoSignatureYet | undefined {
  if (signedWeight > 0n || collection.answered > 0) return undefined;
  const { refusals, inTime, open, settled, inSample } = collection;
  return {
    asksOnlyAgain: refusals >= SAMPLE && (inTime > 0 || open < neededWeight),
    retriesLeft: Math.max(0, SAMPLE - settled - inSample),
    isHopeless: settled >= SAMPLE,
  };
}

function candidatesIn(
  tally: Tally,
  collection: CollectionState,
  noSignature: NoSignatureYet | undefined,
): Iterable<WarpValidator> {
  if (noSignature === undefined || collection.refusals === 0) return collection.inOrder();
  if (noSignature.asksOnlyAgain && collection.candidatesAgain === 0) return [];
  return fewer([...collection.inOrder()], tally, noSignature);
}

/** Narrows the candidates while no validator has signed. */
function fewer(
  candidates: readonly WarpValidator[],
  { states }: Tally,
  { asksOnlyAgain, retriesLeft }: NoSignatureYet,
): WarpValidator[] {
  const attemptsOf = ({ index }: WarpValidator): number => {
    const state = states[index];
    return state?.kind === 'waiting' ? state.attempts : 0;
  };
  const refusedOnce = candidates.filter(
    (validator) => attemptsOf(validator) === 1 && failureOf(states[validator.index])?.kind === 'refused',
  );
  const others = new Set(refusedOnce);
  const count = Math.min(retriesLeft, refusedOnce.length);
  for (let i = 0; i < count; i += 1) {
    const spread = refusedOnce[Math.floor((i * refusedOnce.length) / count)];
    if (spread !== undefined) others.delete(spread);
  }
  return candidates.filter((validator) => !others.has(validator) && !(asksOnlyAgain && attemptsOf(validator) === 0));
}

/** Returns the state after a failed attempt. All nodes of a validator are tried; one that refuses may lag. */
export function afterFailure(
  failure: SignatureFailure,
  attempt: { attempts: number; nodeCount: number; nowMs: number; isPChainMessage: boolean },
  limits: QueryLimits,
): ValidatorState {
  const { attempts, nodeCount, nowMs, isPChainMessage } = attempt;
  switch (failure.kind) {
    case 'timed_out':
      return attempts < nodeCount ? waiting(nowMs) : { kind: 'failed', failure };
    case 'unreachable':
    case 'not_asked': {
      if (attempts < nodeCount) return waiting(nowMs);
      // A connection needs time to come back, and a full queue to drain.
      const delayMs = limits.retryDelaysMs[attempts - nodeCount];
      return delayMs === undefined ? { kind: 'failed', failure } : waiting(nowMs + delayMs);
    }
    case 'refused': {
      const delayMs = limits.retryDelaysMs[attempts - 1];
      if (delayMs === undefined || judgeRefusal(failure.code, isPChainMessage) !== 'may pass') {
        return { kind: 'failed', failure };
      }
      return waiting(nowMs + delayMs);
    }
    case 'invalid_signature':
      return { kind: 'failed', failure };
  }

  function waiting(notBeforeMs: number): ValidatorState {
    return { kind: 'waiting', notBeforeMs, attempts, lastFailure: failure };
  }
}
