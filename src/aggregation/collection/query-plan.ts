import type { WarpValidator } from '../../validators/warp-set.ts';
import { MAX_STARTED_PER_TURN } from '../admission/query-concurrency.ts';
import { outlookIn } from '../validators/outlook.ts';
import { judgeRefusal, weightRefusedForGood } from './refusal-verdict.ts';
import type { SignatureFailure } from './signature-source.ts';
import { isCountedOn, Survey, type SurveyLimits, type SurveyView } from './survey.ts';
import type { Standing, Tally } from './tally.ts';

export interface QueryLimits extends SurveyLimits {
  /**
   * A validator that has not answered for so long is slow: it is no longer counted on, and the next ones are asked too. Where a
   * validator's usual time is known, it is slow after that, if that is sooner.
   */
  readonly hedgeAfterMs: number;
  /**
   * Pauses before a validator is asked again that refused, as it may lag behind its peers by a block or two, or whose
   * connection broke.
   */
  readonly retryDelaysMs: readonly number[];
  /** Most validators of one request asked at the same time. */
  readonly maxConcurrentQueries: number;
}

export interface QueryView extends SurveyView {
  /** The message is shown to a few first, as nobody may sign it, or as it is so large that asking in vain costs much. */
  readonly isCautious: boolean;
}

export type QueryPlan =
  /** Quorum and buffer are reached, or the quorum is and nothing more is worth waiting for. */
  | { readonly kind: 'enough' }
  /** The quorum is not reached even if everybody signs who still may, and no answer in time can make that final. */
  | { readonly kind: 'out of reach' }
  /** Ask these now, and decide again when anything changes or at `wakeAtMs` at the latest. */
  | {
      readonly kind: 'go on';
      readonly ask: readonly WarpValidator[];
      readonly wakeAtMs: number;
      /** There is nothing to do but wait: for a pause to pass, for somebody to be connected, for validators that are late. */
      readonly isIdle: boolean;
    };

/**
 * Which validators to ask next: in the tally's order, as many as it takes for the weight that has signed and the weight counted on
 * to reach quorum plus buffer. Whoever is doubtful does not count, so that the next ones are asked at the same time. Pure: the
 * same state gives the same plan.
 *
 * @param survey of this tally, to be handed in again the next time: then only what has changed since is looked at
 */
export function planQueries(
  tally: Tally,
  view: QueryView,
  limits: QueryLimits,
  survey: Survey = new Survey(tally),
): QueryPlan {
  const { signedWeight, neededWeight, targetWeight } = tally;
  if (signedWeight >= targetWeight) return { kind: 'enough' };
  survey.update(view, limits);
  const unsigned = lookAtUnsigned(tally, survey);
  const areRefusersLost = unsigned?.isHopeless === true;
  const { possible, awaited, wakeAtMs } = survey.stillToCome(areRefusersLost);

  if (signedWeight + possible < neededWeight) {
    return isVerdictOpen(tally, view, survey)
      ? { kind: 'go on', ask: [], wakeAtMs, isIdle: false }
      : { kind: 'out of reach' };
  }
  // What is beyond the quorum is a precaution: no time is spent on whoever is likely to give nothing.
  if (signedWeight >= neededWeight && awaited === 0n) return { kind: 'enough' };

  const room = Math.min(
    limits.maxConcurrentQueries - survey.asking,
    waveWidth(view, survey, unsigned),
    MAX_ASKED_AT_ONCE,
  );
  const ask: WarpValidator[] = [];
  let nextWakeAtMs = wakeAtMs;
  let expected = signedWeight + survey.countedOn;
  const isBusy = survey.inTime + survey.answered > 0;
  if (expected >= targetWeight || room <= 0) return { kind: 'go on', ask, wakeAtMs, isIdle: !isBusy };
  for (const validator of candidatesIn(tally, survey, unsigned)) {
    const outlook = outlookIn(tally.outlooks, validator);
    const isForQuorumOnly = outlook.kind === 'suspect' || outlook.kind === 'avoided';
    if (expected >= (isForQuorumOnly ? neededWeight : targetWeight) || ask.length >= room) break;
    // Also where the others are late: an avoided validator signs only what has no quorum without it.
    if (
      outlook.kind === 'avoided' &&
      signedWeight + possible - survey.possibleOfAvoided(areRefusersLost) >= neededWeight
    ) {
      break;
    }
    // Changes of connections are told a moment later.
    if (!view.isConnected(validator)) continue;
    ask.push(validator);
    if (isCountedOn(outlook)) expected += validator.weight;
    nextWakeAtMs = Math.min(nextWakeAtMs, view.nowMs + outlook.hedgeAfterMs);
  }
  return { kind: 'go on', ask, wakeAtMs: nextWakeAtMs, isIdle: ask.length === 0 && !isBusy };
}

/**
 * Checks whether answers that are not late can still decide that the quorum is refused for good. Without them, the weight that cannot sign
 * now (inactive, unreachable) would leave the verdict to the order in which the refusals arrive.
 */
function isVerdictOpen(tally: Tally, { isPChainMessage, nowMs }: QueryView, survey: Survey): boolean {
  if (survey.inTime === 0 || survey.refusals === 0) return false;
  const { warpSet, neededWeight, standings } = tally;
  const refused = weightRefusedForGood(tally, isPChainMessage);
  if (refused === 0n || warpSet.totalWeight - refused < neededWeight) return false;
  let inTime = 0n;
  for (const { index, weight } of warpSet.validators) {
    const standing = standings[index];
    if (standing?.kind === 'queued' || (standing?.kind === 'asking' && nowMs < standing.lateAtMs)) inTime += weight;
  }
  return warpSet.totalWeight - refused - inTime < neededWeight;
}

/** The others would only wait for a later turn of the event loop. */
export const MAX_ASKED_AT_ONCE = MAX_STARTED_PER_TURN;

/** Validators that the message is shown to first where that is wise. One more round trip, where the first one signs. */
const FIRST_WAVE = 3;

/** How many to ask now: each wave in which nobody signs is followed by one that doubles the number of those asked. */
function waveWidth({ isCautious }: QueryView, survey: Survey, unsigned: Unsigned | undefined): number {
  if (!isCautious || unsigned === undefined) return Number.POSITIVE_INFINITY;
  return survey.inTime > 0 ? 0 : Math.max(FIRST_WAVE, survey.inVain);
}

/**
 * So many validators speak for all that refused. They are taken from the heaviest to the lightest, so that they do not all lag
 * or lie where the message is good and two thirds of the weight do not.
 */
const SAMPLE = 8;

/** What is known of a message that nobody has signed so far. */
interface Unsigned {
  /** Many have refused: nobody new is asked while others are to answer, nor where the quorum is lost unless refusers sign after all. */
  readonly isNobodyNewAsked: boolean;
  /** So many of those that refused once may be asked a second time. */
  readonly retriesLeft: number;
  /** The whole sample has refused to the end, and all others that refused are taken to do so too. */
  readonly isHopeless: boolean;
}

/**
 * A message that all refuse may be one that they have not seen yet, so a refusal is not final. But while nobody signs it, a sample is
 * asked again instead of all, and nobody new where the quorum needs those who refused. As soon as one signs, everybody is asked
 * as usual. What nobody will sign costs a third of the validators one question each, and not all of them three.
 */
function lookAtUnsigned({ signedWeight, neededWeight }: Tally, survey: Survey): Unsigned | undefined {
  if (signedWeight > 0n || survey.answered > 0) return undefined;
  const { refusals, inTime, open, settled, inSample } = survey;
  return {
    isNobodyNewAsked: refusals >= SAMPLE && (inTime > 0 || open < neededWeight),
    retriesLeft: Math.max(0, SAMPLE - settled - inSample),
    isHopeless: settled >= SAMPLE,
  };
}

/** Those that may be asked, in the order of asking. */
function candidatesIn(tally: Tally, survey: Survey, unsigned: Unsigned | undefined): Iterable<WarpValidator> {
  // As long as nobody has refused, nobody is left out either.
  if (unsigned === undefined || survey.refusals === 0) return survey.inOrder();
  const isNobodyLeft = unsigned.isNobodyNewAsked && survey.candidatesAgain === 0;
  return isNobodyLeft ? [] : fewer([...survey.inOrder()], tally, unsigned);
}

/** Of those that may be asked, those that it makes sense to ask while nobody has signed. */
function fewer(
  candidates: readonly WarpValidator[],
  { standings }: Tally,
  { isNobodyNewAsked, retriesLeft, isHopeless }: Unsigned,
): WarpValidator[] {
  const refusalsOf = ({ index }: WarpValidator): number => {
    const standing = standings[index];
    return standing?.kind === 'waiting' && standing.lastFailure?.kind === 'refused' ? standing.attempts : 0;
  };
  const attemptsOf = ({ index }: WarpValidator): number => {
    const standing = standings[index];
    return standing?.kind === 'waiting' ? standing.attempts : 0;
  };
  const mayBeAsked = isHopeless ? candidates.filter((validator) => refusalsOf(validator) === 0) : candidates;
  const refusedOnce = mayBeAsked.filter((validator) => refusalsOf(validator) === 1);
  const others = new Set(refusedOnce);
  const count = Math.min(retriesLeft, refusedOnce.length);
  for (let i = 0; i < count; i += 1) {
    const spread = refusedOnce[Math.floor((i * refusedOnce.length) / count)];
    if (spread !== undefined) others.delete(spread);
  }
  return mayBeAsked.filter((validator) => !others.has(validator) && !(isNobodyNewAsked && attemptsOf(validator) === 0));
}

/**
 * What follows a failed attempt. `attempts` counts the one that failed.
 *
 * A validator with several nodes is asked through each of them. One that refuses may only lag behind, and is asked again after
 * each of the pauses; a refusal that lag cannot explain is final. After an invalid signature it is not asked again either.
 */
export function afterFailure(
  failure: SignatureFailure,
  {
    attempts,
    nodeCount,
    nowMs,
    isPChainMessage,
  }: {
    attempts: number;
    nodeCount: number;
    nowMs: number;
    isPChainMessage: boolean;
  },
  limits: QueryLimits,
): Standing {
  switch (failure.kind) {
    case 'silent':
    case 'ignored':
      return attempts < nodeCount ? waiting(nowMs) : { kind: 'failed', failure };
    case 'unreachable':
    case 'not_sent': {
      if (attempts < nodeCount) return waiting(nowMs);
      // A broken connection needs a moment to come back, and a full queue to drain.
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

  function waiting(notBeforeMs: number): Standing {
    return { kind: 'waiting', notBeforeMs, attempts, lastFailure: failure };
  }
}
