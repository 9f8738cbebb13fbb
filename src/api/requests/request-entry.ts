import type { AggregationReport } from '../../aggregation/aggregator-error.ts';
import { byOutcome, type OutcomeWeights, weightsOf } from '../../aggregation/validators/validator-outcome.ts';
import { presentDetails } from '../../http/errors/aggregation-details.ts';
import type { RequestEnd } from '../../http/observability/request-log.ts';
import type { RequestContext } from '../../http/request/request-context.ts';
import { DEFAULT_QUORUM_NUM } from '../../validators/quorum.ts';
import type { RequestRecord } from './request-record.ts';

/** A record as it is kept. It is converted when it is read: repeated requests are frequent, and few records are read. */
export interface RequestEntry extends Omit<RequestRecord, 'weights'> {
  readonly weights: OutcomeWeights | undefined;
}

/** Longer than any name of a key. */
const MAX_CLIENT_LENGTH = 128;
/** Characters of a validator's text that a record keeps. */
const MAX_TEXT_LENGTH = 200;

/** @returns undefined for what is no request for a signature, such as the preflight of one */
export function entryOf(context: RequestContext, end: RequestEnd, endedAt: number): RequestEntry | undefined {
  const { request, route, client, aggregation } = context;
  const errorCode = context.failure?.code;
  const failure = context.failure?.report;
  const result = aggregation?.result;
  const outcome = errorCode ?? (end.isAnswered ? result && 'signed' : 'aborted');
  if (outcome === undefined) return undefined;
  const asked = aggregation?.asked;
  const resolved = aggregation?.resolved;
  const found = result ?? failure ?? resolved;
  const message = asked?.subject.kind === 'message' ? asked.subject.message : undefined;
  const missing = failure && missingOf(failure);
  const entry = {
    id: request.id,
    endedAt,
    durationMs: end.durationMs,
    stages: aggregation?.stages ?? NO_STAGES,
    // A proxy may name a client in any form.
    client: client.length > MAX_CLIENT_LENGTH ? client.slice(0, MAX_CLIENT_LENGTH) : client,
    method: request.method,
    route: route.url ?? '',
    network: aggregation?.network,
    sourceChainId: message?.sourceChainID ?? failure?.sourceChainID ?? resolved?.sourceChainID,
    signingSubnetId: found?.signingSubnetID ?? asked?.signingSubnetID,
    destinationBlockchainId: asked?.destinationChainID ?? resolved?.destinationChainID,
    pChainHeight: found && Number(found.pChainHeight),
    quorumPercentage: asked && Number(asked.quorumNum ?? resolved?.quorumNum ?? DEFAULT_QUORUM_NUM),
    quorumPercentageBuffer: asked && Number(asked.quorumBuffer ?? 0n),
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
  const { weights, durationMs, stages, ...rest } = entry;
  return {
    ...rest,
    durationMs: rounded(durationMs),
    stages: Object.fromEntries(Object.entries(stages).map(([stage, ms]) => [stage, rounded(ms)])),
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
