import type { BlockchainID, SubnetID } from '../primitives/ids.ts';
import type { TallySummary } from './tally.ts';

/** Why a request got no signed message: a closed set. What each means to a client is said by `api`. */
export type AggregatorErrorCode =
  | 'invalid_request'
  | 'wrong_network'
  | 'height_not_reached'
  | 'no_message_in_transaction'
  | 'message_superseded'
  | 'validation_not_over'
  | 'signing_refused'
  | 'unknown_source_chain'
  | 'unknown_subnet'
  | 'unknown_transaction'
  | 'justification_not_found'
  | 'justification_pending'
  | 'no_validators_yet'
  | 'not_connected'
  | 'insufficient_weight'
  | 'p_chain_unavailable'
  | 'p_chain_invalid'
  | 'overloaded'
  | 'network_unavailable';

/** The part of a request that an error is about. */
export type RequestField =
  | 'message'
  | 'justification'
  | 'transaction'
  | 'signingSubnetID'
  | 'quorumNum'
  | 'quorumBuffer'
  | 'pChainHeight'
  | 'destinationChainID';

export interface AggregationReport {
  readonly messageID: string;
  readonly sourceChainID: BlockchainID;
  readonly signingSubnetID: SubnetID;
  readonly pChainHeight: bigint;
  readonly tally: TallySummary;
}

export class AggregatorError extends Error {
  override readonly name = 'AggregatorError';
  readonly code: AggregatorErrorCode;
  readonly field: RequestField | undefined;
  /** What the validators did, where any were asked. */
  readonly report: AggregationReport | undefined;
  readonly retryAfterMs: number | undefined;

  constructor(
    code: AggregatorErrorCode,
    message: string,
    {
      field,
      report,
      retryAfterMs,
      cause,
    }: { field?: RequestField; report?: AggregationReport; retryAfterMs?: number; cause?: unknown } = {},
  ) {
    super(message, { cause });
    this.code = code;
    this.field = field;
    this.report = report;
    this.retryAfterMs = retryAfterMs;
  }
}
