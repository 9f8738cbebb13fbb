import { isQuorumReached } from '../../validators/quorum.ts';
import type { WarpValidator } from '../../validators/warp-set.ts';
import type { SubnetID } from '../../warp/ids.ts';
import type { OutcomeKind } from '../validators/validator-outcome.ts';
import { heaviestFirst, type Tally } from './tally.ts';
import { knownOutcome, type ValidatorState } from './validator-state.ts';

/** Receives what validators did in collections that ended signed. */
export interface CollectionObserver {
  /** Called once for each such collection, before its callers have their result: it must neither throw nor take long. */
  onSigned(subnetID: SubnetID, readAnswers: () => readonly ValidatorAnswer[]): void;
}

/** What one validator did in one collection. */
export interface ValidatorAnswer {
  readonly validator: WarpValidator;
  /** `not_asked`: it had failed shortly before, so others were asked in its place. */
  readonly outcome: Exclude<OutcomeKind, 'no_key'>;
  /** Time until its answer. */
  readonly tookMs?: number | undefined;
}

/** A request to a validator. */
export interface ValidatorQuestion {
  readonly sentAtMs: number;
  readonly lateAtMs: number;
  /** Whether it was asked beside the others, which were asked as if it were absent. */
  readonly isTrial: boolean;
  /** Time until its answer, if it came. */
  tookMs?: number;
}

export interface AnswerFacts {
  readonly tally: Tally;
  /** The last request to each validator, by canonical index. */
  readonly questions: ReadonlyMap<number, ValidatorQuestion>;
  /** Whether a refusal of the validator shows that it lags, because others signed at that time. */
  readonly isLagging: (validator: WarpValidator) => boolean;
  readonly isConnected: (validator: WarpValidator) => boolean;
  readonly nowMs: number;
  /** Time after which a request without an answer counts as timed out. */
  readonly lateAfterMs: number;
}

/** A client may give a low quorum and own validators that sign anything. Their signatures say nothing about validators that refuse. */
const MAJORITY_NUM = 51n;
/** Forecasts of validators that failed shortly before. */
const FAILED_BEFORE: ReadonlySet<string | undefined> = new Set(['doubtful', 'on trial', 'invalid signer']);

/**
 * Returns what validators did in a collection that ended signed, each at most once. A trial says nothing, and neither does a request that the
 * end of the collection cut short before it was late. A validator that is not connected, or that failed shortly before, counts if a lighter
 * one was asked, because it would have been asked too.
 */
export function answersOf(facts: AnswerFacts): readonly ValidatorAnswer[] {
  const { tally, questions, isConnected } = facts;
  const order = heaviestFirst(tally.warpSet);
  const lastAsked = order.findLastIndex(({ index }) => questions.get(index)?.isTrial === false);
  return order.flatMap((validator, position): readonly ValidatorAnswer[] => {
    const question = questions.get(validator.index);
    if (question?.isTrial === false) {
      const outcome = outcomeOf(validator, question, facts);
      return outcome === undefined ? [] : [{ validator, outcome, tookMs: question.tookMs }];
    }
    if (position > lastAsked || tally.states[validator.index]?.kind === 'signed') return [];
    if (!isConnected(validator)) return [{ validator, outcome: 'unreachable' }];
    const hasFailed = FAILED_BEFORE.has(tally.forecasts[validator.index]?.kind);
    return hasFailed ? [{ validator, outcome: 'not_asked' }] : [];
  });
}

function outcomeOf(
  validator: WarpValidator,
  { sentAtMs }: ValidatorQuestion,
  { tally, isLagging, nowMs, lateAfterMs }: AnswerFacts,
): ValidatorAnswer['outcome'] | undefined {
  const state = tally.states[validator.index] as ValidatorState;
  const known = knownOutcome(state)?.kind;
  if (known === undefined) {
    return state.kind === 'asking' && nowMs - sentAtMs >= lateAfterMs ? 'timed_out' : undefined;
  }
  if (known !== 'refused') return known === 'not_asked' ? undefined : known;
  const isMajority = isQuorumReached(MAJORITY_NUM, tally.signedWeight, tally.warpSet.totalWeight);
  return isMajority && isLagging(validator) ? known : undefined;
}
