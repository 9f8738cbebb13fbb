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

/** A record as it is kept. It is converted when it is read: repeated requests are frequent, and few records are read. */
export interface RequestEntry extends Omit<RequestRecord, 'weights' | 'pChainHeight' | `quorum${string}`> {
  readonly pChainHeight: bigint | undefined;
  readonly quorumNum: bigint | undefined;
  readonly quorumBuffer: bigint | undefined;
  readonly weights: OutcomeWeights | undefined;
}

/** Longer than any name of a key. */
const MAX_CLIENT_LENGTH = 128;
/** Characters of a validator's text that a record keeps. */
const MAX_TEXT_LENGTH = 200;

/** @returns undefined for what is no request for a signature, such as the preflight of one */
export function entryOf(request: FastifyRequest, end: RequestEnd, endedAt: number): RequestEntry | undefined {
  const { aggregation, failure, errorCode } = request;
  const result = aggregation?.result;
  const outcome = errorCode ?? (end.isAnswered ? result && 'signed' : 'aborted');
  if (outcome === undefined) return undefined;
  const asked = aggregation?.asked;
  const resolved = aggregation?.resolved;
  const found = result ?? failure ?? resolved;
  const message = asked?.subject.kind === 'message' ? asked.subject.message : undefined;
  const client = aggregation?.client ?? clientOf(request);
  const missing = failure && missingOf(failure);
  const entry = {
    id: request.id,
    endedAt,
    durationMs: end.durationMs,
    stages: aggregation?.stages ?? NO_STAGES,
    // A proxy may name a client in any form.
    client: client.length > MAX_CLIENT_LENGTH ? client.slice(0, MAX_CLIENT_LENGTH) : client,
    method: request.method,
    route: request.route.url ?? '',
    network: aggregation?.network,
    sourceChainId: message?.sourceChainID ?? failure?.sourceChainID ?? resolved?.sourceChainID,
    signingSubnetId: found?.signingSubnetID ?? asked?.signingSubnetID,
    destinationBlockchainId: asked?.destinationChainID ?? resolved?.destinationChainID,
    pChainHeight: found?.pChainHeight,
    quorumNum: asked && (asked.quorumNum ?? DEFAULT_QUORUM_NUM),
    quorumBuffer: asked && (asked.quorumBuffer ?? 0n),
    outcome,
    status: end.isAnswered || errorCode !== undefined ? end.status : undefined,
    weights: result?.weights ?? (failure && weightsOf(failure.tally)),
    missing,
    missingOmitted: failure?.tally.missingOmitted,
  };
  // JSON leaves undefined fields out.
  return entry as RequestEntry;
}

const NO_STAGES = {};

function missingOf(failure: AggregationReport): NonNullable<RequestRecord['missing']> {
  return presentDetails(failure).missing.map(({ text, ...one }) => ({
    ...one,
    ...(text !== undefined && { text: text.slice(0, MAX_TEXT_LENGTH) }),
  }));
}

export function presentEntry(entry: RequestEntry): RequestRecord {
  const { pChainHeight, quorumNum, quorumBuffer, weights, durationMs, stages, ...rest } = entry;
  return {
    ...rest,
    durationMs: rounded(durationMs),
    stages: Object.fromEntries(Object.entries(stages).map(([stage, ms]) => [stage, rounded(ms)])),
    ...(pChainHeight !== undefined && { pChainHeight: Number(pChainHeight) }),
    ...(quorumNum !== undefined && { quorumPercentage: Number(quorumNum) }),
    ...(quorumBuffer !== undefined && { quorumPercentageBuffer: Number(quorumBuffer) }),
    ...(weights !== undefined && { weights: byOutcome((outcome) => String(weights[outcome])) }),
  };
}

/** Upper estimate of the bytes of an entry in memory. Texts of validators may have two bytes a character. */
export function sizeOfEntry({ id, missing }: RequestEntry): number {
  const size = BYTES_OF_ENTRY + id.length;
  return missing?.reduce((sum, { text = '' }) => sum + BYTES_OF_MISSING + 2 * text.length, size) ?? size;
}

const BYTES_OF_ENTRY = 900;
const BYTES_OF_MISSING = 320;

function rounded(ms: number): number {
  return Math.round(ms * 100) / 100;
}
