import type { FastifyRequest } from 'fastify';
import type { Static } from 'typebox';
import type { AggregationReport } from '../../aggregation/aggregator-error.ts';
import { DEFAULT_QUORUM_NUM } from '../../aggregation/request/aggregation-request.ts';
import {
  byOutcome,
  OUTCOME_MEANINGS,
  type OutcomeWeights,
  weightsOf,
} from '../../aggregation/validators/validator-outcome.ts';
import { clientOf } from '../../http/access/client-identity.ts';
import { AggregationDetails, presentDetails } from '../../http/errors/aggregation-details.ts';
import { ERROR_CODES, type ErrorCode } from '../../http/errors/error-codes.ts';
import type { RequestEnd } from '../../http/observability/request-log.ts';
import { integer, oneOf, optionalText, Type, text } from '../../lib/encoding/schema.ts';

/** How a request ended: `aborted` if its client disconnected before the answer. */
export const REQUEST_OUTCOMES = ['signed', 'aborted', ...(Object.keys(ERROR_CODES) as ErrorCode[])] as const;

const Milliseconds = Type.Optional(Type.Number());
const Percentage = Type.Optional(Type.Integer());

/** The first field is the ID, by which the shared store finds a record. */
export const RequestRecord = Type.Object(
  {
    id: text('The x-request-id of the request'),
    endedAt: integer('Unix time in milliseconds of its end'),
    durationMs: Type.Number({ description: 'Time from its headers to the end of the answer' }),
    stages: Type.Object(
      { resolve: Milliseconds, connect: Milliseconds, collect: Milliseconds, verify: Milliseconds },
      {
        additionalProperties: false,
        description:
          'Milliseconds of each stage. resolve: finding the validator set; connect: until a validator could be asked; collect: until ' +
          'the quorum was reached or out of reach; verify: checking the signature. The rest of the duration is waiting: for a permit, ' +
          'for another replica that has the same work, for the body. A stage that did not occur is missing',
      },
    ),
    client: text(
      'The client as rate limits count it: `key:` and the name of its API key, or `address:` and its network',
    ),
    method: text(),
    route: text('The path of the route, with the names of its parameters'),
    network: optionalText('Missing, like the next fields, if the request was refused before it was known'),
    sourceChainId: optionalText('In cb58'),
    signingSubnetId: optionalText('In cb58'),
    destinationBlockchainId: optionalText('The blockchain that verifies the message, in cb58, where it is known'),
    pChainHeight: Type.Optional(integer('The P-Chain height whose validators were asked')),
    quorumPercentage: Percentage,
    quorumPercentageBuffer: Percentage,
    outcome: oneOf(
      REQUEST_OUTCOMES,
      '`signed`, the code of the error, or `aborted`: the client disconnected before the answer',
    ),
    status: Type.Optional(integer('The HTTP status; missing if no answer was begun')),
    weights: Type.Optional(
      Type.Object(
        byOutcome((outcome) => text(`Validator: ${OUTCOME_MEANINGS[outcome]}`)),
        {
          additionalProperties: false,
          description:
            'Weight of the validators by outcome: decimal numbers, which together are the weight of the set. Missing if no validator set was asked',
        },
      ),
    ),
    missing: Type.Optional(AggregationDetails.properties.missing),
    missingOmitted: Type.Optional(AggregationDetails.properties.missingOmitted),
  },
  {
    additionalProperties: false,
    description: 'What happened to a request for a signature',
    examples: [
      {
        ...{ id: '3c1f…', endedAt: 1_795_351_376_322, durationMs: 31.4 },
        stages: { resolve: 0.2, connect: 0.1, collect: 22.8, verify: 6.9 },
        ...{ client: 'key:console', method: 'POST', route: '/v1/signatureAggregator/:network/aggregateSignatures' },
        ...{ network: 'local', outcome: 'signed', status: 201, pChainHeight: 200 },
        ...{ quorumPercentage: 67, quorumPercentageBuffer: 0 },
        signingSubnetId: '11111111111111111111111111111111LpoYY',
      },
    ],
  },
);
export type RequestRecord = Static<typeof RequestRecord>;

/** A record as it is kept: weights are converted when it is read, because equal requests share them. */
export interface RequestEntry extends Omit<RequestRecord, 'weights'> {
  readonly weights: OutcomeWeights | undefined;
}

/** Longer than any name of a key. */
const MAX_CLIENT_LENGTH = 128;
/** Characters of a validator's text that a record keeps. */
const MAX_TEXT_LENGTH = 200;

/** @returns undefined for what is no request for a signature, such as the preflight of one */
export function entryOf(request: FastifyRequest, end: RequestEnd, endedAt: number): RequestEntry | undefined {
  const { aggregation, failure, errorCode } = request;
  const { asked, result, resolved } = aggregation ?? {};
  const outcome = errorCode ?? (end.isAnswered ? result && 'signed' : 'aborted');
  if (outcome === undefined) return undefined;
  const found = result ?? failure ?? resolved;
  const message = asked?.subject.kind === 'message' ? asked.subject.message : undefined;
  // Field by field, because repeated requests are frequent. JSON leaves undefined fields out.
  const entry = {
    id: request.id,
    endedAt,
    durationMs: rounded(end.durationMs),
    stages: aggregation?.stages ?? {},
    // A proxy may name a client in any form.
    client: (aggregation?.client ?? clientOf(request)).slice(0, MAX_CLIENT_LENGTH),
    method: request.method,
    route: request.route.url ?? '',
    network: aggregation?.network,
    sourceChainId: message?.sourceChainID ?? failure?.sourceChainID ?? resolved?.sourceChainID,
    signingSubnetId: found?.signingSubnetID ?? asked?.signingSubnetID,
    destinationBlockchainId: asked?.destinationChainID ?? resolved?.destinationChainID,
    pChainHeight: found && Number(found.pChainHeight),
    quorumPercentage: asked && Number(asked.quorumNum ?? DEFAULT_QUORUM_NUM),
    quorumPercentageBuffer: asked && Number(asked.quorumBuffer ?? 0n),
    outcome,
    status: end.isAnswered || errorCode !== undefined ? end.status : undefined,
    weights: result?.weights ?? (failure && weightsOf(failure.tally)),
    ...(failure && missingOf(failure)),
  };
  return entry as RequestEntry;
}

function missingOf(failure: AggregationReport): Pick<RequestRecord, 'missing' | 'missingOmitted'> {
  const { missing, missingOmitted } = presentDetails(failure);
  const cut = missing.map(({ text, ...one }) => ({ ...one, ...(text && { text: text.slice(0, MAX_TEXT_LENGTH) }) }));
  return { missing: cut, missingOmitted };
}

export function presentEntry({ weights, ...entry }: RequestEntry): RequestRecord {
  return { ...entry, ...(weights && { weights: byOutcome((outcome) => String(weights[outcome])) }) };
}

/** Upper estimate of the bytes of an entry in memory. Texts of validators may have two bytes a character. */
export function sizeOfEntry({ id, missing = [] }: RequestEntry): number {
  return missing.reduce((size, { text = '' }) => size + BYTES_OF_MISSING + 2 * text.length, BYTES_OF_ENTRY + id.length);
}

const BYTES_OF_ENTRY = 900;
const BYTES_OF_MISSING = 320;

function rounded(durationMs: number): number {
  return Math.round(durationMs * 100) / 100;
}
