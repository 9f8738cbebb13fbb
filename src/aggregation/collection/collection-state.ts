import type { WarpValidator } from '../../validators/warp-set.ts';
import { forecastOf, type ValidatorForecast } from '../validators/validator-forecast.ts';
import { hasRefusedToTheEnd } from './refusal-verdict.ts';
import type { Tally, ValidatorState } from './tally.ts';

export interface CollectionView {
  readonly nowMs: number;
  isConnected(validator: WarpValidator): boolean;
  /** Counts changes of connections: what is known of connections holds until it changes. */
  readonly connectionChanges: number;
  /** A validator that is not connected may still become so until then. */
  readonly connectDeadlineMs: number;
  readonly isPChainMessage: boolean;
}

export interface ConnectionLimits {
  readonly reconnectGraceMs: number;
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
/** Refused after every retry. */
const SETTLED = 1 << 9;
/** Being asked again, or to be asked again. */
const IN_SAMPLE = 1 << 10;
/** May sign, and has not refused. */
const OPEN = 1 << 11;
/** Depends on the connection. */
const BY_CONNECTION = 1 << 12;

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
  #areRefusersLost = false;
  #isWakeAtOld = true;
  wakeAtMs = FOR_GOOD;
  /** Weight that may still sign. */
  possible = 0n;
  /** Weight still to come that is worth waiting for after the quorum is reached. */
  awaited = 0n;
  /** Weight of validators whose signature is expected soon. */
  countedOn = 0n;
  open = 0n;
  /** Validators being asked, and how many of them are not late. */
  asking = 0;
  inTime = 0;
  answered = 0;
  inVain = 0;
  refusals = 0;
  settled = 0;
  inSample = 0;
  /** Validators that may be asked again now. */
  candidatesAgain = 0;

  constructor(tally: Tally) {
    this.#tally = tally;
    const { length } = tally.warpSet.validators;
    this.#flags = new Uint16Array(length);
    this.#untilMs = new Float64Array(length).fill(FOR_GOOD);
  }

  update(view: CollectionView, limits: ConnectionLimits): void {
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

  /** Sets whether validators that have refused are taken not to sign any more. */
  setRefusersLost(areLost: boolean, view: CollectionView, limits: ConnectionLimits): void {
    if (areLost === this.#areRefusersLost) return;
    this.#areRefusersLost = areLost;
    this.#lookAtAll(view, limits, (flags) => (flags & REFUSED) !== 0);
    this.#findWakeAt();
  }

  #lookAtAll(
    view: CollectionView,
    limits: ConnectionLimits,
    isMeant: (flags: number, untilMs: number) => boolean,
  ): void {
    for (const [index, flags] of this.#flags.entries()) {
      if (isMeant(flags, this.#untilMs[index] as number)) this.#look(index, view, limits);
    }
  }

  #look(index: number, view: CollectionView, limits: ConnectionLimits): void {
    const { states, warpSet, forecasts } = this.#tally;
    const validator = warpSet.validators[index] as WarpValidator;
    const state = states[index] as ValidatorState;
    const before = this.#flags[index] as number;
    const isLost = this.#areRefusersLost && state.kind === 'waiting' && state.lastFailure?.kind === 'refused';
    const { flags, untilMs } = isLost
      ? { flags: IN_VAIN | REFUSED, untilMs: FOR_GOOD }
      : shareOf(state, forecastOf(forecasts, validator), validator, view, limits);
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

  /** Validators that may be asked now, in asking order. */
  *inOrder(): Iterable<WarpValidator> {
    for (const validator of this.#tally.askingOrder) {
      if ((this.#flags[validator.index] as number) & CANDIDATE) yield validator;
    }
  }

  /** The part of `possible` that belongs to avoided validators, which are last in the asking order. */
  possibleOfAvoided(): bigint {
    const { askingOrder, forecasts } = this.#tally;
    let weight = 0n;
    for (let place = askingOrder.length - 1; place >= 0; place -= 1) {
      const validator = askingOrder[place] as WarpValidator;
      if (forecastOf(forecasts, validator).kind !== 'avoided') break;
      if ((this.#flags[validator.index] as number) & POSSIBLE) weight += validator.weight;
    }
    return weight;
  }

  /** Updates only sums that change: each is a new BigInt. */
  #countWeights({ weight }: WarpValidator, before: number, after: number): void {
    const changed = before ^ after;
    if (changed & POSSIBLE) this.possible += after & POSSIBLE ? weight : -weight;
    if (changed & AWAITED) this.awaited += after & AWAITED ? weight : -weight;
    if (changed & COUNTED_ON) this.countedOn += after & COUNTED_ON ? weight : -weight;
    if (changed & OPEN) this.open += after & OPEN ? weight : -weight;
  }

  #count(flags: number, by: 1 | -1): void {
    if (flags & ASKING) this.asking += by;
    if (flags & IN_TIME) this.inTime += by;
    if (flags & ANSWERED) this.answered += by;
    if (flags & IN_VAIN) this.inVain += by;
    if (flags & REFUSED) this.refusals += by;
    if (flags & SETTLED) this.settled += by;
    if (flags & IN_SAMPLE) this.inSample += by;
    if (flags & CANDIDATE && flags & IN_VAIN) this.candidatesAgain += by;
  }
}

/** Includes invalid signers and avoided validators: no more of them are asked than the quorum needs. */
export function isCountedOn({ kind }: ValidatorForecast): boolean {
  return kind === 'expected' || kind === 'invalid signer' || kind === 'avoided';
}

function shareOf(
  state: ValidatorState,
  forecast: ValidatorForecast,
  validator: WarpValidator,
  view: CollectionView,
  limits: ConnectionLimits,
): Share {
  const { nowMs } = view;
  const counted = isCountedOn(forecast) ? COUNTED_ON : 0;
  const ifExpected = forecast.kind === 'expected' ? AWAITED : 0;
  // Otherwise a validator that only the buffer needs would never be found to answer again.
  const ifOnTrialToo = forecast.kind === 'on trial' ? AWAITED : ifExpected;
  switch (state.kind) {
    case 'signed':
      return NOTHING;
    case 'failed': {
      const { failure } = state;
      const refused = failure.kind === 'refused' ? REFUSED : 0;
      const settled = hasRefusedToTheEnd(failure, view.isPChainMessage) ? SETTLED : 0;
      return { flags: IN_VAIN | refused | settled, untilMs: FOR_GOOD };
    }
    case 'answered':
      return ANSWERED_SHARE;
    case 'queued':
    case 'asking': {
      const asking = ASKING | POSSIBLE | OPEN | (state.attempts > 1 ? IN_SAMPLE : 0);
      const inTime = asking | IN_TIME | counted | ifOnTrialToo;
      if (state.kind === 'queued') return { flags: inTime, untilMs: FOR_GOOD };
      if (nowMs < state.lateAtMs) return { flags: inTime, untilMs: state.lateAtMs };
      return { flags: asking | IN_VAIN | ifExpected, untilMs: FOR_GOOD };
    }
    case 'waiting': {
      const hasRefused = state.lastFailure?.kind === 'refused';
      const before = (state.attempts > 0 ? IN_VAIN : 0) | (hasRefused ? REFUSED : OPEN);
      // One that has disconnected since is no part of the sample.
      const ifThere = hasRefused && state.attempts > 1 ? IN_SAMPLE : 0;
      const maySign = before | POSSIBLE | ifExpected;
      if (nowMs < state.notBeforeMs) return { flags: maySign | ifThere, untilMs: state.notBeforeMs };
      if (view.isConnected(validator)) {
        return { flags: maySign | ifOnTrialToo | ifThere | CANDIDATE | BY_CONNECTION, untilMs: FOR_GOOD };
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
  limits: ConnectionLimits,
): number {
  if (lastFailure?.kind !== 'unreachable') return view.connectDeadlineMs;
  return Math.max(view.connectDeadlineMs, notBeforeMs + limits.reconnectGraceMs);
}
