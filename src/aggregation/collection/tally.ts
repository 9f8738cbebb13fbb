import { quorumWeight } from '../../validators/quorum.ts';
import type { WarpSet, WarpValidator } from '../../validators/warp-set.ts';
import type { NodeID } from '../../warp/ids.ts';
import type { ValidatorForecast } from '../validators/validator-forecast.ts';
import {
  type MissingValidator,
  NO_WEIGHTS,
  type OutcomeKind,
  type OutcomeWeights,
  type TallySummary,
  type ValidatorOutcome,
  type WeightCount,
} from '../validators/validator-outcome.ts';
import { COULD_BE_REGISTERED } from './refusal-verdict.ts';
import { knownOutcome, UNTRIED, type ValidatorState } from './validator-state.ts';

/** Weight that no repetition of the request changes. */
export interface FinalRefusals {
  /** Weight of the validators that refused with a code that no later block changes, or none before the registration's expiry. */
  readonly refusedForGood: bigint;
  /** The second part of it. */
  readonly refusedUntilExpiry: bigint;
}

export const NO_FINAL_REFUSALS: FinalRefusals = { refusedForGood: 0n, refusedUntilExpiry: 0n };

/** The states of the validators of one collection, and the weight that signed. */
export interface Tally {
  readonly warpSet: WarpSet;
  readonly neededWeight: bigint;
  readonly targetWeight: bigint;
  /** By canonical index. */
  readonly states: readonly ValidatorState[];
  readonly signedWeight: bigint;
  readonly forecasts: readonly ValidatorForecast[];
  /** Canonical validators in the order of asking: by rank of their forecast, then heaviest first. */
  readonly askingOrder: readonly WarpValidator[];
  set(index: number, state: ValidatorState): void;
}

export interface TallyOptions {
  readonly quorumNum: bigint;
  readonly quorumBuffer: bigint;
  readonly forecasts: readonly ValidatorForecast[];
  readonly onChange?: (index: number, state: ValidatorState) => void;
}

export function createTally(warpSet: WarpSet, { quorumNum, quorumBuffer, forecasts, onChange }: TallyOptions): Tally {
  const states: ValidatorState[] = warpSet.validators.map(() => UNTRIED);
  const rankOf = ({ index }: WarpValidator): number => forecasts[index]?.rank ?? 0;
  let signedWeight = 0n;
  return {
    warpSet,
    forecasts,
    // A quorum of 0 still needs one signature.
    neededWeight: atLeastOne(quorumWeight(quorumNum, warpSet.totalWeight)),
    targetWeight: targetWeightOf(warpSet, { quorumNum, quorumBuffer }),
    states,
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
      onChange?.(index, next);
    },
  };
}

/** Adds up the validators that refused for good, and those of them that refused until the registration's expiry. */
export function weighFinalRefusals({ warpSet, states }: Pick<Tally, 'warpSet' | 'states'>): FinalRefusals {
  let [refusedForGood, refusedUntilExpiry] = [0n, 0n];
  for (const { index, weight } of warpSet.validators) {
    const state = states[index];
    if (state?.kind !== 'failed' || !state.isForGood) continue;
    refusedForGood += weight;
    const { failure } = state;
    if (failure.kind === 'refused' && failure.code === COULD_BE_REGISTERED) refusedUntilExpiry += weight;
  }
  return { refusedForGood, refusedUntilExpiry };
}

export function targetWeightOf(
  { totalWeight }: WarpSet,
  { quorumNum, quorumBuffer }: Pick<TallyOptions, 'quorumNum' | 'quorumBuffer'>,
): bigint {
  return atLeastOne(quorumWeight(quorumNum + quorumBuffer, totalWeight));
}

/** Sets are immutable and shared by requests, so each is sorted once. */
const sorted = new WeakMap<WarpSet, readonly WarpValidator[]>();

/** Returns canonical validators, the heaviest first. */
export function heaviestFirst(warpSet: WarpSet): readonly WarpValidator[] {
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

/** Summarizes a set of which no validator was asked. */
export function summarizeUnasked(
  plan: Pick<TallyOptions, 'quorumNum' | 'quorumBuffer'> & { readonly warpSet: WarpSet },
  whyUnreachable: (validator: WarpValidator) => string | undefined,
): TallySummary {
  return summarizeTally(createTally(plan.warpSet, { ...plan, forecasts: [] }), whyUnreachable);
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
  const missing: MissingValidator[] = [];
  for (const validator of heaviestFirst(warpSet)) {
    const { weight, index, nodeIDs } = validator;
    const outcome = finalOutcome(tally, index, () => whyUnreachable(validator));
    if (outcome.kind !== 'signed') missing.push({ nodeID: nodeIDs[0] as NodeID, weight, outcome });
  }
  const signedCount = warpSet.validators.length - missing.length;
  if (warpSet.keyless.count > 0) {
    missing.push(
      ...warpSet.keyless.validators.map(({ nodeID, weight, reason }) => {
        const outcome = { kind: 'no_key', reason } as const;
        return { nodeID, weight, outcome };
      }),
    );
    missing.sort(byWeightDescending);
  }
  const byOutcome = Map.groupBy(missing, ({ outcome }) => outcome.kind);
  const countOf = (kind: Exclude<OutcomeKind, 'signed' | 'refused'>) =>
    countByReason(byOutcome.get(kind), ({ outcome }) =>
      'reason' in outcome && outcome.reason !== undefined ? { reason: outcome.reason } : undefined,
    );
  return {
    neededWeight,
    signedWeight,
    totalWeight: warpSet.totalWeight,
    outcomes: {
      signed: { weight: signedWeight, count: signedCount },
      refused: countByReason(byOutcome.get('refused'), ({ outcome }) =>
        outcome.kind === 'refused' ? { code: outcome.code, text: outcome.text } : undefined,
      ),
      timed_out: countOf('timed_out'),
      unreachable: countOf('unreachable'),
      invalid_signature: countOf('invalid_signature'),
      not_asked: countOf('not_asked'),
      no_key: countOf('no_key'),
    },
    missing: missing.slice(0, MAX_MISSING),
    missingOmitted: Math.max(0, missing.length - MAX_MISSING),
  };
}

/** Counts validators with one outcome, in total and by reason. */
function countByReason<Reason>(
  validators: readonly MissingValidator[] = [],
  reasonOf: (validator: MissingValidator) => Reason | undefined,
) {
  const reasons = [...Map.groupBy(validators, (validator) => JSON.stringify(reasonOf(validator)))]
    .filter(([reason]) => reason !== undefined)
    .map(([reason, some]) => ({ ...(JSON.parse(reason) as Reason), ...count(some) }));
  return { ...count(validators), reasons: reasons.toSorted(byWeightDescending).slice(0, MAX_REASONS) };
}

function count(validators: readonly MissingValidator[]): WeightCount {
  return { weight: validators.reduce((sum, { weight }) => sum + weight, 0n), count: validators.length };
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

function finalOutcome(tally: Tally, index: number, whyUnreachable: () => string | undefined): ValidatorOutcome {
  const state = tally.states[index] as ValidatorState;
  const known = knownOutcome(state);
  if (known !== undefined) return known;
  if (state.kind === 'queued') return { kind: 'not_asked', reason: 'queue_full' };
  if (state.kind === 'asking' || state.kind === 'answered') return { kind: 'timed_out', reason: 'request_ended' };
  const reason = whyUnreachable();
  return reason === undefined ? { kind: 'not_asked' } : { kind: 'unreachable', reason };
}

export function byWeightDescending(a: { readonly weight: bigint }, b: { readonly weight: bigint }): number {
  return a.weight < b.weight ? 1 : a.weight > b.weight ? -1 : 0;
}
