import { type Static, type TSchema, Type } from 'typebox';
import { OUTCOME_MEANINGS, VALIDATOR_OUTCOMES } from '../../aggregation/validators/validator-outcome.ts';
import { ERROR_CODE } from '../../http/errors/error-body.ts';
import type { EventStreamDescription } from '../../http/request/http-server.ts';
import { Decimal, integer, oneOf, text } from '../../lib/encoding/schema.ts';
import { AggregationDetails, REASON } from '../errors/aggregation-details.ts';
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

const Index = integer('In the canonical order of the validator set, from 0');

const ANSWER_OUTCOMES = VALIDATOR_OUTCOMES.filter((outcome) => outcome !== 'no_key');

const OUTCOME_WORDS = ANSWER_OUTCOMES.map((outcome) => `\`${outcome}\`: ${OUTCOME_MEANINGS[outcome]}`).join('; ');

const Validator = Type.Object(
  {
    index: Index,
    nodeIds: Type.Array(text(), { description: 'Its nodes: several may have one BLS key' }),
    weight: Decimal,
    isConnected: Type.Boolean({ description: 'Whether it was connected when this event was sent' }),
    status: oneOf(['asked', ...ANSWER_OUTCOMES], `\`asked\`: its answer is to come; ${OUTCOME_WORDS}`),
    ...REASON,
  },
  { title: 'EventValidator' },
);

const ResolvedData = Type.Object(
  {
    network: text('The name of the network that is asked'),
    signingSubnetId: text('The subnet whose validators sign, in cb58'),
    pChainHeight: integer('The P-Chain height whose validators are asked'),
    quorumPercentage: integer(),
    quorumPercentageBuffer: integer(),
    totalWeight: Decimal,
    quorumWeight: text('Least weight of the quorum'),
    targetWeight: text('Least weight of the quorum with its buffer'),
    signedWeight: text('Weight of those who have signed'),
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
      Type.Object(
        { index: Index, weight: Decimal, outcome: oneOf(ANSWER_OUTCOMES, OUTCOME_WORDS), ...REASON },
        { title: 'ValidatorAnswer' },
      ),
    ),
  },
  { title: 'AnswerEvent', description: 'What came of asking validators' },
);

const ProgressData = Type.Object(
  { signedWeight: Decimal, quorumWeight: Decimal, targetWeight: Decimal, totalWeight: Decimal },
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
    message: text('What is wrong, and what is allowed'),
    statusCode: integer('The status that the plain answer would have'),
    error: text('The reason phrase of the status'),
    code: ERROR_CODE,
    details: Type.Optional(AggregationDetails),
    retryAfter: Type.Optional(integer('The seconds of `Retry-After` that the plain answer would have')),
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

/** The response to `Accept: text/event-stream`. */
export const AGGREGATION_STREAM: EventStreamDescription = {
  description:
    'the progress of the collection as server-sent events, the last of which is `result` or `error`. Lines that begin with a colon keep ' +
    'the connection alive. Errors before the first event have the status and the JSON of the answers below',
  event: Type.Union(
    Object.entries<TSchema>(AGGREGATION_EVENTS).map(([kind, data]) => Type.Object({ event: Type.Literal(kind), data })),
    { title: 'AggregationEvent', description: 'One event: the text after `event:`, and the JSON after `data:`' },
  ),
};
