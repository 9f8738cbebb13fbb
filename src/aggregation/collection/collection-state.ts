import type { WarpValidator } from '../../validators/warp-set.ts';
import type { AggregationLimits } from '../aggregation-limits.ts';
import { forecastOf, type ValidatorForecast } from '../validators/validator-forecast.ts';
import type { Tally, ValidatorState } from './tally.ts';

export interface CollectionView {
  readonly nowMs: number;
  isConnected(validator: WarpValidator): boolean;
  /** Counts changes of connections: what is known of connections holds until it changes. */
  readonly connectionChanges: number;
  /** A validator that is not connected may still become so until then. */
  readonly connectDeadlineMs: number;
}

/** Flags of one validator, summed up over all. */
const POSSIBLE = 1 << 0;
const AWAITED = 1 << 1;
const COUNTED_ON = 1 << 2;
const ASKING = 1 << 3;
const IN_TIME = 1 << 4;
const ANSWERED = 1 << 5;
const CANDIDATE = 1 << 6;
/** Asked, and without a signature so far. */
const IN_VAIN = 1 << 7;
const REFUSED = 1 << 8;
/** May be asked again: its refusal may pass. */
const REPEATABLE = 1 << 9;
/** Asked again after a refusal, and not late. */
const REPEATED = 1 << 10;
/** May sign, and has not refused. */
const OPEN = 1 << 11;
/** Depends on the connection. */
const BY_CONNECTION = 1 << 12;
/** Timed out, and asked once more after all others, if the quorum needs it. */
const LAST_RESORT = 1 << 13;

const FOR_GOOD = Number.POSITIVE_INFINITY;

interface Share {
  readonly flags: number;
  readonly untilMs: number;
}

const NOTHING: Share = { flags: 0, untilMs: FOR_GOOD };
const ANSWERED_SHARE: Share = { flags: ANSWERED | POSSIBLE | AWAITED | COUNTED_ON, untilMs: FOR_GOOD };

/**
 * Sums over the states of all validators of one request. Only validators that changed are counted again: a full pass after
 * every answer takes a quarter of a second in total at 2,000 validators, and 16 s at 10,000.
 */
export class CollectionState {
  readonly #tally: Tally;
  readonly #flags: Uint16Array;
  readonly #untilMs: Float64Array;
  #changesSeen: number | undefined;
  #connectionChanges = -1;
  #isWakeAtOld = true;
  wakeAtMs = FOR_GOOD;
  /** Weight that may still sign. */
  possible = 0n;
  /** Weight still to come that is worth waiting for after the quorum is reached. */
  awaited = 0n;
  /** Weight of validators whose signature is expected soon. */
  countedOn = 0n;
  open = 0n;
  /** The part of `possible` that belongs to validators whose refusal may pass. */
  repeatable = 0n;
  /** The part of `possible` that belongs to validators that timed out. */
  lastResort = 0n;
  /** Validators being asked, and how many of them are not late. */
  asking = 0;
  inTime = 0;
  answered = 0;
  inVain = 0;
  /** Validators whose last answer was a refusal, and how many of them are being asked again and are not late. */
  refusals = 0;
  repeated = 0;

  constructor(tally: Tally) {
    this.#tally = tally;
    const { length } = tally.warpSet.validators;
    this.#flags = new Uint16Array(length);
    this.#untilMs = new Float64Array(length).fill(FOR_GOOD);
  }

  update(view: CollectionView, limits: Pick<AggregationLimits, 'reconnectGraceMs'>): void {
    const { changes } = this.#tally;
    if (this.#changesSeen === undefined) this.#lookAtAll(view, limits, () => true);
    else for (const index of changes.slice(this.#changesSeen)) this.#look(index, view, limits);
    this.#changesSeen = changes.length;
    if (view.connectionChanges !== this.#connectionChanges) {
      this.#lookAtAll(view, limits, (flags) => (flags & BY_CONNECTION) !== 0);
      this.#connectionChanges = view.connectionChanges;
    }
    if (view.nowMs >= this.wakeAtMs) this.#lookAtAll(view, limits, (_, untilMs) => view.nowMs >= untilMs);
    this.#findWakeAt();
  }

  #lookAtAll(
    view: CollectionView,
    limits: Pick<AggregationLimits, 'reconnectGraceMs'>,
    isMeant: (flags: number, untilMs: number) => boolean,
  ): void {
    for (const [index, flags] of this.#flags.entries()) {
      if (isMeant(flags, this.#untilMs[index] as number)) this.#look(index, view, limits);
    }
  }

  #look(index: number, view: CollectionView, limits: Pick<AggregationLimits, 'reconnectGraceMs'>): void {
    const { states, warpSet, forecasts, refusals } = this.#tally;
    const validator = warpSet.validators[index] as WarpValidator;
    const state = states[index] as ValidatorState;
    const before = this.#flags[index] as number;
    const facts = { validator, forecast: forecastOf(forecasts, validator), hasRefused: refusals[index] !== undefined };
    const { flags, untilMs } = shareOf(state, facts, view, limits);
    if (flags !== before) {
      this.#countWeights(validator, before, flags);
      this.#count(before, -1);
      this.#count(flags, 1);
    }
    this.#isWakeAtOld ||= Math.min(this.#untilMs[index] as number, untilMs) <= this.wakeAtMs;
    this.#flags[index] = flags;
    this.#untilMs[index] = untilMs;
  }

  #findWakeAt(): void {
    if (!this.#isWakeAtOld) return;
    this.wakeAtMs = this.#untilMs.reduce((a, b) => Math.min(a, b), FOR_GOOD);
    this.#isWakeAtOld = false;
  }

  /** Validators that may be asked now, in asking order, and those that timed out at the end. */
  *inOrder(): Generator<WarpValidator, undefined> {
    for (const kind of [CANDIDATE, CANDIDATE | LAST_RESORT]) {
      for (const validator of this.#tally.askingOrder) {
        const flags = this.#flags[validator.index] as number;
        if ((flags & (CANDIDATE | LAST_RESORT)) === kind) yield validator;
      }
    }
    return undefined;
  }

  hasRefused({ index }: WarpValidator): boolean {
    return ((this.#flags[index] as number) & REFUSED) !== 0;
  }

  isLastResort({ index }: WarpValidator): boolean {
    return ((this.#flags[index] as number) & LAST_RESORT) !== 0;
  }

  /** The part of `possible` that belongs to avoided validators, which are last in the asking order. */
  possibleOfAvoided(): bigint {
    const { askingOrder, forecasts } = this.#tally;
    let weight = 0n;
    for (let place = askingOrder.length - 1; place >= 0; place -= 1) {
      const validator = askingOrder[place] as WarpValidator;
      if (forecastOf(forecasts, validator).kind !== 'avoided') break;
      if (((this.#flags[validator.index] as number) & POSSIBLE) !== 0) weight += validator.weight;
    }
    return weight;
  }

  /** Updates only sums that change: each is a new BigInt. */
  #countWeights({ weight }: WarpValidator, before: number, after: number): void {
    const part = (flags: number): bigint => {
      const [had, has] = [(before & flags) === flags, (after & flags) === flags];
      return had === has ? 0n : has ? weight : -weight;
    };
    this.possible += part(POSSIBLE);
    this.awaited += part(AWAITED);
    this.countedOn += part(COUNTED_ON);
    this.open += part(OPEN);
    this.repeatable += part(POSSIBLE | REPEATABLE);
    this.lastResort += part(POSSIBLE | LAST_RESORT);
  }

  #count(flags: number, by: 1 | -1): void {
    if (flags & ASKING) this.asking += by;
    if (flags & IN_TIME) this.inTime += by;
    if (flags & ANSWERED) this.answered += by;
    if (flags & IN_VAIN) this.inVain += by;
    if (flags & REFUSED) this.refusals += by;
    if (flags & REPEATED) this.repeated += by;
  }
}

/** Includes invalid signers and avoided validators: no more of them are asked than the quorum needs. */
export function isCountedOn({ kind }: ValidatorForecast): boolean {
  return kind === 'expected' || kind === 'invalid signer' || kind === 'avoided';
}

/** Attempts at a validator that refuses which the buffer waits for: some 0.4 s. Longer, it is not worth it. */
const MAX_AWAITED_ATTEMPTS = 3;

interface ValidatorFacts {
  readonly validator: WarpValidator;
  readonly forecast: ValidatorForecast;
  /** Its last answer was a refusal. */
  readonly hasRefused: boolean;
}

function shareOf(
  state: ValidatorState,
  { validator, forecast, hasRefused }: ValidatorFacts,
  view: CollectionView,
  limits: Pick<AggregationLimits, 'reconnectGraceMs'>,
): Share {
  const { nowMs } = view;
  const refused = hasRefused ? REFUSED : 0;
  const counted = isCountedOn(forecast) ? COUNTED_ON : 0;
  const ifExpected = forecast.kind === 'expected' ? AWAITED : 0;
  // Otherwise a validator that only the buffer needs would never be found to answer again.
  const ifOnTrialToo = forecast.kind === 'on trial' ? AWAITED : ifExpected;
  switch (state.kind) {
    case 'signed':
      return NOTHING;
    case 'failed':
      return { flags: IN_VAIN | refused, untilMs: FOR_GOOD };
    case 'answered':
      return ANSWERED_SHARE;
    case 'queued':
    case 'asking': {
      const asking = ASKING | POSSIBLE | OPEN | refused;
      const inTime = asking | IN_TIME | counted | ifOnTrialToo | (hasRefused ? REPEATED : 0);
      if (state.kind === 'queued') return { flags: inTime, untilMs: FOR_GOOD };
      if (nowMs < state.lateAtMs) return { flags: inTime, untilMs: state.lateAtMs };
      return { flags: asking | IN_VAIN | ifExpected, untilMs: FOR_GOOD };
    }
    case 'waiting': {
      const { attempts, lastFailure } = state;
      // An avoided validator is asked only for the quorum anyway.
      const isLastResort =
        lastFailure?.kind === 'timed_out' &&
        attempts >= validator.nodeIDs.length &&
        !hasRefused &&
        forecast.kind !== 'avoided';
      const isAwaited = hasRefused ? attempts <= MAX_AWAITED_ATTEMPTS : !isLastResort;
      const before =
        (attempts > 0 ? IN_VAIN : 0) | (hasRefused ? REFUSED | REPEATABLE : OPEN) | (isLastResort ? LAST_RESORT : 0);
      const maySign = before | POSSIBLE | (isAwaited ? ifExpected : 0);
      if (nowMs < state.notBeforeMs) return { flags: maySign, untilMs: state.notBeforeMs };
      if (view.isConnected(validator)) {
        const ifTried = isAwaited ? ifOnTrialToo : 0;
        return { flags: maySign | ifTried | CANDIDATE | BY_CONNECTION, untilMs: FOR_GOOD };
      }
      const untilMs = connectByMs(state, view, limits);
      if (nowMs < untilMs) return { flags: maySign | BY_CONNECTION, untilMs };
      return { flags: before | BY_CONNECTION, untilMs: FOR_GOOD };
    }
  }
}

/** A connection that broke during a request has a separate grace period. */
function connectByMs(
  { notBeforeMs, lastFailure }: Extract<ValidatorState, { kind: 'waiting' }>,
  view: CollectionView,
  limits: Pick<AggregationLimits, 'reconnectGraceMs'>,
): number {
  if (lastFailure?.kind !== 'unreachable') return view.connectDeadlineMs;
  return Math.max(view.connectDeadlineMs, notBeforeMs + limits.reconnectGraceMs);
}
