import type { BlockchainID, SubnetID } from '../warp/ids.ts';
import type { TallySummary } from './collection/tally.ts';

/** Why a request got no signed message: a closed set. What each code means to HTTP is decided in `api`. */
export type AggregatorErrorCode =
  /** The caller can correct it; `field` says where. */
  | 'invalid_request'
  /** The message's network ID is that of another network. */
  | 'wrong_network'
  /** The P-Chain has not reached the height that the caller gave. */
  | 'height_not_reached'
  /** The P-Chain has no message about a transaction of this type. */
  | 'no_message_in_transaction'
  /** A later change overtook the message, and the P-Chain no longer confirms it. */
  | 'message_superseded'
  /** The message says that a validation is over, and it still exists. */
  | 'validation_not_over'
  /** Validators with so much weight refused that the rest cannot reach the quorum, with codes that no later block changes. */
  | 'signing_refused'
  /** The operator lets nobody ask the validators of that subnet. */
  | 'subnet_not_allowed'
  | 'unknown_source_chain'
  | 'unknown_subnet'
  /** No such transaction was accepted. */
  | 'unknown_transaction'
  /** The P-Chain has no such L1 validator, or has it no more. */
  | 'unknown_validation'
  /** The message needs a justification that was not given and was not found. */
  | 'justification_not_found'
  /** The same, while the search goes on. */
  | 'justification_pending'
  /** The signing subnet has no validators at the height that counts; it may have some soon. */
  | 'no_validators_yet'
  /** The validators that are connected have too little weight to reach the quorum. */
  | 'not_connected'
  /** Validators were asked, and too little weight signed. */
  | 'insufficient_weight'
  /** The P-Chain API could not be asked. */
  | 'p_chain_unavailable'
  /** The P-Chain API gave an answer that cannot be right. */
  | 'p_chain_invalid'
  /**
   * As many aggregations are under way as the service can do, or as are the share of this client or subnet; or too much waits to be
   * sent to validators.
   */
  | 'overloaded'
  /** The network is starting, or its API is of another network. Raised by `network`, in front of the aggregator. */
  | 'network_unavailable';

/** The part of an {@link AggregationRequest} that an error is about. How clients spell it is known to `api` alone. */
export type RequestField =
  | 'message'
  | 'signedMessage'
  | 'subnetID'
  | 'validationID'
  | 'uptimeChainID'
  | 'justification'
  | 'transaction'
  | 'signingSubnetID'
  | 'quorumNum'
  | 'quorumBuffer'
  | 'pChainHeight'
  | 'destinationChainID';

/** What each validator did, where validators were asked without success. */
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
  /** Overrides what the code alone says, where more is known. */
  readonly retryAfterMs?: number | undefined;
  readonly cause?: unknown;
}

/**
 * How long a failure that may pass is remembered. Meanwhile, the same request is answered without asking anybody. Clients
 * try again after a second or less; a validator needs about that long to be reachable again, or to have the next block.
 */
export const NEGATIVE_CACHE_MS = 3_000;

/**
 * When to try again, for codes that pass with time: connections and the API need some seconds; blocks are still being read, or
 * the next epoch has to begin; and an overload is over as soon as one aggregation ends.
 */
const RETRY_AFTER_MS: Readonly<Partial<Record<AggregatorErrorCode, number>>> = {
  insufficient_weight: NEGATIVE_CACHE_MS,
  not_connected: 5_000,
  network_unavailable: 5_000,
  p_chain_unavailable: 5_000,
  justification_pending: 10_000,
  no_validators_yet: 10_000,
  overloaded: 1_000,
};

/** `message` is a sentence that does not name the field: who shows it writes the field in front, as clients know it. */
export class AggregatorError extends Error {
  override readonly name = 'AggregatorError';
  readonly code: AggregatorErrorCode;
  readonly field: RequestField | undefined;
  readonly report: AggregationReport | undefined;
  /** Undefined where time alone does not help, or nobody can say how much. */
  readonly retryAfterMs: number | undefined;

  constructor(
    code: AggregatorErrorCode,
    message: string,
    { field, report, retryAfterMs = RETRY_AFTER_MS[code], cause }: AggregatorErrorOptions = {},
  ) {
    super(message, { cause });
    this.code = code;
    this.field = field;
    this.report = report;
    this.retryAfterMs = retryAfterMs;
  }
}
