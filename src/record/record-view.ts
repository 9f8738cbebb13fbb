import type { WarpSet, WarpValidator } from '../validators/warp-set.ts';
import type { NodeID, SubnetID } from '../warp/ids.ts';
import { connectedShareOf, emptyCounts, type SigningCounts, signedShareOf } from './signing-counts.ts';

/** The counts of an hour or a day. Spans without counts are left out. */
export interface CountedSpan {
  readonly startMs: number;
  readonly counts: SigningCounts;
}

/** What a validator did since a time, and who it is now. */
export interface RecordedValidator {
  readonly publicKeyHex: string;
  readonly nodeIDs: readonly NodeID[];
  readonly weight: bigint;
  readonly counts: SigningCounts;
}

export interface ValidatorRecord extends Omit<RecordedValidator, 'counts'> {
  readonly subnetID: SubnetID;
  readonly totalWeight: bigint;
  readonly hours: readonly CountedSpan[];
  readonly days: readonly CountedSpan[];
}

export interface SubnetRecord {
  readonly subnetID: SubnetID;
  /** The start of the first hour or day that is counted. */
  readonly sinceMs: number;
  readonly totalWeight: bigint;
  /** The last hours that have counts. */
  readonly hours: readonly SigningHour[];
  /** Those of the present set, the worst first, see {@link worstFirst}. */
  readonly validators: readonly RecordedValidator[];
}

export interface SigningHour {
  readonly startMs: number;
  /** Weight that signed in this hour on average, see {@link signingWeight}. */
  readonly weight: bigint;
}

const PARTS = 1_000_000;

function partOf(weight: bigint, share: number): bigint {
  return (weight * BigInt(Math.round(share * PARTS))) / BigInt(PARTS);
}

/** Weight that did not sign: the weight of the validator by the share of collections in which it did not. */
export function lostWeight({ weight, counts }: Pick<RecordedValidator, 'weight' | 'counts'>): bigint {
  return partOf(weight, 1 - (signedShareOf(counts) ?? 1));
}

/** Orders by lost weight; those without loss, and then those without a question, by their weight. */
export function worstFirst(validators: readonly RecordedValidator[]): readonly RecordedValidator[] {
  const ranked = validators.map((validator) => ({
    validator,
    lost: lostWeight(validator),
    isUnasked: signedShareOf(validator.counts) === undefined,
  }));
  const descending = (a: bigint, b: bigint): number => (a < b ? 1 : a > b ? -1 : 0);
  return ranked
    .sort(
      (a, b) =>
        descending(a.lost, b.lost) ||
        Number(a.isUnasked) - Number(b.isUnasked) ||
        descending(a.validator.weight, b.validator.weight),
    )
    .map(({ validator }) => validator);
}

/** The share of its weight that a validator brought, 0 to 1: how often it signed, or where it was not asked, was connected. */
function signingShare(counts: SigningCounts): number {
  return signedShareOf(counts) ?? connectedShareOf(counts) ?? 1;
}

/** Adds up weights by {@link signingShare}. A validator without counts has its whole weight: nothing is known against it. */
export function signingWeight(
  { validators }: WarpSet,
  countsOf: (validator: WarpValidator) => SigningCounts | undefined,
) {
  return validators.reduce((sum, validator) => {
    const counts = countsOf(validator);
    return sum + (counts === undefined ? validator.weight : partOf(validator.weight, signingShare(counts)));
  }, 0n);
}

export function recordedValidator(
  { publicKeyHex, nodeIDs, weight }: WarpValidator,
  counts: SigningCounts = emptyCounts(),
): RecordedValidator {
  return { publicKeyHex, nodeIDs, weight, counts };
}
