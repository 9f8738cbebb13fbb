import type { WarpSet, WarpValidator } from '../../validators/warp-set.ts';
import type { NodeID } from '../../warp/ids.ts';
import type { AnswerHistory, AnswerRecord } from './answer-history.ts';
import type { InvalidSigners } from './invalid-signers.ts';

/** What one request may expect of one validator. */
export interface ValidatorForecast {
  readonly kind: ForecastKind;
  /** From the time it is asked it is counted on for so long. Then it is late, and others are asked too. */
  readonly hedgeAfterMs: number;
  /** Lower ones are asked first, and the heaviest of equal ones. */
  readonly rank: number;
}

export type ForecastKind =
  /** It answers, as far as is known. */
  | 'expected'
  /** It failed lately. It is not counted on: the next ones are asked at the same time, and a mere buffer does not wait for it. */
  | 'doubtful'
  /** It failed lately, and it is its turn to be tried out beside the others, who are asked as if it were not there. */
  | 'on trial'
  /** It gave a bad signature. Verifying its next one costs as much as a whole request, so it is asked for the quorum only. */
  | 'invalid signer'
  /** Its signature may soon be worth nothing: it is asked where the quorum is out of reach without it. */
  | 'avoided';

export interface ForecastFacts {
  readonly history: Pick<AnswerHistory, 'recordOf'>;
  readonly invalidSigners: Pick<InvalidSigners, 'has' | 'isTrialDue'>;
  /** Canonical indices of validators whose signatures may soon be worth nothing. */
  readonly avoided: ReadonlySet<number>;
  /** Where a validator's usual time is not known, and the most where it is. */
  readonly hedgeAfterMs: number;
  readonly isConnected: (nodeID: NodeID) => boolean;
}

/** Our own pauses, such as garbage collection, last up to so long: nobody is late because of them. */
const MIN_HEDGE_MS = 100;
/** An answer later than its mean and four deviations is unusual (RFC 6298). */
const DEVIATIONS = 4;
/** So many times the time of most others is slow. Whoever answers within {@link MIN_HEDGE_MS} never is. */
const SLOW_FACTOR = 3;

const RANKS = { trial: 0, expected: 1, slow: 2, doubtful: 3 };
const INVALID_SIGNER_RANK = 4;
/** After all others. */
const AVOIDED_RANK = 8;

/**
 * What to expect of each validator of a set, by canonical index. At most one of them is on trial, so that noticing who is well
 * again costs a request no more than one question.
 */
export function forecastValidators({ validators }: WarpSet, facts: ForecastFacts): readonly ValidatorForecast[] {
  const records = validators.map((validator) => bestRecord(validator, facts));
  const slowAboveMs = Math.max(SLOW_FACTOR * medianMs(records), MIN_HEDGE_MS);
  const usual = expectedAt(facts.hedgeAfterMs);
  let isTrialTaken = false;
  return validators.map(({ index, publicKeyHex }, position): ValidatorForecast => {
    const record = records[position];
    const hedgeAfterMs = hedgeOf(record, facts.hedgeAfterMs);
    const isInvalidSigner = facts.invalidSigners.has(publicKeyHex);
    if (facts.avoided.has(index)) {
      const usualRank = isInvalidSigner ? INVALID_SIGNER_RANK : record?.isDoubtful ? RANKS.doubtful : RANKS.expected;
      return { kind: 'avoided', hedgeAfterMs, rank: AVOIDED_RANK + usualRank };
    }
    const isTrialDue = isInvalidSigner ? facts.invalidSigners.isTrialDue(publicKeyHex) : record?.isTrialDue === true;
    if (isTrialDue && !isTrialTaken) {
      isTrialTaken = true;
      return { kind: 'on trial', hedgeAfterMs, rank: RANKS.trial };
    }
    if (isInvalidSigner) return { kind: 'invalid signer', hedgeAfterMs, rank: INVALID_SIGNER_RANK };
    if (record?.isDoubtful) return { kind: 'doubtful', hedgeAfterMs, rank: RANKS.doubtful };
    const isSlow = (record?.usual?.meanMs ?? 0) > slowAboveMs;
    if (isSlow) return { kind: 'expected', hedgeAfterMs, rank: RANKS.slow };
    if (hedgeAfterMs === MIN_HEDGE_MS) return EXPECTED_SOON;
    return hedgeAfterMs === facts.hedgeAfterMs ? usual : expectedAt(hedgeAfterMs);
  });
}

function expectedAt(hedgeAfterMs: number): ValidatorForecast {
  return { kind: 'expected', hedgeAfterMs, rank: RANKS.expected };
}

/** Of nearly all validators of a network that is well: one for all of them. */
const EXPECTED_SOON = expectedAt(MIN_HEDGE_MS);

export function forecastOf(forecasts: readonly ValidatorForecast[], { index }: WarpValidator): ValidatorForecast {
  const forecast = forecasts[index];
  if (forecast === undefined) throw new RangeError(`no forecast of validator ${index}`);
  return forecast;
}

/** Of several nodes with one key, the one that will be asked first: connected, and not doubtful. */
function bestRecord({ nodeIDs }: WarpValidator, { history, isConnected }: ForecastFacts): AnswerRecord | undefined {
  const [only] = nodeIDs;
  if (only !== undefined && nodeIDs.length === 1) return history.recordOf(only);
  const connected = nodeIDs.filter(isConnected);
  const records = (connected.length > 0 ? connected : nodeIDs).map((nodeID) => history.recordOf(nodeID));
  const best = records.findIndex((record) => !record?.isDoubtful);
  return records[Math.max(best, 0)];
}

function hedgeOf(record: AnswerRecord | undefined, mostMs: number): number {
  if (record?.usual === undefined) return mostMs;
  const { meanMs, deviationMs } = record.usual;
  return Math.min(Math.max(meanMs + DEVIATIONS * deviationMs, MIN_HEDGE_MS), mostMs);
}

/** Of the validators that are known. Sorting is left out where none is slow in any case. */
function medianMs(records: readonly (AnswerRecord | undefined)[]): number {
  // An array of numbers alone is sorted ten times as fast.
  const means = new Float64Array(records.length);
  let count = 0;
  let mostMs = 0;
  for (const record of records) {
    if (record?.usual === undefined) continue;
    const { meanMs } = record.usual;
    means[count] = meanMs;
    count += 1;
    if (meanMs > mostMs) mostMs = meanMs;
  }
  if (mostMs <= MIN_HEDGE_MS) return 0;
  return means.subarray(0, count).sort()[count >> 1] ?? 0;
}
