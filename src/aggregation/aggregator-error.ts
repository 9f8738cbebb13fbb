import type { SentMessage } from '../pchain/codec/evm-receipt.ts';
import type { BlockchainID, SubnetID } from '../warp/ids.ts';
import type { TallySummary } from './validators/validator-outcome.ts';

/** Why a request got no signed message: a closed set, mapped to HTTP in `http/errors`. */
export type AggregatorErrorCode =
  /** The client can correct it; `field` names the part. */
  | 'invalid_request'
  | 'wrong_network'
  | 'height_not_reached'
  /** The P-Chain has no message about a transaction of this type, or an EVM transaction sent none. */
  | 'no_message_in_transaction'
  /** An EVM transaction sent several messages, and none was chosen. */
  | 'several_messages'
  /** A later change replaced the message, and the P-Chain no longer confirms it. */
  | 'message_superseded'
  /** The message states the end of a validation that still exists. */
  | 'validation_not_over'
  /** The weight that refused with codes that no later block changes puts the quorum out of reach. */
  | 'signing_refused'
  /** The operator does not allow the validators of that subnet to be asked. */
  | 'subnet_not_allowed'
  | 'unknown_source_chain'
  | 'unknown_subnet'
  /** No accepted transaction has this ID. */
  | 'unknown_transaction'
  /** The P-Chain has no such L1 validator, or no longer. */
  | 'unknown_validation'
  /** The message needs a justification that was not given and was not found. */
  | 'justification_not_found'
  /** The justification is still being searched for. */
  | 'justification_pending'
  /** The signing subnet has no validators at the height; it may have some soon. */
  | 'no_validators_yet'
  /** The connected validators have too little weight to reach the quorum. */
  | 'not_connected'
  | 'insufficient_weight'
  | 'p_chain_unavailable'
  | 'p_chain_invalid'
  | 'chain_rpc_unavailable'
  | 'chain_rpc_invalid'
  /** A concurrency limit, the share of the client or subnet, or the queue of requests to validators is exhausted. */
  | 'overloaded'
  /** The network is starting, or its API belongs to another network. Raised by `network`. */
  | 'network_unavailable';

/** The part of an {@link AggregationRequest} that an error is about. `api` maps it to the name of the field. */
export type RequestField =
  | 'message'
  | 'signedMessage'
  | 'subnetID'
  | 'validationID'
  | 'uptimeChainID'
  | 'sourceChainID'
  | 'justification'
  | 'transaction'
  | 'signingSubnetID'
  | 'quorumNum'
  | 'quorumBuffer'
  | 'pChainHeight'
  | 'destinationChainID';

/** Outcomes of the validators that were asked. */
export interface AggregationReport {
  readonly messageID: string;
  readonly sourceChainID: BlockchainID;
  readonly signingSubnetID: SubnetID;
  readonly pChainHeight: bigint;
  readonly tally: TallySummary;
}

export interface AggregatorErrorOptions {
  readonly field?: RequestField | undefined;
  readonly report?: AggregationReport | undefined;
  /** Messages of an EVM transaction, of which the client has to choose one. */
  readonly sentMessages?: readonly SentMessage[] | undefined;
  /** Overrides the default of the code. */
  readonly retryAfterMs?: number | undefined;
  readonly cause?: unknown;
}

/**
 * Time that a temporary failure is cached. Clients retry after a second or less; a validator needs about this long to reconnect
 * or to receive the next block.
 */
export const NEGATIVE_CACHE_MS = 3_000;

/** Time after which a temporary failure may have passed. */
const RETRY_AFTER_MS: Readonly<Partial<Record<AggregatorErrorCode, number>>> = {
  insufficient_weight: NEGATIVE_CACHE_MS,
  not_connected: 5_000,
  network_unavailable: 5_000,
  p_chain_unavailable: 5_000,
  chain_rpc_unavailable: 5_000,
  justification_pending: 10_000,
  no_validators_yet: 10_000,
  overloaded: 1_000,
};

/** `message` does not name the field: the API puts the client's name of the field in front. */
export class AggregatorError extends Error {
  override readonly name = 'AggregatorError';
  readonly code: AggregatorErrorCode;
  readonly field: RequestField | undefined;
  readonly report: AggregationReport | undefined;
  readonly sentMessages: readonly SentMessage[] | undefined;
  /** Undefined if time alone does not help. */
  readonly retryAfterMs: number | undefined;

  constructor(
    code: AggregatorErrorCode,
    message: string,
    { field, report, sentMessages, retryAfterMs = RETRY_AFTER_MS[code], cause }: AggregatorErrorOptions = {},
  ) {
    super(message, { cause });
    this.code = code;
    this.field = field;
    this.report = report;
    this.sentMessages = sentMessages;
    this.retryAfterMs = retryAfterMs;
  }
}
