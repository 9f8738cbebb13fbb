import type { WarpValidator } from '../validators/warp-set.ts';
import type { Outlook } from './outlook.ts';
import type { SignatureFailure } from './signature-source.ts';
import type { Standing, Tally } from './tally.ts';

export interface QueryLimits {
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
  /** How long a validator that is known already may take to be connected again. */
  readonly reconnectGraceMs: number;
  /** Most validators of one request asked at the same time. */
  readonly maxConcurrentQueries: number;
}

export interface QueryView {
  readonly nowMs: number;
  isConnected(validator: WarpValidator): boolean;
  /** Until then, a validator that is not connected may still become so. */
  readonly connectDeadlineMs: number;
  /** The message is shown to a few first, as nobody may sign it, or as it is so large that asking in vain costs much. */
  readonly isCautious: boolean;
  readonly isPChainMessage: boolean;
}

export type QueryPlan =
  /** Quorum and buffer are reached, or the quorum is and nothing more is worth waiting for. */
  | { readonly kind: 'enough' }
  /** The quorum is not reached even if everybody signs who still may. */
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
 */
export function planQueries(tally: Tally, view: QueryView, limits: QueryLimits): QueryPlan {
  const { signedWeight, neededWeight, targetWeight } = tally;
  if (signedWeight >= targetWeight) return { kind: 'enough' };
  const { possible, awaited, countedOn, asking, inTime, atWork, candidates, wakeAtMs } = survey(tally, view, limits);

  if (possible < neededWeight) return { kind: 'out of reach' };
  // What is beyond the quorum is a precaution: no time is spent on whoever is likely to give nothing.
  if (signedWeight >= neededWeight && awaited === 0n) return { kind: 'enough' };

  const room = Math.min(limits.maxConcurrentQueries - asking, waveWidth(tally, view, inTime));
  const ask: WarpValidator[] = [];
  let nextWakeAtMs = wakeAtMs;
  let expected = countedOn;
  for (const validator of candidates) {
    const outlook = outlookOf(tally, validator);
    if (expected >= (outlook.kind === 'suspect' ? neededWeight : targetWeight) || ask.length >= room) break;
    ask.push(validator);
    if (isCountedOn(outlook)) expected += validator.weight;
    nextWakeAtMs = Math.min(nextWakeAtMs, view.nowMs + outlook.hedgeAfterMs);
  }
  return { kind: 'go on', ask, wakeAtMs: nextWakeAtMs, isIdle: ask.length === 0 && atWork === 0 };
}

/** Suspects are, too: no more of them are asked than the quorum needs. */
function isCountedOn({ kind }: Outlook): boolean {
  return kind === 'expected' || kind === 'suspect';
}

interface Survey {
  /** Weight that has signed or may still sign. */
  possible: bigint;
  /** Weight still to come that is worth waiting for where the quorum is reached. */
  awaited: bigint;
  /** Weight that has signed, or is expected to do so soon. */
  countedOn: bigint;
  /** Validators being asked, and how many of them are not late. */
  asking: number;
  inTime: number;
  /** Those in time, and those whose answer is being looked at. */
  atWork: number;
  candidates: WarpValidator[];
  wakeAtMs: number;
}

/** Where all validators stand, in the order of asking. */
function survey(tally: Tally, view: QueryView, limits: QueryLimits): Survey {
  const { signedWeight } = tally;
  const unsigned = lookAtUnsigned(tally, view);
  const wakeAtMs = Number.POSITIVE_INFINITY;
  const seen: Survey = {
    ...{ possible: signedWeight, awaited: 0n, countedOn: signedWeight },
    ...{ asking: 0, inTime: 0, atWork: 0, candidates: [], wakeAtMs },
  };
  const mayCome = ({ weight }: WarpValidator, isAwaited: boolean): void => {
    seen.possible += weight;
    if (isAwaited) seen.awaited += weight;
  };

  for (const validator of tally.askingOrder) {
    const standing = tally.standings[validator.index];
    const outlook = outlookOf(tally, validator);
    const isExpected = outlook.kind === 'expected';
    // Else nobody would learn that a validator is well again where only a buffer lacks it.
    const isOnTrial = outlook.kind === 'on trial';
    switch (standing?.kind) {
      case undefined:
      case 'signed':
      case 'failed':
        break;
      case 'queued':
        mayCome(validator, isExpected || isOnTrial);
        if (isCountedOn(outlook)) seen.countedOn += validator.weight;
        seen.asking += 1;
        seen.inTime += 1;
        seen.atWork += 1;
        break;
      case 'asking': {
        const isInTime = view.nowMs < standing.lateAtMs;
        mayCome(validator, isExpected || (isOnTrial && isInTime));
        seen.asking += 1;
        if (!isInTime) break;
        if (isCountedOn(outlook)) seen.countedOn += validator.weight;
        seen.inTime += 1;
        seen.atWork += 1;
        seen.wakeAtMs = Math.min(seen.wakeAtMs, standing.lateAtMs);
        break;
      }
      case 'answered':
        mayCome(validator, true);
        seen.countedOn += validator.weight;
        seen.atWork += 1;
        break;
      case 'waiting':
        if (unsigned?.isHopeless && standing.lastFailure?.kind === 'refused') break;
        if (view.nowMs < standing.notBeforeMs) {
          mayCome(validator, isExpected);
          seen.wakeAtMs = Math.min(seen.wakeAtMs, standing.notBeforeMs);
        } else if (view.isConnected(validator)) {
          mayCome(validator, isExpected || isOnTrial);
          seen.candidates.push(validator);
        } else if (view.nowMs < connectByMs(standing, view, limits)) {
          mayCome(validator, isExpected);
          seen.wakeAtMs = Math.min(seen.wakeAtMs, connectByMs(standing, view, limits));
        }
        break;
    }
  }
  return unsigned === undefined ? seen : { ...seen, candidates: fewer(seen.candidates, tally, unsigned) };
}

/** Validators that the message is shown to first where that is wise. One more round trip, where the first one signs. */
const FIRST_WAVE = 3;

/** How many to ask now: each wave in which nobody signs is followed by one that doubles the number of those asked. */
function waveWidth(tally: Tally, { isCautious, nowMs }: QueryView, inTime: number): number {
  if (!isCautious || hasSignature(tally)) return Number.POSITIVE_INFINITY;
  if (inTime > 0) return 0;
  const inVain = tally.standings.filter(
    (standing) =>
      standing.kind === 'failed' ||
      (standing.kind === 'waiting' && standing.attempts > 0) ||
      (standing.kind === 'asking' && nowMs >= standing.lateAtMs),
  );
  return Math.max(FIRST_WAVE, inVain.length);
}

function hasSignature({ signedWeight, standings }: Tally): boolean {
  return signedWeight > 0n || standings.some(({ kind }) => kind === 'answered');
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
function lookAtUnsigned(tally: Tally, view: QueryView): Unsigned | undefined {
  if (hasSignature(tally)) return undefined;
  let refusals = 0;
  let inTime = 0;
  let inSample = 0;
  let settled = 0;
  let open = 0n;
  for (const validator of tally.warpSet.validators) {
    const standing = tally.standings[validator.index];
    switch (standing?.kind) {
      case 'failed':
        if (standing.failure.kind === 'refused') refusals += 1;
        if (hasRefusedToTheEnd(standing.failure, view.isPChainMessage)) settled += 1;
        break;
      case 'waiting': {
        const hasRefused = standing.lastFailure?.kind === 'refused';
        if (hasRefused) refusals += 1;
        else open += validator.weight;
        // One that was asked again and has gone since speaks for nobody.
        const isThere = view.nowMs < standing.notBeforeMs || view.isConnected(validator);
        if (hasRefused && standing.attempts > 1 && isThere) inSample += 1;
        break;
      }
      case 'queued':
      case 'asking':
        if (standing.attempts > 1) inSample += 1;
        if (standing.kind === 'queued' || view.nowMs < standing.lateAtMs) inTime += 1;
        open += validator.weight;
        break;
      // Of these there are none, or others are known to sign.
      case undefined:
      case 'answered':
      case 'signed':
        break;
    }
  }
  return {
    isNobodyNewAsked: refusals >= SAMPLE && (inTime > 0 || open < tally.neededWeight),
    retriesLeft: Math.max(0, SAMPLE - settled - inSample),
    isHopeless: settled >= SAMPLE,
  };
}

/** Of those that may be asked, those that it makes sense to ask while nobody has signed. */
function fewer(
  candidates: readonly WarpValidator[],
  { standings }: Tally,
  { isNobodyNewAsked, retriesLeft }: Unsigned,
): WarpValidator[] {
  const attemptsOf = ({ index }: WarpValidator): number => {
    const standing = standings[index];
    return standing?.kind === 'waiting' ? standing.attempts : 0;
  };
  const refusedOnce = candidates.filter((validator) => {
    const standing = standings[validator.index];
    return standing?.kind === 'waiting' && standing.lastFailure?.kind === 'refused' && standing.attempts === 1;
  });
  const others = new Set(refusedOnce);
  const count = Math.min(retriesLeft, refusedOnce.length);
  for (let i = 0; i < count; i += 1) {
    const spread = refusedOnce[Math.floor((i * refusedOnce.length) / count)];
    if (spread !== undefined) others.delete(spread);
  }
  return candidates.filter((validator) => !others.has(validator) && !(isNobodyNewAsked && attemptsOf(validator) === 0));
}

type Waiting = Extract<Standing, { kind: 'waiting' }>;

function outlookOf(tally: Tally, { index }: WarpValidator): Outlook {
  const outlook = tally.outlooks[index];
  if (outlook === undefined) throw new RangeError(`no outlook of validator ${index}`);
  return outlook;
}

/** A connection that broke under the request has its own grace. */
function connectByMs({ notBeforeMs, lastFailure }: Waiting, view: QueryView, limits: QueryLimits): number {
  if (lastFailure?.kind !== 'unreachable') return view.connectDeadlineMs;
  return Math.max(view.connectDeadlineMs, notBeforeMs + limits.reconnectGraceMs);
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

/** What a refusal's code says of asking the same validator again. */
type RefusalVerdict =
  /** The validator may be a block or two behind, or busy. */
  | 'may pass'
  /** It will refuse again within this request; later it may not. */
  | 'final for now'
  /** No later block changes it: the message will never be signed. */
  | 'for good';

/** Generic codes (avalanchego `network/p2p/error.go`). */
const NO_HANDLER = -2;
/** The node answers validators only; a later block may make one of us. */
const NOT_A_VALIDATOR = -3;
/**
 * Codes of the P-Chain that no later block changes (`vms/platformvm/network/warp.go`): they say that the message or its
 * justification is malformed, that the two do not belong together, or that the message contradicts what is decided for
 * good: a subnet is converted once (7), and the weight that belongs to a nonce stays (17).
 */
const FINAL_P_CHAIN_CODES: ReadonlySet<number> = new Set([1, 2, 3, 4, 5, 7, 8, 9, 10, 13, 15, 17]);

function judgeRefusal(code: number, isPChainMessage: boolean): RefusalVerdict {
  if (code === NOT_A_VALIDATOR) return 'final for now';
  // The chain's virtual machine signs nothing at all: that changes with the node's software, and with no block.
  if (code === NO_HANDLER || (isPChainMessage && FINAL_P_CHAIN_CODES.has(code))) return 'for good';
  return 'may pass';
}

/** It was asked again after each of the pauses. */
function hasRefusedToTheEnd(failure: SignatureFailure, isPChainMessage: boolean): boolean {
  return failure.kind === 'refused' && judgeRefusal(failure.code, isPChainMessage) === 'may pass';
}

/** Weight of the validators that have refused and, whatever happens, will refuse again. */
export function weightRefusedForGood(tally: Tally, isPChainMessage: boolean): bigint {
  return tally.warpSet.validators.reduce((sum, { index, weight }) => {
    const standing = tally.standings[index];
    const isForGood =
      standing?.kind === 'failed' &&
      standing.failure.kind === 'refused' &&
      judgeRefusal(standing.failure.code, isPChainMessage) === 'for good';
    return isForGood ? sum + weight : sum;
  }, 0n);
}
