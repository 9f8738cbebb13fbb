import type { Static } from 'typebox';
import { type AggregationReport, AggregatorError } from '../../aggregation/aggregator-error.ts';
import type { Subject } from '../../aggregation/request/aggregation-request.ts';
import { byOutcome, type OutcomeWeights, weightsOf } from '../../aggregation/validators/validator-outcome.ts';
import type { RequestEnd } from '../../http/observability/request-log.ts';
import type { RequestContext } from '../../http/request/request-context.ts';
import { evmHash } from '../../pchain/rpc/evm-api.ts';
import { DEFAULT_QUORUM_NUM } from '../../validators/quorum.ts';
import { aggregationOf } from '../aggregation/aggregation-call.ts';
import { type AggregationDetails, presentDetails } from '../errors/aggregation-details.ts';
import { presentSentMessages } from '../errors/sent-messages.ts';
import type { RequestRecord } from './request-record.ts';

/** A record as it is kept. It is converted when it is read: repeated requests are frequent, and few records are read. */
export interface RequestEntry extends Omit<RequestRecord, 'weights'> {
  readonly weights: OutcomeWeights | undefined;
}

/** Longer than any name of a key. */
const MAX_CLIENT_LENGTH = 128;
/** Characters of a validator's text that a record keeps. */
const MAX_TEXT_LENGTH = 200;
/** Characters of the answer's error text that a record keeps; most have fewer than 200. */
const MAX_ERROR_LENGTH = 500;
/** Messages of a transaction that a record keeps. */
const MAX_MESSAGES = 20;

/** @returns undefined for what is no request for a signature, such as the preflight of one */
export function entryOf(context: RequestContext, end: RequestEnd, endedAt: number): RequestEntry | undefined {
  const { request, route, client, network } = context;
  const aggregation = aggregationOf(context);
  const { code: errorCode, message: errorMessage, error } = context.failure ?? {};
  const { report, sentMessages } = error instanceof AggregatorError ? error : {};
  const result = aggregation?.result;
  const outcome = errorCode ?? (end.isAnswered ? result && 'signed' : 'aborted');
  if (outcome === undefined) return undefined;
  const asked = aggregation?.asked;
  const resolved = aggregation?.resolved;
  const found = result ?? report ?? resolved;
  const message = asked?.subject.kind === 'message' ? asked.subject.message : undefined;
  const entry = {
    id: request.id,
    endedAt,
    durationMs: end.durationMs,
    stages: aggregation?.phases ?? NO_STAGES,
    // A proxy may name a client in any form.
    client: client.length > MAX_CLIENT_LENGTH ? client.slice(0, MAX_CLIENT_LENGTH) : client,
    method: request.method,
    route: route.url ?? '',
    network,
    messageId: message?.id ?? report?.messageID ?? resolved?.messageID,
    txHash: asked && transactionOf(asked.subject),
    transaction: asked && transactionOf(asked.subject),
    sourceChainId: message?.sourceChainID ?? report?.sourceChainID ?? resolved?.sourceChainID,
    signingSubnetId: found?.signingSubnetID ?? asked?.signingSubnetID,
    destinationBlockchainId: asked?.destinationChainID ?? resolved?.destinationChainID,
    // 0 stands for the default.
    requestedPChainHeight: Number(asked?.pChainHeight ?? 0n) || undefined,
    pChainHeight: found && Number(found.pChainHeight),
    quorumPercentage: asked && Number(asked.quorumNum ?? resolved?.quorumNum ?? DEFAULT_QUORUM_NUM),
    quorumPercentageBuffer: asked && Number(asked.quorumBuffer ?? 0n),
    outcome,
    status: end.isAnswered || errorCode !== undefined ? end.status : undefined,
    errorMessage: errorMessage?.slice(0, MAX_ERROR_LENGTH),
    weights: result?.weights ?? (report && weightsOf(report.tally)),
    details: report ? detailsOf(report) : sentMessages && presentSentMessages(sentMessages, MAX_MESSAGES),
  };
  // JSON leaves undefined fields out.
  return entry as RequestEntry;
}

const NO_STAGES = {};

function transactionOf(subject: Subject): string | undefined {
  if (subject.kind !== 'transaction') return undefined;
  return subject.evm === undefined ? subject.txID : evmHash(subject.txID);
}

function detailsOf(report: AggregationReport): Static<typeof AggregationDetails> {
  const { outcomes, missing, ...rest } = presentDetails(report);
  const { refused } = outcomes;
  return {
    ...rest,
    outcomes: { ...outcomes, refused: { ...refused, reasons: refused.reasons.map(withShortText) } },
    missing: missing.map(withShortText),
  };
}

function withShortText<T extends { readonly text?: string }>(one: T): T {
  return one.text === undefined ? one : { ...one, text: one.text.slice(0, MAX_TEXT_LENGTH) };
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
export function sizeOfEntry({ id, errorMessage = '', details }: RequestEntry): number {
  const size = BYTES_OF_ENTRY + id.length + 2 * errorMessage.length;
  if (details === undefined) return size;
  if ('messages' in details) return size + BYTES_OF_LISTED * details.messages.length;
  const listed = [...details.missing, ...details.outcomes.refused.reasons];
  return listed.reduce((sum, { text = '' }) => sum + BYTES_OF_LISTED + 2 * text.length, size + BYTES_OF_DETAILS);
}

const BYTES_OF_ENTRY = 1_100;
const BYTES_OF_DETAILS = 4_000;
const BYTES_OF_LISTED = 320;

function rounded(ms: number): number {
  return Math.round(ms * 100) / 100;
}
