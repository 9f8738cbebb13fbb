import { PublicError } from '../lib/net/coded-error.ts';
import type { SentMessage } from '../pchain/codec/evm-receipt.ts';
import type { BlockchainID, SubnetID } from '../warp/ids.ts';
import type { TallySummary } from './validators/validator-outcome.ts';

/** Why a request got no signed message: a closed set. `http/errors` has the status and meaning of each. */
export type AggregatorErrorCode =
  | 'invalid_request'
  | 'wrong_network'
  | 'height_not_reached'
  | 'height_not_served'
  | 'no_message_in_transaction'
  | 'several_messages'
  | 'message_superseded'
  | 'validation_not_over'
  | 'registration_pending'
  | 'signing_refused'
  | 'quorum_unreachable'
  | 'subnet_not_allowed'
  | 'unknown_source_chain'
  | 'unknown_subnet'
  | 'unknown_blockchain'
  | 'unknown_transaction'
  | 'unknown_validation'
  | 'justification_not_found'
  | 'justification_pending'
  | 'no_validators_yet'
  | 'not_connected'
  | 'insufficient_weight'
  | 'p_chain_unavailable'
  | 'p_chain_invalid'
  | 'chain_rpc_unavailable'
  | 'chain_rpc_invalid'
  | 'overloaded'
  | 'network_unavailable';

/** The part of an {@link AggregationRequest} that an error is about. `api` maps it to the name of the field. */
export type RequestField =
  | 'message'
  | 'signedMessage'
  | 'subnetID'
  | 'validationID'
  | 'uptimeChainID'
  | 'sourceChainID'
  | 'blockchainID'
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
  /** The expiry of the registration that the P-Chain may still accept, in Unix seconds. */
  readonly registrableUntil?: bigint | undefined;
}

export interface AggregatorErrorOptions {
  readonly field?: RequestField | undefined;
  readonly report?: AggregationReport | undefined;
  /** Messages of an EVM transaction, of which the client has to choose one. */
  readonly sentMessages?: readonly SentMessage[] | undefined;
  readonly retryAfterMs?: number | undefined;
  readonly cause?: unknown;
}

const RETRY_AFTER_MS: Readonly<Partial<Record<AggregatorErrorCode, number>>> = {
  // The lifetime of the cached failure.
  insufficient_weight: 1_000,
  not_connected: 5_000,
  network_unavailable: 5_000,
  p_chain_unavailable: 5_000,
  chain_rpc_unavailable: 5_000,
  justification_pending: 10_000,
  no_validators_yet: 10_000,
  overloaded: 1_000,
};

/** `message` does not name the field: the API puts the client's name of the field in front. */
export class AggregatorError extends PublicError<AggregatorErrorCode> {
  override readonly name = 'AggregatorError';
  readonly field: RequestField | undefined;
  readonly report: AggregationReport | undefined;
  readonly sentMessages: readonly SentMessage[] | undefined;

  constructor(
    code: AggregatorErrorCode,
    message: string,
    { field, report, sentMessages, retryAfterMs = RETRY_AFTER_MS[code], cause }: AggregatorErrorOptions = {},
  ) {
    super(code, message, { retryAfterMs, cause });
    this.field = field;
    this.report = report;
    this.sentMessages = sentMessages;
  }

  /** Returns a copy with other details. */
  with(changes: AggregatorErrorOptions): AggregatorError {
    const { code, message, field, report, sentMessages, retryAfterMs, cause } = this;
    return new AggregatorError(code, message, { field, report, sentMessages, retryAfterMs, cause, ...changes });
  }
}

/** Makes an error that has no stack: a stack takes time, and keeps the objects of its functions in memory. */
export function withoutStack<T extends Error>(make: () => T): T {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return make();
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/** Errors of `work` about one field name another one, which the client gave. */
export async function renameField<T>(work: Promise<T>, from: RequestField, to: RequestField): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw error instanceof AggregatorError && error.field === from ? error.with({ field: to }) : error;
  }
}
