import type { FastifyRequest } from 'fastify';
import type { AggregationReport } from '../../aggregation/aggregator-error.ts';
import { DEFAULT_QUORUM_NUM } from '../../aggregation/request/aggregation-request.ts';
import { byOutcome, type OutcomeWeights, weightsOf } from '../../aggregation/validators/validator-outcome.ts';
import { clientOf } from '../../http/access/client-identity.ts';
import { presentDetails } from '../../http/errors/aggregation-details.ts';
import type { RequestEnd } from '../../http/observability/request-log.ts';
import type { RequestRecord } from './request-record.ts';

/** A record as it is kept: weights are converted when it is read, because equal requests share them. */
export interface RequestEntry extends Omit<RequestRecord, 'weights'> {
  readonly weights: OutcomeWeights | undefined;
}

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
    client: aggregation?.client ?? clientOf(request),
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
