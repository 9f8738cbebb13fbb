import type { WarpSet, WarpValidator } from '../../validators/warp-set.ts';
import type { NodeID } from '../../warp/ids.ts';
import type { AnswerHistory, AnswerRecord } from './answer-history.ts';
import type { InvalidSigners } from './invalid-signers.ts';

export interface ValidatorForecast {
  readonly kind: ForecastKind;
  /** Time until the validator is late: then it is no longer counted on, and others are asked too. */
  readonly hedgeAfterMs: number;
  /** Lower ranks are asked first, and equal ranks heaviest first. */
  readonly rank: number;
}

export type ForecastKind =
  | 'expected'
  /** Failed recently. It is not counted on: the next ones are asked at the same time, and the buffer does not wait for it. */
  | 'doubtful'
  /** Failed recently, and is asked as a trial beside the others, which are asked as if it were absent. */
  | 'on trial'
  /** Gave an invalid signature. Verifying the next one costs as much as a request, so only the quorum needs it. */
  | 'invalid signer'
  /** Its signature may soon be worthless, so it is asked only if the quorum needs it. */
  | 'avoided';

export interface ForecastFacts {
  readonly history: Pick<AnswerHistory, 'recordOf'>;
  readonly invalidSigners: Pick<InvalidSigners, 'has' | 'isTrialDue'>;
  readonly avoided: ReadonlySet<number>;
  /** Upper bound, and the value for validators without a record. */
  readonly hedgeAfterMs: number;
  readonly isConnected: (nodeID: NodeID) => boolean;
}

/** Pauses of this process, such as garbage collection, take up to this: they make no validator late. */
const MIN_HEDGE_MS = 100;
/** An answer later than the mean plus four deviations is unusual (RFC 6298). */
const DEVIATIONS = 4;
/** Multiple of the median latency above which a validator is slow, if it also exceeds {@link MIN_HEDGE_MS}. */
const SLOW_FACTOR = 3;

const RANKS = { trial: 0, expected: 1, slow: 2, doubtful: 3 };
const INVALID_SIGNER_RANK = 4;
const AVOIDED_RANK = 8;

/** Forecasts by canonical index. At most one validator is on trial, so that a request costs at most one more question. */
export function forecastValidators({ validators }: WarpSet, facts: ForecastFacts): readonly ValidatorForecast[] {
  const records = validators.map((validator) => bestRecord(validator, facts));
  const slowAboveMs = Math.max(SLOW_FACTOR * medianMs(records), MIN_HEDGE_MS);
  let isTrialTaken = false;
  return validators.map(({ index, publicKeyHex }, position): ValidatorForecast => {
    const record = records[position];
    const hedgeAfterMs = hedgeOf(record, facts.hedgeAfterMs);
    const isInvalidSigner = facts.invalidSigners.has(publicKeyHex);
    if (facts.avoided.has(index)) {
      const rankIfNotAvoided = isInvalidSigner
        ? INVALID_SIGNER_RANK
        : record?.isDoubtful
          ? RANKS.doubtful
          : RANKS.expected;
      return { kind: 'avoided', hedgeAfterMs, rank: AVOIDED_RANK + rankIfNotAvoided };
    }
    const isTrialDue = isInvalidSigner ? facts.invalidSigners.isTrialDue(publicKeyHex) : record?.isTrialDue === true;
    if (isTrialDue && !isTrialTaken) {
      isTrialTaken = true;
      return { kind: 'on trial', hedgeAfterMs, rank: RANKS.trial };
    }
    if (isInvalidSigner) return { kind: 'invalid signer', hedgeAfterMs, rank: INVALID_SIGNER_RANK };
    if (record?.isDoubtful) return { kind: 'doubtful', hedgeAfterMs, rank: RANKS.doubtful };
    const isSlow = (record?.usualLatency?.meanMs ?? 0) > slowAboveMs;
    return { kind: 'expected', hedgeAfterMs, rank: isSlow ? RANKS.slow : RANKS.expected };
  });
}

export function forecastOf(forecasts: readonly ValidatorForecast[], { index }: WarpValidator): ValidatorForecast {
  const forecast = forecasts[index];
  if (forecast === undefined) throw new RangeError(`no forecast of validator ${index}`);
  return forecast;
}

/** The record of the node that will be asked first: connected, and not doubtful. */
function bestRecord({ nodeIDs }: WarpValidator, { history, isConnected }: ForecastFacts): AnswerRecord | undefined {
  const [only] = nodeIDs;
  if (only !== undefined && nodeIDs.length === 1) return history.recordOf(only);
  const connected = nodeIDs.filter(isConnected);
  const records = (connected.length > 0 ? connected : nodeIDs).map((nodeID) => history.recordOf(nodeID));
  const best = records.findIndex((record) => !record?.isDoubtful);
  return records[Math.max(best, 0)];
}

function hedgeOf(record: AnswerRecord | undefined, mostMs: number): number {
  if (record?.usualLatency === undefined) return mostMs;
  const { meanMs, deviationMs } = record.usualLatency;
  return Math.min(Math.max(meanMs + DEVIATIONS * deviationMs, MIN_HEDGE_MS), mostMs);
}

/** Skips sorting if no validator is slow. */
function medianMs(records: readonly (AnswerRecord | undefined)[]): number {
  const means = records.flatMap((record) => record?.usualLatency?.meanMs ?? []);
  if (means.every((meanMs) => meanMs <= MIN_HEDGE_MS)) return 0;
  // A Float64Array sorts ten times as fast as an array.
  return Float64Array.from(means).sort()[means.length >> 1] ?? 0;
}
