import type { AnswerOutcome } from '../../../api/aggregation/progress-records.ts';
import type { ShownSet } from '../../../api/aggregation/signing-progress.ts';
import { sharesOf } from '../ui/figures.ts';

/** What a validator did, or that it was asked and has not answered yet. */
export type ShownOutcome = AnswerOutcome | 'asked' | 'no_key';

export const OUTCOME_WORDS: Readonly<Record<ShownOutcome, string>> = {
  signed: 'signed',
  asked: 'asked',
  refused: 'refused',
  timed_out: 'timed out',
  unreachable: 'unreachable',
  invalid_signature: 'invalid signature',
  not_asked: 'not asked',
  no_key: 'without a key',
};

/** In the order in which they are listed. */
const SHOWN_OUTCOMES = Object.keys(OUTCOME_WORDS) as ShownOutcome[];

export interface OutcomeSum {
  readonly outcome: ShownOutcome;
  readonly count: number;
  readonly weight: bigint;
  /** Percentage of the total weight; the shares of all outcomes add up to 100 %. */
  readonly share: string;
}

/** Returns the outcomes with weight; `signed` is first. */
export function sumOutcomes(
  counted: Readonly<Partial<Record<ShownOutcome, { readonly count: number; readonly weight: bigint | string }>>>,
  totalWeight: bigint,
): OutcomeSum[] {
  const sums = SHOWN_OUTCOMES.map((outcome) => {
    const { count, weight } = counted[outcome] ?? { count: 0, weight: 0n };
    return { outcome, count, weight: BigInt(weight) };
  });
  const shares = sharesOf(
    sums.map(({ weight }) => weight),
    totalWeight,
  );
  return sums
    .map((sum, index) => ({ ...sum, share: shares[index] ?? '' }))
    .filter(({ weight, count }) => weight > 0n || count > 0);
}

/** Whether validators have only refused so far, which the service repeats for some seconds: the chain may not have executed the block yet. */
export function isAwaitingExecution({ validators }: ShownSet): boolean {
  return validators.some(({ status }) => status === 'refused') && validators.every(({ status }) => status !== 'signed');
}

/** Counts outcomes by weight. Weight that is missing in the set belongs to validators without a key. */
export function countOutcomes({ validators, totalWeight }: ShownSet): OutcomeSum[] {
  const keyless = { count: 0, weight: totalWeight };
  const sums: Partial<Record<ShownOutcome, { count: number; weight: bigint }>> = { no_key: keyless };
  for (const { status, weight } of validators) {
    const sum = sums[status] ?? { count: 0, weight: 0n };
    sums[status] = { count: sum.count + 1, weight: sum.weight + weight };
    keyless.weight -= weight;
  }
  return sumOutcomes(sums, totalWeight);
}
