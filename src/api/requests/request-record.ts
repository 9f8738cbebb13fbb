import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import { byOutcome, OUTCOME_MEANINGS } from '../../aggregation/validators/validator-outcome.ts';
import { CODE_NAMES } from '../../http/errors/error-codes.ts';
import { integer, oneOf, optionalText, text } from '../../lib/encoding/schema.ts';
import { AggregationDetails } from '../errors/aggregation-details.ts';
import { SentMessages } from '../errors/sent-messages.ts';

/** How a request ended: `aborted` if its client disconnected before the answer. */
export const REQUEST_OUTCOMES = ['signed', 'aborted', ...CODE_NAMES] as const;

const Milliseconds = Type.Optional(Type.Number());
const Percentage = Type.Optional(Type.Integer());

export const RequestRecord = Type.Object(
  {
    id: text('The x-request-id of the request'),
    endedAt: integer('Unix time in milliseconds of its end'),
    durationMs: Type.Number({ description: 'Time from its headers to the end of the answer' }),
    stages: Type.Object(
      {
        resolve: Milliseconds,
        connect: Milliseconds,
        collect: Milliseconds,
        verify: Milliseconds,
        execution: Milliseconds,
      },
      {
        title: 'RequestStages',
        additionalProperties: false,
        description:
          'Milliseconds of each stage. resolve: finding the validator set; connect: until a validator could be asked; collect: until ' +
          'the quorum was reached or out of reach; verify: checking the signature; execution: until the transaction was accepted and executed. The rest of the duration is waiting: for a permit, ' +
          'for another replica that has the same work, for the body. A stage that did not occur is missing',
      },
    ),
    client: text(
      'The client as rate limits count it: `key:` and the name of its API key, or `address:` and its network',
    ),
    method: text(),
    route: text('The path of the route, with the names of its parameters'),
    network: optionalText('Missing, like the next fields, if the request was refused before it was known'),
    messageId: optionalText('The ID of the message, in cb58, where it is known'),
    txHash: optionalText(
      'The transaction that the request names: an EVM hash with 0x, or the ID of a P-Chain transaction in cb58',
    ),
    transaction: optionalText('The same as txHash, its earlier name'),
    sourceChainId: optionalText('In cb58'),
    signingSubnetId: optionalText('In cb58'),
    destinationBlockchainId: optionalText('The blockchain that verifies the message, in cb58, where it is known'),
    requestedPChainHeight: Type.Optional(integer('The P-Chain height that the request names')),
    pChainHeight: Type.Optional(integer('The P-Chain height whose validators were asked')),
    quorumPercentage: Percentage,
    quorumPercentageBuffer: Percentage,
    outcome: oneOf(
      REQUEST_OUTCOMES,
      '`signed`, the code of the error, or `aborted`: the client disconnected before the answer',
    ),
    status: Type.Optional(integer('The HTTP status; missing if no answer was begun')),
    errorMessage: optionalText('The error text of the answer; the first 500 characters of a longer one'),
    weights: Type.Optional(
      Type.Object(
        byOutcome((outcome) => text(`Validator: ${OUTCOME_MEANINGS[outcome]}`)),
        {
          title: 'OutcomeWeights',
          additionalProperties: false,
          description:
            'Weight of the validators by outcome: decimal numbers, which together are the weight of the set. Missing if no validator set was asked',
        },
      ),
    ),
    details: Type.Optional(Type.Union([AggregationDetails, SentMessages])),
  },
  {
    title: 'RequestRecord',
    additionalProperties: false,
    description: 'What happened to a request for a signature',
    examples: [
      {
        id: '3c1f…',
        endedAt: 1_795_351_376_322,
        durationMs: 31.4,
        stages: { resolve: 0.2, connect: 0.1, collect: 22.8, verify: 6.9 },
        client: 'key:console',
        method: 'POST',
        route: '/v1/signatureAggregator/:network/aggregateSignatures',
        network: 'local',
        messageId: 'B1S4iZPmWaA5wQbPXUUC9hFZtZVMX3eVAKVHcVRnMUR8kFqZt',
        outcome: 'signed',
        status: 201,
        pChainHeight: 200,
        quorumPercentage: 67,
        quorumPercentageBuffer: 0,
        signingSubnetId: '11111111111111111111111111111111LpoYY',
      },
    ],
  },
);
export type RequestRecord = Static<typeof RequestRecord>;

/** Reads a record of a replica, which may have another version: fields that this one does not know are left out. Returns undefined for another form. */
export function readRecord(value: unknown): RequestRecord | undefined {
  const known = Value.Clean(RequestRecord, value);
  return Value.Check(RequestRecord, known) ? known : undefined;
}
