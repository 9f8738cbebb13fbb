import { type Static, Type } from 'typebox';
import { OUTCOME_MEANINGS } from '../../aggregation/validators/validator-outcome.ts';
import { Decimal, inJson, integer, text } from '../../lib/encoding/schema.ts';
import type { CountedSpan, RecordedValidator, SubnetRecord, ValidatorRecord } from '../../record/record-view.ts';
import {
  askedOf,
  connectedShareOf,
  countOf,
  type SigningCounts,
  signedShareOf,
  timeWithin,
} from '../../record/signing-counts.ts';

const share = (description: string) => Type.Optional(Type.Number({ minimum: 0, maximum: 1, description }));
const PERCENTILE_NOTE = 'of the times of its signatures and refusals, from a histogram with steps of the factor 1.4';
const Start = integer('Unix time in milliseconds at which it begins');

const COUNTS = {
  asked: integer(
    'Collections that ended signed and in which it was asked, or was not connected when it would have been asked',
  ),
  signed: integer(),
  refused: integer('It refused what others signed'),
  timedOut: integer('It gave no answer in time'),
  unreachable: integer('It was not connected'),
  invalidSignature: integer(`${OUTCOME_MEANINGS.invalid_signature.split(';')[0]}`),
  notAsked: integer('Not in `asked`: it had failed shortly before, so others were asked in its place'),
  signedShare: share('signed / (asked + notAsked). Missing if there was no question, which is no fault'),
  medianMs: Type.Optional(Type.Number({ description: `Median ${PERCENTILE_NOTE}` })),
  p95Ms: Type.Optional(Type.Number({ description: `95th percentile ${PERCENTILE_NOTE}` })),
  connectedShare: share('Share of the time for which it was connected, sampled once a minute'),
};

const WHO = {
  publicKey: text('BLS key of 48 bytes in hex: the record belongs to it'),
  nodeIds: Type.Array(Type.String(), { description: 'All present nodes with this key' }),
  weight: text('Its present weight'),
};

export const SubnetHistoryBody = Type.Object(
  {
    subnetId: text(),
    since: integer('Unix time in milliseconds of the first hour or day that is counted'),
    totalWeight: Decimal,
    hours: Type.Array(
      Type.Object(
        {
          start: Start,
          signingWeight: text(
            'Weight that signed in this hour: the weight of each validator by its signedShare, or without a question by its connectedShare',
          ),
        },
        { title: 'SigningHour' },
      ),
      { description: 'The last 48 hours that have a record, whatever `since` is; without `store.path`, 24' },
    ),
    validators: Type.Array(Type.Object({ ...WHO, ...COUNTS }, { title: 'RecordedValidator' }), {
      description: 'The worst first: by weight and the share of collections in which it did not sign',
    }),
    nextPageToken: Type.Optional(text('The pageToken of the next page, if there is one')),
  },
  {
    title: 'SubnetHistory',
    description: 'What the present validators of a subnet did in collections that ended signed',
  },
);

const Span = Type.Object({ start: Start, ...COUNTS }, { title: 'RecordedSpan' });

export const ValidatorHistoryBody = Type.Object(
  {
    subnetId: text(),
    totalWeight: Decimal,
    ...WHO,
    hours: Type.Array(Span, { description: 'The last 48 hours that have a record, in UTC; without `store.path`, 24' }),
    days: Type.Array(Span, {
      description: 'The last 90 days that have a record, in UTC; without `store.path`, the present day',
    }),
  },
  {
    title: 'ValidatorHistory',
    description: 'What a validator did in collections that ended signed, by hour and by day',
  },
);

export type SubnetHistoryBody = Static<typeof SubnetHistoryBody>;
export type ValidatorHistoryBody = Static<typeof ValidatorHistoryBody>;

export function presentSubnetRecord(record: SubnetRecord): Omit<SubnetHistoryBody, 'validators' | 'nextPageToken'> {
  return {
    subnetId: record.subnetID,
    since: record.sinceMs,
    totalWeight: String(record.totalWeight),
    hours: record.hours.map(({ startMs, weight }) => ({ start: startMs, signingWeight: String(weight) })),
  };
}

export function presentRecordedValidator(validator: RecordedValidator): SubnetHistoryBody['validators'][number] {
  return { ...presentWho(validator), ...presentCounts(validator.counts) };
}

export function presentValidatorRecord(record: ValidatorRecord): ValidatorHistoryBody {
  return {
    subnetId: record.subnetID,
    totalWeight: String(record.totalWeight),
    ...presentWho(record),
    hours: record.hours.map(presentSpan),
    days: record.days.map(presentSpan),
  };
}

function presentWho({ publicKeyHex, nodeIDs, weight }: Omit<RecordedValidator, 'counts'>) {
  return { publicKey: publicKeyHex, nodeIds: [...nodeIDs], weight: String(weight) };
}

function presentSpan({ startMs, counts }: CountedSpan): Static<typeof Span> {
  return { start: startMs, ...presentCounts(counts) };
}

function presentCounts(counts: SigningCounts) {
  return inJson({
    asked: askedOf(counts),
    signed: countOf(counts, 'signed'),
    refused: countOf(counts, 'refused'),
    timedOut: countOf(counts, 'timedOut'),
    unreachable: countOf(counts, 'unreachable'),
    invalidSignature: countOf(counts, 'invalid'),
    notAsked: countOf(counts, 'notAsked'),
    signedShare: rounded(signedShareOf(counts), 10_000),
    medianMs: rounded(timeWithin(counts, 0.5), 10),
    p95Ms: rounded(timeWithin(counts, 0.95), 10),
    connectedShare: rounded(connectedShareOf(counts), 10_000),
  });
}

/** Rounds down, so that a share of 1 is exact. */
function rounded(value: number | undefined, parts: number): number | undefined {
  return value === undefined ? undefined : Math.floor(value * parts) / parts;
}
