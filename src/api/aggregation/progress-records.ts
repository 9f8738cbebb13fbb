import type { Static } from 'typebox';
import { OUTCOME_MEANINGS, VALIDATOR_OUTCOMES } from '../../aggregation/validators/validator-outcome.ts';
import { AggregationDetails } from '../../http/errors/aggregation-details.ts';
import { ERROR_CODES, type ErrorCode } from '../../http/errors/error-codes.ts';
import { Type } from '../../lib/encoding/schema.ts';
import { SignedMessageBody } from './signed-message-record.ts';

/**
 * The events of an aggregation that is answered as `text/event-stream`: the kind after `event:`, and one line of JSON after `data:`.
 * Weights are decimal strings, because they may exceed 2^53. Validators are named by their canonical index.
 *
 * - The status is 200. A request that fails before the first event has its plain answer.
 * - The last event is `result` or `error`. A cached result has no other event.
 * - Each `resolved` replaces all earlier events: invalid signatures were excluded, or the validators changed. Late clients start with one.
 * - Events of a kind are merged. So an `answer` may concern a validator that no `asked` has named, and a failed one may be asked again.
 * - A validator that has refused stays `refused` until it answers something else, also while it is asked again.
 */

const Weight = Type.String({ description: 'A decimal number, which may exceed 2^53' });
const Index = Type.Integer({ description: 'In the canonical order of the validator set, from 0' });

const why = {
  code: Type.Optional(Type.Integer({ description: "The validator's own error code, where it refused" })),
  text: Type.Optional(Type.String({ description: "The validator's own words, where it refused" })),
  reason: Type.Optional(Type.String({ description: 'The finer cause of another outcome' })),
};

const ANSWER_OUTCOMES = VALIDATOR_OUTCOMES.filter((outcome) => outcome !== 'no_key');

const OUTCOME_WORDS = ANSWER_OUTCOMES.map((outcome) => `\`${outcome}\`: ${OUTCOME_MEANINGS[outcome]}`).join('; ');

const Validator = Type.Object({
  index: Index,
  nodeIds: Type.Array(Type.String(), { description: 'Its nodes: several may have one BLS key' }),
  weight: Weight,
  isConnected: Type.Boolean({ description: 'When this was written: no event tells of connections alone' }),
  status: Type.Enum(['asked', ...ANSWER_OUTCOMES], {
    type: 'string',
    description: `\`asked\`: its answer is to come; ${OUTCOME_WORDS}`,
  }),
  ...why,
});

const ResolvedData = Type.Object(
  {
    network: Type.String({ description: 'The name of the network that is asked' }),
    signingSubnetId: Type.String({ description: 'The subnet whose validators sign, in cb58' }),
    pChainHeight: Type.Integer({ description: 'The P-Chain height whose validators are asked' }),
    quorumPercentage: Type.Integer(),
    quorumPercentageBuffer: Type.Integer(),
    totalWeight: Weight,
    quorumWeight: Type.String({ description: 'Least weight of the quorum' }),
    targetWeight: Type.String({ description: 'Least weight of the quorum with its buffer' }),
    signedWeight: Type.String({ description: 'Weight of those who have signed' }),
    isVerifying: Type.Boolean({ description: 'Whether the signatures are being verified' }),
    validators: Type.Array(Validator, {
      description: 'In canonical order; those without a BLS key are not among them',
    }),
  },
  { title: 'ResolvedEvent', description: 'All there is to know at this moment, in place of what came before' },
);

const AskedData = Type.Object(
  { validators: Type.Array(Index) },
  {
    title: 'AskedEvent',
    description:
      'Validators that were asked, without those that have refused: they stay `refused` until another answer',
  },
);

const AnswerData = Type.Object(
  {
    answers: Type.Array(
      Type.Object({
        index: Index,
        weight: Weight,
        outcome: Type.Enum(ANSWER_OUTCOMES, { type: 'string', description: OUTCOME_WORDS }),
        ...why,
      }),
    ),
  },
  { title: 'AnswerEvent', description: 'What came of asking validators' },
);

const ProgressData = Type.Object(
  { signedWeight: Weight, quorumWeight: Weight, targetWeight: Weight, totalWeight: Weight },
  { title: 'ProgressEvent', description: 'How far the collection is; it comes after answers' },
);

const VerifyingData = Type.Object(
  {},
  { title: 'VerifyingEvent', description: 'Enough have signed, and what they signed is being verified' },
);

const ResultData = Type.Object(SignedMessageBody.properties, {
  title: 'ResultEvent',
  description: 'The end: the signed message, as the plain answer has it',
});

const ErrorData = Type.Object(
  {
    message: Type.String({ description: 'What is wrong, and what is allowed' }),
    statusCode: Type.Integer({ description: 'The status that the plain answer would have' }),
    error: Type.String({ description: 'The reason phrase of the status' }),
    code: Type.Enum(Object.keys(ERROR_CODES) as ErrorCode[], { type: 'string' }),
    details: Type.Optional(AggregationDetails),
  },
  { title: 'ErrorEvent', description: 'The end: what went wrong, as the plain answer has it' },
);

export const AGGREGATION_EVENTS = {
  resolved: ResolvedData,
  asked: AskedData,
  answer: AnswerData,
  progress: ProgressData,
  verifying: VerifyingData,
  result: ResultData,
  error: ErrorData,
} as const;

export type AggregationEventKind = keyof typeof AGGREGATION_EVENTS;
export type AggregationEventData = { [Kind in AggregationEventKind]: Static<(typeof AGGREGATION_EVENTS)[Kind]> };
export type AggregationEvent = {
  [Kind in AggregationEventKind]: { readonly event: Kind; readonly data: AggregationEventData[Kind] };
}[AggregationEventKind];
export type AnswerOutcome = (typeof ANSWER_OUTCOMES)[number];
export type ValidatorRecord = Static<typeof Validator>;
