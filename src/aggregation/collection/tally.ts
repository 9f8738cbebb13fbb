import { quorumWeight } from '../../validators/quorum.ts';
import type { WarpSet, WarpValidator } from '../../validators/warp-set.ts';
import type { NodeID } from '../../warp/ids.ts';
import type { ValidatorForecast } from '../validators/validator-forecast.ts';
import {
  type FinalOutcome,
  type MissingValidator,
  NO_WEIGHTS,
  type OutcomeKind,
  type OutcomeWeights,
  type SignatureFailure,
  type TallySummary,
  type ValidatorOutcome,
} from '../validators/validator-outcome.ts';

export type ValidatorState =
  /** May be asked from `notBeforeMs` on; `lastFailure` is that of an earlier attempt. */
  | {
      readonly kind: 'waiting';
      readonly notBeforeMs: number;
      readonly attempts: number;
      readonly lastFailure?: SignatureFailure;
    }
  /** Waits for a permit to be asked. */
  | { readonly kind: 'queued'; readonly attempts: number }
  /** Late from `lateAtMs` on: no longer counted on. */
  | { readonly kind: 'asking'; readonly lateAtMs: number; readonly attempts: number }
  /** Its signature is being decoded, or verified alone. */
  | { readonly kind: 'answered' }
  | { readonly kind: 'signed'; readonly signature: Uint8Array }
  | { readonly kind: 'failed'; readonly failure: SignatureFailure };

export interface Tally {
  readonly warpSet: WarpSet;
  readonly neededWeight: bigint;
  readonly targetWeight: bigint;
  readonly states: readonly ValidatorState[];
  /** The refusal of each validator that has answered nothing else since. */
  readonly refusals: readonly (SignatureFailure | undefined)[];
  readonly signedWeight: bigint;
  readonly forecasts: readonly ValidatorForecast[];
  /** Canonical validators in the order of asking: by rank of their forecast, then heaviest first. */
  readonly askingOrder: readonly WarpValidator[];
  /** The index of each state that was set, in order. */
  readonly changes: readonly number[];
  set(index: number, state: ValidatorState): void;
}

export interface TallyOptions {
  readonly quorumNum: bigint;
  readonly quorumBuffer: bigint;
  readonly forecasts: readonly ValidatorForecast[];
  readonly onChange?: (index: number, state: ValidatorState) => void;
}

const UNTRIED: ValidatorState = { kind: 'waiting', notBeforeMs: 0, attempts: 0 };

export function createTally(warpSet: WarpSet, { quorumNum, quorumBuffer, forecasts, onChange }: TallyOptions): Tally {
  const states: ValidatorState[] = warpSet.validators.map(() => UNTRIED);
  const rankOf = ({ index }: WarpValidator): number => forecasts[index]?.rank ?? 0;
  const changes: number[] = [];
  const refusals: (SignatureFailure | undefined)[] = [];
  let signedWeight = 0n;
  return {
    warpSet,
    refusals,
    forecasts,
    // A quorum of 0 still needs one signature.
    neededWeight: atLeastOne(quorumWeight(quorumNum, warpSet.totalWeight)),
    targetWeight: targetWeightOf(warpSet, { quorumNum, quorumBuffer }),
    states,
    changes,
    get signedWeight() {
      return signedWeight;
    },
    // A stable sort: equal ranks stay ordered by weight.
    askingOrder: heaviestFirst(warpSet).toSorted((a, b) => rankOf(a) - rankOf(b)),
    set(index, next) {
      const validator = warpSet.validators[index];
      if (validator === undefined) throw new RangeError(`no validator ${index}`);
      if (states[index]?.kind === 'signed') signedWeight -= validator.weight;
      if (next.kind === 'signed') signedWeight += validator.weight;
      states[index] = next;
      refusals[index] = refusalAfter(next, refusals[index]);
      changes.push(index);
      onChange?.(index, next);
    },
  };
}

/** A timeout or a lost connection is no answer: a refusal holds until there is another answer. */
function refusalAfter(next: ValidatorState, before: SignatureFailure | undefined): SignatureFailure | undefined {
  if (next.kind === 'signed' || next.kind === 'answered' || (next.kind === 'waiting' && next.attempts === 0)) {
    return undefined;
  }
  const failure = failureOf(next);
  if (failure?.kind === 'refused') return failure;
  return failure?.kind === 'invalid_signature' ? undefined : before;
}

export function failureOf(state: ValidatorState | undefined): SignatureFailure | undefined {
  if (state?.kind === 'failed') return state.failure;
  return state?.kind === 'waiting' ? state.lastFailure : undefined;
}

/** The last known answer of a validator, or why there is none. */
export function knownOutcome({ states, refusals }: Tally, index: number): ValidatorOutcome | undefined {
  const state = states[index];
  if (state?.kind === 'signed') return SIGNED;
  return refusals[index] ?? failureOf(state);
}

const SIGNED: ValidatorOutcome = { kind: 'signed' };

export function targetWeightOf(
  { totalWeight }: WarpSet,
  { quorumNum, quorumBuffer }: Pick<TallyOptions, 'quorumNum' | 'quorumBuffer'>,
): bigint {
  return atLeastOne(quorumWeight(quorumNum + quorumBuffer, totalWeight));
}

/** Sets are immutable and shared by requests, so each is sorted once. */
const sorted = new WeakMap<WarpSet, readonly WarpValidator[]>();

function heaviestFirst(warpSet: WarpSet): readonly WarpValidator[] {
  let validators = sorted.get(warpSet);
  if (validators === undefined) {
    validators = warpSet.validators.toSorted(byWeightDescending);
    sorted.set(warpSet, validators);
  }
  return validators;
}

function atLeastOne(weight: bigint): bigint {
  return weight > 0n ? weight : 1n;
}

/** Most reasons listed for one outcome: peers choose the texts of refusals. */
const MAX_REASONS = 8;
/** Most validators named: some 10 KB of an answer. */
const MAX_MISSING = 32;

/** @param whyUnreachable returns why a validator that may still be asked is not connected, or undefined if it is */
export function summarizeTally(
  tally: Tally,
  whyUnreachable: (validator: WarpValidator) => string | undefined,
): TallySummary {
  const { warpSet, neededWeight, signedWeight } = tally;
  const signed = { weight: 0n, count: 0 };
  const refused = new ReasonedCount<{ readonly code: number; readonly text: string }>();
  const others = {
    timed_out: new ReasonedCount<{ readonly reason: string }>(),
    unreachable: new ReasonedCount<{ readonly reason: string }>(),
    invalid_signature: new ReasonedCount<{ readonly reason: string }>(),
    not_asked: new ReasonedCount<{ readonly reason: string }>(),
  };
  const missing: MissingValidator[] = [];

  for (const validator of heaviestFirst(warpSet)) {
    const { weight, index, nodeIDs } = validator;
    const outcome = finalOutcome(tally, index, () => whyUnreachable(validator));
    if (outcome.kind === 'signed') {
      addTo(signed, weight);
      continue;
    }
    const { kind, ...more } = outcome;
    missing.push({ nodeID: nodeIDs[0] as NodeID, weight, outcome: kind, ...more });
    if (outcome.kind === 'refused') {
      const { code, text } = outcome;
      refused.add(weight, `${code} ${text}`, { code, text });
    } else {
      const { reason } = outcome;
      others[outcome.kind].add(weight, reason, reason === undefined ? undefined : { reason });
    }
  }
  return {
    neededWeight,
    signedWeight,
    totalWeight: warpSet.totalWeight,
    outcomes: {
      signed,
      refused: refused.summary(),
      timed_out: others.timed_out.summary(),
      unreachable: others.unreachable.summary(),
      invalid_signature: others.invalid_signature.summary(),
      not_asked: others.not_asked.summary(),
      no_key: warpSet.keyless,
    },
    missing: missing.slice(0, MAX_MISSING),
    missingOmitted: Math.max(0, missing.length - MAX_MISSING),
  };
}

/** Adds up weights by outcome, without the reasons and the missing validators of {@link summarizeTally}. */
export function weighOutcomes(tally: Tally, isConnected: (validator: WarpValidator) => boolean): OutcomeWeights {
  const { warpSet } = tally;
  const weights: Record<OutcomeKind, bigint> = { ...NO_WEIGHTS, no_key: warpSet.keyless.weight };
  for (const validator of warpSet.validators) {
    const whyUnreachable = () => (isConnected(validator) ? undefined : 'not connected');
    weights[finalOutcome(tally, validator.index, whyUnreachable).kind] += validator.weight;
  }
  return weights;
}

/** Validators with one outcome, in total and by reason. */
class ReasonedCount<Reason> {
  readonly #total = { weight: 0n, count: 0 };
  readonly #reasons = new Map<string, Reason & { weight: bigint; count: number }>();

  add(weight: bigint, key: string | undefined, reason: Reason | undefined): void {
    addTo(this.#total, weight);
    if (key === undefined || reason === undefined) return;
    const known = this.#reasons.get(key);
    if (known === undefined) this.#reasons.set(key, { ...reason, weight, count: 1 });
    else addTo(known, weight);
  }

  summary() {
    return {
      ...this.#total,
      reasons: [...this.#reasons.values()].toSorted(byWeightDescending).slice(0, MAX_REASONS),
    };
  }
}

function finalOutcome(tally: Tally, index: number, whyUnreachable: () => string | undefined): FinalOutcome {
  const known = knownOutcome(tally, index);
  if (known !== undefined) return known;
  const state = tally.states[index];
  if (state?.kind === 'queued') return { kind: 'not_asked', reason: 'queue_full' };
  if (state?.kind === 'asking' || state?.kind === 'answered') return { kind: 'timed_out', reason: 'request_ended' };
  const reason = whyUnreachable();
  return reason === undefined ? { kind: 'not_asked' } : { kind: 'unreachable', reason };
}

function addTo(total: { weight: bigint; count: number }, weight: bigint): void {
  total.weight += weight;
  total.count += 1;
}

export function byWeightDescending(a: { readonly weight: bigint }, b: { readonly weight: bigint }): number {
  return a.weight < b.weight ? 1 : a.weight > b.weight ? -1 : 0;
}
