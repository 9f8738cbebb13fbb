/** Written by `npm run generate`. */

/**
 * The content of an addressed call
 *
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "DecodedContent".
 */
export type DecodedContent =
  | SubnetToL1Conversion
  | RegisterL1Validator
  | L1ValidatorRegistration
  | L1ValidatorWeight
  | ValidatorUptime
  | TeleporterMessage;
/**
 * Programs decide by it. Each response lists those that it may have.
 *
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "ErrorCode".
 */
export type ErrorCode =
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
  | 'network_unavailable'
  | 'upstream_not_configured'
  | 'upstream_unreachable'
  | 'upstream_invalid_answer'
  | 'upstream_timeout'
  | 'upstream_failing'
  | 'upstream_overloaded'
  | 'upstream_error'
  | 'unknown_network'
  | 'not_found'
  | 'unknown_request'
  | 'feed_not_configured'
  | 'unknown_message'
  | 'cursor_expired'
  | 'not_recorded'
  | 'unknown_validator'
  | 'unauthorized'
  | 'forbidden'
  | 'rate_limited'
  | 'body_too_large'
  | 'unsupported_media_type'
  | 'unsupported_transfer_coding'
  | 'headers_too_large'
  | 'request_timeout'
  | 'internal_error';
/**
 * One event: the text after `event:`, and the JSON after `data:`
 *
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "AggregationEvent".
 */
export type AggregationEvent =
  | {
      event: 'resolved';
      data: ResolvedEvent;
    }
  | {
      event: 'asked';
      data: AskedEvent;
    }
  | {
      event: 'answer';
      data: AnswerEvent;
    }
  | {
      event: 'progress';
      data: ProgressEvent;
    }
  | {
      event: 'verifying';
      data: VerifyingEvent;
    }
  | {
      event: 'result';
      data: ResultEvent;
    }
  | {
      event: 'error';
      data: ErrorEvent;
    };
/**
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "DecodedReading".
 */
export type DecodedReading =
  SignedMessageReading | UnsignedMessageReading | PayloadReading | ContentReading | JustificationReading;
/**
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "DecodedPayload".
 */
export type DecodedPayload = HashPayload | AddressedCall | UnknownPayload;
/**
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "DecodedJustification".
 */
export type DecodedJustification = SubnetIDIndex | RegisterL1ValidatorMessage;
/**
 * One event: the texts after `id:` and `event:`, and the JSON after `data:`, whose lines a client joins. A line has at most 60,000 bytes, an event some 200,000
 *
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "FeedEvent".
 */
export type FeedEvent =
  | {
      event: 'message';
      /**
       * The cursor after the event, for Last-Event-ID
       */
      id: string;
      data: FeedMessage;
    }
  | {
      event: 'watermark';
      /**
       * The cursor after the event, for Last-Event-ID
       */
      id: string;
      data: WatermarkEvent;
    }
  | {
      event: 'expired';
      data: ExpiredEvent;
    }
  | {
      event: 'lagging';
      /**
       * The cursor after the event, for Last-Event-ID
       */
      id: string;
      data: LaggingEvent;
    };

export interface Unused {}
/**
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "AggregateSignaturesQuery".
 */
export interface AggregateSignaturesQuery {
  /**
   * Adds the access list of the transaction that delivers the message to an EVM chain
   */
  include?: 'accessList';
  /**
   * Seconds in which the transaction may still be accepted and executed, and its signers may become known: validators of a new L1, a network that opens, an API that does not answer. The time for signatures begins after it, and the answer comes as soon as the message is signed
   */
  wait?: number;
}
/**
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "AggregateSignaturesOfTransactionQuery".
 */
export interface AggregateSignaturesOfTransactionQuery {
  /**
   * The EVM chain of the transaction: its ID in hex or cb58, or C for the C-Chain. Without it the P-Chain is asked; then, for a txHash of 0x and 64 digits that it does not know, the C-Chain and the chains of tracked subnets
   */
  blockchainId?: string;
  /**
   * The logIndex of the message in the receipt, in decimal or hex, if an EVM transaction sent several
   */
  logIndex?: string;
  /**
   * The subnet whose validators sign, in hex or cb58; the default is the one that the destination accepts, without a destination the subnet of the source chain
   */
  signingSubnetId?: string;
  /**
   * Percentage of the signing subnet's weight that must sign; with a destination, the default is the destination's
   */
  quorumPercentage?: number;
  /**
   * Percentage tried for beyond the quorum; the two add up to at most 100
   */
  quorumPercentageBuffer?: number;
  /**
   * The P-Chain height of the validators; 0 is the proposed height
   */
  pChainHeight?: number;
  /**
   * The blockchain that will verify the message, in hex or cb58: the validators that it accepts sign, with its quorum, at the P-Chain height of its current epoch, except for what the request names. The default is the destination of a Teleporter message, and for a message of the P-Chain the chain of the L1's validator manager; at the proposed height if the epoch cannot be read
   */
  destinationBlockchainId?: string;
  /**
   * Adds the access list of the transaction that delivers the message to an EVM chain
   */
  include?: 'accessList';
  /**
   * Seconds in which the transaction may still be accepted and executed, and its signers may become known: validators of a new L1, a network that opens, an API that does not answer. The time for signatures begins after it, and the answer comes as soon as the message is signed
   */
  wait?: number;
}
/**
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "ListSubnetsQuery".
 */
export interface ListSubnetsQuery {
  /**
   * `nextPageToken` of the previous page
   */
  pageToken?: string;
  pageSize?: number;
}
/**
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "GetSubnetQuery".
 */
export interface GetSubnetQuery {
  /**
   * The P-Chain height of the validators; 0 is the proposed height
   */
  pChainHeight?: number;
  /**
   * The blockchain that verifies, in hex or cb58: the P-Chain height is then that of its current epoch, unless pChainHeight is given
   */
  destinationBlockchainId?: string;
  /**
   * `nextPageToken` of the previous page
   */
  pageToken?: string;
  pageSize?: number;
}
/**
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "GetSubnetHistoryQuery".
 */
export interface GetSubnetHistoryQuery {
  /**
   * Unix time in milliseconds from which validators are counted, a day ago by default. Within 48 hours whole hours are counted, and before that whole days, at most 90
   */
  since?: number;
  /**
   * `nextPageToken` of the previous page
   */
  pageToken?: string;
  pageSize?: number;
}
/**
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "ListMessagesQuery".
 */
export interface ListMessagesQuery {
  /**
   * Only messages of this chain: its ID in hex or cb58, or C for the C-Chain. By default those of all watched chains
   */
  sourceBlockchainId?: string;
  /**
   * Only messages of this transaction: its hash with 0x
   */
  txHash?: string;
  /**
   * Only messages of this sender: an EVM address with 0x
   */
  sender?: string;
  /**
   * Only Teleporter messages for this chain: its ID in hex or cb58
   */
  destinationBlockchainId?: string;
  /**
   * Only messages of this status
   */
  status?: 'pending' | 'signed' | 'failed';
  /**
   * Adds the access list of the transaction that delivers the message to an EVM chain
   */
  include?: 'accessList';
  /**
   * The cursor after which messages are read: nextCursor of an answer, or the id of an event. `recent` begins with the last messages, at most 100 of a chain. Without it, reading begins with the oldest stored message
   */
  after?: string;
  /**
   * In place of `after`: reads backwards, the newest first. `recent` begins with the last message, and nextCursor of such an answer goes on with older ones. Messages are listed as they are now; streams begin at `after`
   */
  before?: string;
  /**
   * The most messages of a page. A page ends earlier after 1 MiB of messages. Streams ignore it
   */
  limit?: number;
}
/**
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "GetMessageQuery".
 */
export interface GetMessageQuery {
  /**
   * The blockchain that will verify the message, in hex or cb58
   */
  destinationBlockchainId?: string;
  /**
   * Adds the access list of the transaction that delivers the message to an EVM chain
   */
  include?: 'accessList';
}
/**
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "ReplayMessagesQuery".
 */
export interface ReplayMessagesQuery {
  /**
   * The first block
   */
  fromBlock: number;
  /**
   * The last block; at most 1000 blocks are read
   */
  toBlock: number;
}
/**
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "ProveUptimeQuery".
 */
export interface ProveUptimeQuery {
  /**
   * Percentage of the L1's weight that must sign
   */
  quorumPercentage?: number;
  /**
   * The L1's chain whose nodes are asked, in hex or cb58; the default is that of its validator manager, if the L1 validates it
   */
  blockchainId?: string;
  /**
   * The P-Chain height of the validators; 0 is the proposed height
   */
  pChainHeight?: number;
  /**
   * The blockchain that verifies, in hex or cb58: the P-Chain height is then that of its current epoch, unless pChainHeight is given
   */
  destinationBlockchainId?: string;
}
/**
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "GetValidationQuery".
 */
export interface GetValidationQuery {
  /**
   * Hash of the EVM transaction by which the manager initiated the registration or a change, 0x and 64 hex digits
   */
  txHash?: string;
  /**
   * The chain of that transaction: its ID in hex or cb58, or C. Without it, it is searched
   */
  blockchainId?: string;
  /**
   * The logIndex of the message in the receipt, if the transaction sent several
   */
  logIndex?: string;
  /**
   * The registration in hex, if the service cannot know it: a RegisterL1Validator payload, or the message or justification around it
   */
  justification?: string;
}
/**
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "ListUptimesQuery".
 */
export interface ListUptimesQuery {
  /**
   * Percentage of the L1's weight that must sign
   */
  quorumPercentage?: number;
  /**
   * The L1's chain whose nodes are asked; the default is that of its validator manager
   */
  blockchainId?: string;
  /**
   * The P-Chain height of the validators; 0 is the proposed height
   */
  pChainHeight?: number;
  /**
   * The blockchain that verifies, in hex or cb58: the P-Chain height is then that of its current epoch, unless pChainHeight is given
   */
  destinationBlockchainId?: string;
  /**
   * `nextPageToken` of the previous page
   */
  pageToken?: string;
  pageSize?: number;
}
/**
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "ListRequestsQuery".
 */
export interface ListRequestsQuery {
  /**
   * Only requests with this outcome
   */
  outcome?:
    | 'signed'
    | 'aborted'
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
    | 'network_unavailable'
    | 'upstream_not_configured'
    | 'upstream_unreachable'
    | 'upstream_invalid_answer'
    | 'upstream_timeout'
    | 'upstream_failing'
    | 'upstream_overloaded'
    | 'upstream_error'
    | 'unknown_network'
    | 'not_found'
    | 'unknown_request'
    | 'feed_not_configured'
    | 'unknown_message'
    | 'cursor_expired'
    | 'not_recorded'
    | 'unknown_validator'
    | 'unauthorized'
    | 'forbidden'
    | 'rate_limited'
    | 'body_too_large'
    | 'unsupported_media_type'
    | 'unsupported_transfer_coding'
    | 'headers_too_large'
    | 'request_timeout'
    | 'internal_error';
  /**
   * Only requests with this signing subnet, in hex or cb58
   */
  subnetId?: string;
  /**
   * Only requests for the message with this ID, in hex or cb58
   */
  messageId?: string;
  /**
   * Only requests that name this transaction, by its ID or hash in hex or cb58. Those that name a message which it sent are found by messageId
   */
  txHash?: string;
  /**
   * The same as txHash, its earlier name
   */
  transaction?: string;
  /**
   * Only requests of this client: `key:` and the name of its API key, or `address:` and its IP address
   */
  client?: string;
  /**
   * Only requests that ended at this Unix time in milliseconds or later. Those of other replicas appear up to 100 ms late
   */
  since?: number;
  /**
   * The most requests
   */
  limit?: number;
}
/**
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "AddressedCall".
 */
export interface AddressedCall {
  kind: 'AddressedCall';
  /**
   * In hex; empty if the chain itself is the sender
   */
  sourceAddress: string;
  /**
   * Hex, without a prefix
   */
  payload: string;
  content?: DecodedContent;
}
/**
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "SubnetToL1Conversion".
 */
export interface SubnetToL1Conversion {
  kind: 'SubnetToL1Conversion';
  /**
   * In cb58
   */
  conversionId: string;
}
/**
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "RegisterL1Validator".
 */
export interface RegisterL1Validator {
  kind: 'RegisterL1Validator';
  /**
   * In cb58
   */
  validationId: string;
  /**
   * In cb58
   */
  subnetId: string;
  /**
   * NodeID; hex if it does not have 20 bytes
   */
  nodeId: string;
  /**
   * Hex, without a prefix
   */
  blsPublicKey: string;
  /**
   * Unix time in seconds, from which on the P-Chain refuses it
   */
  expiry: string;
  /**
   * The same as a date
   */
  expiryTime?: string;
  remainingBalanceOwner: PChainOwner;
  disableOwner: PChainOwner;
  /**
   * A decimal number, which may exceed 2^53
   */
  weight: string;
}
/**
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "PChainOwner".
 */
export interface PChainOwner {
  threshold: number;
  /**
   * P-Chain addresses, of 20 bytes each
   *
   * Items: Hex, without a prefix
   */
  addresses: string[];
}
/**
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "L1ValidatorRegistration".
 */
export interface L1ValidatorRegistration {
  kind: 'L1ValidatorRegistration';
  /**
   * In cb58
   */
  validationId: string;
  registered: boolean;
}
/**
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "L1ValidatorWeight".
 */
export interface L1ValidatorWeight {
  kind: 'L1ValidatorWeight';
  /**
   * In cb58
   */
  validationId: string;
  /**
   * A decimal number, which may exceed 2^53
   */
  nonce: string;
  /**
   * A decimal number, which may exceed 2^53
   */
  weight: string;
}
/**
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "ValidatorUptime".
 */
export interface ValidatorUptime {
  kind: 'ValidatorUptime';
  /**
   * In cb58
   */
  validationId: string;
  /**
   * Seconds
   */
  totalUptime: string;
}
/**
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "TeleporterMessage".
 */
export interface TeleporterMessage {
  kind: 'TeleporterMessage';
  /**
   * A decimal number, which may exceed 2^53
   */
  messageNonce: string;
  /**
   * EVM address, with 0x
   */
  originSenderAddress: string;
  /**
   * In cb58
   */
  destinationBlockchainId: string;
  /**
   * EVM address, with 0x
   */
  destinationAddress: string;
  /**
   * A decimal number, which may exceed 2^53
   */
  requiredGasLimit: string;
  /**
   * Items: EVM address, with 0x
   */
  allowedRelayerAddresses: string[];
  receipts: TeleporterReceipt[];
  /**
   * Hex, without a prefix
   */
  message: string;
}
/**
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "TeleporterReceipt".
 */
export interface TeleporterReceipt {
  /**
   * A decimal number, which may exceed 2^53
   */
  receivedMessageNonce: string;
  /**
   * EVM address, with 0x
   */
  relayerRewardAddress: string;
}
/**
 * Where validators were asked: what they did
 *
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "AggregationDetails".
 */
export interface AggregationDetails {
  /**
   * Weight that the quorum needs
   */
  weightNeeded: string;
  /**
   * Weight of the validators that signed
   */
  weightSigned: string;
  /**
   * Weight of all validators of the subnet
   */
  totalWeight: string;
  /**
   * The subnet whose validators were asked, in cb58
   */
  signingSubnetId: string;
  /**
   * The P-Chain height whose validators were asked
   */
  pChainHeight: number;
  outcomes: OutcomeCounts;
  /**
   * Validators that did not sign, the heaviest first
   */
  missing: MissingValidator[];
  /**
   * How many more validators did not sign
   */
  missingOmitted: number;
  /**
   * With `registration_pending`: the Unix time in seconds until which the P-Chain could accept the registration
   */
  registrableUntil?: number;
}
/**
 * `signed`: its signature is good; `refused`: its last answer was an error, with its own code and text; it may have been asked again since; `timed_out`: it was asked and did not answer in time. Reason `no_answer`: nothing came; `request_dropped`: it answers pings, but drops requests for this blockchain; `request_ended`: the request ended first; `unreachable`: there is no connection; the reason says why; `invalid_signature`: it sent no valid signature of this message; the reason says what is wrong; `not_asked`: it was not asked. Reason `queue_full`: too many requests wait to be sent; `no_key`: its weight counts in the total, and it cannot sign. Reason `no_key`: it has no BLS key; `inactive`: the inactive L1 validators, whose balance has run out, as one entry under the NodeID of zero bytes
 *
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "OutcomeCounts".
 */
export interface OutcomeCounts {
  signed: SignedCount;
  refused: RefusalCounts;
  timed_out: ReasonCounts;
  unreachable: ReasonCounts;
  invalid_signature: ReasonCounts;
  not_asked: ReasonCounts;
  no_key: ReasonCounts;
}
/**
 * Validators that signed
 *
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "SignedCount".
 */
export interface SignedCount {
  /**
   * A decimal number, which may exceed 2^53
   */
  weight: string;
  /**
   * How many validators
   */
  count: number;
}
/**
 * Validators with this outcome, and why
 *
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "RefusalCounts".
 */
export interface RefusalCounts {
  /**
   * A decimal number, which may exceed 2^53
   */
  weight: string;
  /**
   * How many validators
   */
  count: number;
  reasons: RefusalCount[];
}
/**
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "RefusalCount".
 */
export interface RefusalCount {
  code: number;
  /**
   * The validator's error text
   */
  text: string;
  /**
   * A decimal number, which may exceed 2^53
   */
  weight: string;
  /**
   * How many validators
   */
  count: number;
}
/**
 * Validators with this outcome, and why
 *
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "ReasonCounts".
 */
export interface ReasonCounts {
  /**
   * A decimal number, which may exceed 2^53
   */
  weight: string;
  /**
   * How many validators
   */
  count: number;
  reasons: ReasonCount[];
}
/**
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "ReasonCount".
 */
export interface ReasonCount {
  reason: string;
  /**
   * A decimal number, which may exceed 2^53
   */
  weight: string;
  /**
   * How many validators
   */
  count: number;
}
/**
 * A validator that did not sign
 *
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "MissingValidator".
 */
export interface MissingValidator {
  nodeId: string;
  /**
   * A decimal number, which may exceed 2^53
   */
  weight: string;
  /**
   * One of the names under outcomes
   */
  outcome: 'refused' | 'timed_out' | 'unreachable' | 'invalid_signature' | 'not_asked' | 'no_key';
  /**
   * The validator's own error code, where it refused
   */
  code?: number;
  /**
   * The validator's error text, where it refused
   */
  text?: string;
  /**
   * The finer cause, where it did not refuse
   */
  reason?: string;
}
/**
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "AggregationError".
 */
export interface AggregationError {
  /**
   * What is wrong, and what is allowed
   */
  message: string;
  details?: AggregationDetails | SentMessages;
  /**
   * The HTTP status
   */
  statusCode: number;
  /**
   * The reason phrase of the status
   */
  error: string;
  code: ErrorCode;
}
/**
 * Where an EVM transaction sent several messages: which
 *
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "SentMessages".
 */
export interface SentMessages {
  messages: SentMessage[];
  /**
   * How many more messages the transaction sent
   */
  messagesOmitted: number;
}
/**
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "SentMessage".
 */
export interface SentMessage {
  /**
   * The value of the parameter that chooses this message
   */
  logIndex: number;
  /**
   * In cb58
   */
  messageId: string;
  /**
   * Of a Teleporter message, in cb58: the blockchain that it is for
   */
  destinationBlockchainId?: string;
  /**
   * Size of the unsigned message
   */
  bytes: number;
}
/**
 * All there is to know at this moment, in place of what came before
 *
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "ResolvedEvent".
 */
export interface ResolvedEvent {
  /**
   * The name of the network that is asked
   */
  network: string;
  /**
   * The subnet whose validators sign, in cb58
   */
  signingSubnetId: string;
  /**
   * The P-Chain height whose validators are asked
   */
  pChainHeight: number;
  quorumPercentage: number;
  quorumPercentageBuffer: number;
  /**
   * A decimal number, which may exceed 2^53
   */
  totalWeight: string;
  /**
   * Least weight of the quorum
   */
  quorumWeight: string;
  /**
   * Least weight of the quorum with its buffer
   */
  targetWeight: string;
  /**
   * Weight of those who have signed
   */
  signedWeight: string;
  /**
   * Whether the signatures are being verified
   */
  isVerifying: boolean;
  /**
   * In canonical order; those without a BLS key are not among them
   */
  validators: EventValidator[];
}
/**
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "EventValidator".
 */
export interface EventValidator {
  /**
   * In the canonical order of the validator set, from 0
   */
  index: number;
  /**
   * Its nodes: several may have one BLS key
   */
  nodeIds: string[];
  /**
   * A decimal number, which may exceed 2^53
   */
  weight: string;
  /**
   * Whether it was connected when this event was sent
   */
  isConnected: boolean;
  /**
   * `asked`: its answer is to come; `signed`: its signature is good; `refused`: its last answer was an error, with its own code and text; it may have been asked again since; `timed_out`: it was asked and did not answer in time. Reason `no_answer`: nothing came; `request_dropped`: it answers pings, but drops requests for this blockchain; `request_ended`: the request ended first; `unreachable`: there is no connection; the reason says why; `invalid_signature`: it sent no valid signature of this message; the reason says what is wrong; `not_asked`: it was not asked. Reason `queue_full`: too many requests wait to be sent
   */
  status: 'asked' | 'signed' | 'refused' | 'timed_out' | 'unreachable' | 'invalid_signature' | 'not_asked';
  /**
   * The validator's own error code, where it refused
   */
  code?: number;
  /**
   * The validator's error text, where it refused
   */
  text?: string;
  /**
   * The finer cause, where it did not refuse
   */
  reason?: string;
}
/**
 * Validators that were asked, without those that have refused: they stay `refused` until another answer
 *
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "AskedEvent".
 */
export interface AskedEvent {
  /**
   * Items: In the canonical order of the validator set, from 0
   */
  validators: number[];
}
/**
 * What came of asking validators
 *
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "AnswerEvent".
 */
export interface AnswerEvent {
  answers: ValidatorAnswer[];
}
/**
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "ValidatorAnswer".
 */
export interface ValidatorAnswer {
  /**
   * In the canonical order of the validator set, from 0
   */
  index: number;
  /**
   * A decimal number, which may exceed 2^53
   */
  weight: string;
  /**
   * `signed`: its signature is good; `refused`: its last answer was an error, with its own code and text; it may have been asked again since; `timed_out`: it was asked and did not answer in time. Reason `no_answer`: nothing came; `request_dropped`: it answers pings, but drops requests for this blockchain; `request_ended`: the request ended first; `unreachable`: there is no connection; the reason says why; `invalid_signature`: it sent no valid signature of this message; the reason says what is wrong; `not_asked`: it was not asked. Reason `queue_full`: too many requests wait to be sent
   */
  outcome: 'signed' | 'refused' | 'timed_out' | 'unreachable' | 'invalid_signature' | 'not_asked';
  /**
   * The validator's own error code, where it refused
   */
  code?: number;
  /**
   * The validator's error text, where it refused
   */
  text?: string;
  /**
   * The finer cause, where it did not refuse
   */
  reason?: string;
}
/**
 * How far the collection is; it comes after answers
 *
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "ProgressEvent".
 */
export interface ProgressEvent {
  /**
   * A decimal number, which may exceed 2^53
   */
  signedWeight: string;
  /**
   * A decimal number, which may exceed 2^53
   */
  quorumWeight: string;
  /**
   * A decimal number, which may exceed 2^53
   */
  targetWeight: string;
  /**
   * A decimal number, which may exceed 2^53
   */
  totalWeight: string;
}
/**
 * Enough have signed, and what they signed is being verified
 *
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "VerifyingEvent".
 */
export interface VerifyingEvent {}
/**
 * The end: the signed message, as the plain answer has it
 *
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "ResultEvent".
 */
export interface ResultEvent {
  /**
   * The signed Warp message in hex, without a prefix
   */
  signedMessage: string;
  /**
   * The P-Chain height whose validators signed
   */
  pChainHeight: number;
  /**
   * The subnet whose validators signed, in cb58
   */
  signingSubnetId: string;
  /**
   * Weight of the signers
   */
  signedWeight: string;
  /**
   * Weight of all validators of the subnet, of which the quorum is a part
   */
  totalWeight: string;
  /**
   * NodeIDs of the signers in canonical order, one for each BLS key
   */
  signers: string[];
  epoch?: Epoch;
  /**
   * Missing if nothing is known against the message
   */
  warnings?: DeliveryWarning[];
  /**
   * With include=accessList: the access list (EIP-2930) of the transaction that delivers the message to an EVM chain
   */
  accessList?: {
    /**
     * The Warp precompile
     */
    address: string;
    /**
     * The signed message, one byte 0xff, and zeros up to whole words of 32 bytes, in hex with 0x
     */
    storageKeys: string[];
  }[];
}
/**
 * The destination's current epoch (ACP-181); missing for a chain without epochs
 *
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "Epoch".
 */
export interface Epoch {
  /**
   * Counts from 1
   */
  number: number;
  /**
   * The P-Chain height at which the chain verifies messages
   */
  pChainHeight: number;
  /**
   * Unix time in seconds
   */
  startTime: number;
  /**
   * Unix time in seconds at which it may end: it ends with the first block after it, so an idle chain keeps it
   */
  endTime?: number;
}
/**
 * Why a destination refuses the message, or may refuse it
 *
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "DeliveryWarning".
 */
export interface DeliveryWarning {
  /**
   * `signers_refused`: The destination accepts the validators of another subnet only; `quorum_too_low`: The signed weight is below the destination's quorum; `warp_disabled`: The Warp precompile of the destination is not enabled, so it accepts no message; `config_unreadable`: The destination's warp config could not be read; a quorum of 67 % is assumed; `epoch_unreadable`: The destination's current epoch could not be read or compared; the message may be refused; `set_differs_from_epoch`: The validators differ from those at the P-Chain height of the destination's current epoch; `unknown_destination`: The destination in the message is not known, so nothing was checked for it; `registration_expired`: The registration in the message has expired: the P-Chain refuses it; `registration_expires`: The registration in the message expires within an hour: the P-Chain refuses it afterwards
   */
  code:
    | 'signers_refused'
    | 'quorum_too_low'
    | 'warp_disabled'
    | 'config_unreadable'
    | 'epoch_unreadable'
    | 'set_differs_from_epoch'
    | 'unknown_destination'
    | 'registration_expired'
    | 'registration_expires';
  message: string;
}
/**
 * The end: what went wrong, as the plain answer has it
 *
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "ErrorEvent".
 */
export interface ErrorEvent {
  /**
   * What is wrong, and what is allowed
   */
  message: string;
  /**
   * The status that the plain answer would have
   */
  statusCode: number;
  /**
   * The reason phrase of the status
   */
  error: string;
  code: ErrorCode;
  details?: AggregationDetails;
  /**
   * The seconds of `Retry-After` that the plain answer would have
   */
  retryAfter?: number;
}
/**
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "AggregationRequest".
 */
export interface AggregationRequest {
  /**
   * The unsigned Warp message, or the data of the SendWarpMessage log that emitted it, in hex with an optional 0x prefix; an empty string counts as none
   */
  message?: string;
  /**
   * What validators need to sign some P-Chain messages, in hex with an optional 0x prefix. Without a message: a subnet ID asks for the message of the subnet's conversion to an L1; an L1ValidatorRegistrationJustification, or a RegisterL1Validator payload, for the message that the validation is over. An empty string counts as none
   */
  justification?: string;
  /**
   * The subnet whose validators sign, in hex or cb58; the default is the one that the destination accepts, without a destination the subnet of the source chain, and without a message the subnet that validates the chain of the L1's validator manager. An empty string counts as none
   */
  signingSubnetId?: string;
  /**
   * Percentage of the signing subnet's weight that must sign; with a destination, the default is the destination's; default: 67
   */
  quorumPercentage?: number;
  /**
   * Percentage tried for beyond the quorum; the two add up to at most 100; default: 0
   */
  quorumPercentageBuffer?: number;
  /**
   * The P-Chain height of the validators; 0 is the proposed height; default: 0
   */
  pChainHeight?: number;
  /**
   * The same as pChainHeight, as the Go SDK spells it; default: 0
   */
  pchainHeight?: number;
  /**
   * The blockchain that will verify the message, in hex or cb58: the validators that it accepts sign, with its quorum, at the P-Chain height of its current epoch, except for what the request names
   */
  destinationBlockchainId?: string;
}
/**
 * Latency of its last signatures and refusals
 *
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "AnswerLatency".
 */
export interface AnswerLatency {
  /**
   * Number of measured answers, at most 100
   */
  answers: number;
  medianMs: number;
  p99Ms: number;
}
/**
 * Why it is not connected
 *
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "ConnectionObstacle".
 */
export interface ConnectionObstacle {
  /**
   * `unreachable`: no answer to TCP; `tcp_refused`: nothing listens at its address; `no_files`: this service has no file descriptor left; `tls`: TLS failed; `wrong_node`: another node answers there; `not_admitted`: closed after TLS, as by nodes that let in listed peers only; `clock`: its clock differs by more than a minute; `other_network`: it belongs to another network; `version`: it refuses the version that we announce; `handshake`: a handshake was refused, or did not come; `protocol`: it broke the protocol; `flood`: it sent too many messages that we did not request; `silent`: nothing came for too long; `lost`: the connection broke; `connecting`: it is being dialled; `no_address`: its address is unknown; `private_address`: its address may not be dialled; `version_unknown`: the node version is unknown; `no_room`: too many connections are open here; `own_node`: it is this service
   */
  cause:
    | 'unreachable'
    | 'tcp_refused'
    | 'no_files'
    | 'tls'
    | 'wrong_node'
    | 'not_admitted'
    | 'clock'
    | 'other_network'
    | 'version'
    | 'handshake'
    | 'protocol'
    | 'flood'
    | 'silent'
    | 'lost'
    | 'unwanted'
    | 'superseded'
    | 'shutdown'
    | 'connecting'
    | 'own_node'
    | 'no_address'
    | 'private_address'
    | 'version_unknown'
    | 'no_room';
  reason: string;
}
/**
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "ContentReading".
 */
export interface ContentReading {
  as: 'content';
  content: DecodedContent;
}
/**
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "DecodeRequest".
 */
export interface DecodeRequest {
  /**
   * What is to be read, in hex with an optional 0x prefix: a Warp message, signed or not, the data of the SendWarpMessage log that emitted it, a payload, the content of an addressed call, or a justification
   */
  data: string;
  /**
   * The form to read it as; by default every form that fits
   */
  as?: 'signedMessage' | 'unsignedMessage' | 'payload' | 'content' | 'justification';
}
/**
 * All readings of the bytes
 *
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "DecodeResult".
 */
export interface DecodeResult {
  /**
   * The message, if data is that of a SendWarpMessage log: the first reading is of it. In hex, without a prefix
   */
  logMessage?: string;
  /**
   * The likeliest first. The same bytes may be a valid payload and a valid content
   */
  readings: DecodedReading[];
}
/**
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "SignedMessageReading".
 */
export interface SignedMessageReading {
  as: 'signedMessage';
  /**
   * In cb58
   */
  messageId: string;
  networkId: number;
  /**
   * The name of a public network
   */
  network?: string;
  /**
   * In cb58
   */
  sourceBlockchainId: string;
  /**
   * P, X or C: a chain of the primary network
   */
  sourceChain?: string;
  payload: DecodedPayload;
  /**
   * Hex, without a prefix
   */
  unsignedMessage: string;
  signature: DecodedSignature;
}
/**
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "HashPayload".
 */
export interface HashPayload {
  kind: 'Hash';
  /**
   * Hex, without a prefix
   */
  hash: string;
}
/**
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "UnknownPayload".
 */
export interface UnknownPayload {
  kind: 'unknown';
  /**
   * Hex, without a prefix
   */
  bytes: string;
  /**
   * Why it is no known kind. Validators may sign it anyway
   */
  reason: string;
}
/**
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "DecodedSignature".
 */
export interface DecodedSignature {
  /**
   * Indices in the canonical validator set
   */
  signers: number[];
  /**
   * Hex, without a prefix
   */
  signature: string;
}
/**
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "UnsignedMessageReading".
 */
export interface UnsignedMessageReading {
  as: 'unsignedMessage';
  /**
   * In cb58
   */
  messageId: string;
  networkId: number;
  /**
   * The name of a public network
   */
  network?: string;
  /**
   * In cb58
   */
  sourceBlockchainId: string;
  /**
   * P, X or C: a chain of the primary network
   */
  sourceChain?: string;
  payload: DecodedPayload;
}
/**
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "PayloadReading".
 */
export interface PayloadReading {
  as: 'payload';
  payload: DecodedPayload;
}
/**
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "JustificationReading".
 */
export interface JustificationReading {
  as: 'justification';
  justification: DecodedJustification;
}
/**
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "SubnetIDIndex".
 */
export interface SubnetIDIndex {
  kind: 'SubnetIDIndex';
  /**
   * In cb58
   */
  subnetId: string;
  index: number;
  /**
   * In cb58
   */
  validationId: string;
}
/**
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "RegisterL1ValidatorMessage".
 */
export interface RegisterL1ValidatorMessage {
  kind: 'RegisterL1ValidatorMessage';
  /**
   * Hex, without a prefix
   */
  message: string;
  content?: DecodedContent;
  /**
   * In cb58
   */
  validationId?: string;
}
/**
 * A Warp message of a watched chain; with a destination, signed for it
 *
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "DeliveredMessage".
 */
export interface DeliveredMessage {
  /**
   * In cb58
   */
  messageId: string;
  networkId: number;
  /**
   * The name of a public network
   */
  network?: string;
  /**
   * In cb58
   */
  sourceBlockchainId: string;
  /**
   * P, X or C: a chain of the primary network
   */
  sourceChain?: string;
  payload: DecodedPayload;
  /**
   * Of a Teleporter message, in cb58: the blockchain that it is for
   */
  destinationBlockchainId?: string;
  /**
   * The contract or account that sent it: an EVM address, with 0x
   */
  sender: string;
  blockNumber: number;
  /**
   * With 0x
   */
  blockHash: string;
  /**
   * Timestamp of the block, Unix time in milliseconds
   */
  blockTime: number;
  /**
   * The transaction, with 0x
   */
  txHash: string;
  /**
   * Index of the log in its block
   */
  logIndex: number;
  /**
   * When the service first saw the block's receipts, Unix time in milliseconds
   */
  executedAt: number;
  /**
   * In hex, without a prefix. Events of signed messages leave it out: the signed message begins with it
   */
  unsignedMessage?: string;
  /**
   * `pending`: it is being signed; `signed`: it has a quorum; `failed`: it could not be signed until now, and is tried again
   */
  status: 'pending' | 'signed' | 'failed';
  failure?: MessageFailure;
  /**
   * The signed message in hex, without a prefix; this and the next fields if it is signed
   */
  signedMessage?: string;
  /**
   * When it was signed, Unix time in milliseconds
   */
  signedAt?: number;
  /**
   * The subnet whose validators signed, in cb58
   */
  signingSubnetId?: string;
  /**
   * The P-Chain height whose validators signed
   */
  pChainHeight?: number;
  /**
   * Weight of the signers
   */
  signedWeight?: string;
  /**
   * Weight of all validators of the subnet
   */
  totalWeight?: string;
  /**
   * Percent of the weight that signed, rounded down
   */
  quorumPercentage?: number;
  /**
   * With include=accessList: the access list (EIP-2930) of the transaction that delivers the message to an EVM chain
   */
  accessList?: {
    /**
     * The Warp precompile
     */
    address: string;
    /**
     * The signed message, one byte 0xff, and zeros up to whole words of 32 bytes, in hex with 0x
     */
    storageKeys: string[];
  }[];
  /**
   * Missing if nothing is known against the message
   */
  warnings?: DeliveryWarning[];
  epoch?: Epoch;
}
/**
 * Why a message has failed. It is tried again, less and less often, until it is removed
 *
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "MessageFailure".
 */
export interface MessageFailure {
  /**
   * The code of the last error, as POST has it
   */
  code: string;
  /**
   * Explanation
   */
  message: string;
  /**
   * Attempts so far
   */
  attempts: number;
  /**
   * End of the last attempt, Unix time in milliseconds
   */
  failedAt: number;
}
/**
 * What a delivery needs
 *
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "Delivery".
 */
export interface Delivery {
  /**
   * How the chain takes a signed message: in the access list of a transaction, in a transaction of the P-Chain, or not at all
   */
  form: 'access_list' | 'p_chain_transaction' | 'none';
  /**
   * The address in the access list
   */
  precompileAddress?: string;
  /**
   * What a delivery needs, in words
   */
  needs: string[];
}
/**
 * How a blockchain verifies messages
 *
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "Destination".
 */
export interface Destination {
  /**
   * In cb58
   */
  blockchainId: string;
  /**
   * The subnet that validates it, in cb58
   */
  subnetId: string;
  /**
   * Least percentage of the weight that must have signed
   */
  quorumPercentage: number;
  /**
   * Of its warp config; missing if it cannot be read
   */
  requirePrimaryNetworkSigners?: boolean;
  signers: DestinationSigners[];
  /**
   * The height at which messages without a destination are signed
   */
  proposedPChainHeight: number;
  epoch?: Epoch;
  /**
   * Missing if nothing is known against the message
   */
  warnings?: DeliveryWarning[];
  delivery: Delivery;
}
/**
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "DestinationSigners".
 */
export interface DestinationSigners {
  /**
   * The chains whose messages these validators must sign
   */
  sources: 'p_chain' | 'c_and_x_chain' | 'other_chains';
  /**
   * `source_subnet`: the subnet of the source chain signs; `destination_subnet`: the source chain is of the primary network, and the destination verifies its messages with the destination's own subnet; `primary_network`: the source chain is the C-Chain or the X-Chain, and the destination's warp config has requirePrimaryNetworkSigners
   */
  signingRule?: 'source_subnet' | 'destination_subnet' | 'primary_network';
  /**
   * In cb58; missing if it differs from source to source, or cannot be determined
   */
  signingSubnetId?: string;
  /**
   * Whether the validators at the proposed height differ from those at the height of the epoch; missing if that cannot be said
   */
  isProposedSetDifferent?: boolean;
}
/**
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "Error".
 */
export interface Error {
  /**
   * What is wrong, and what is allowed
   */
  message: string;
  /**
   * The HTTP status
   */
  statusCode: number;
  /**
   * The reason phrase of the status
   */
  error: string;
  code: ErrorCode;
}
/**
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "ExpiredCursor".
 */
export interface ExpiredCursor {
  /**
   * Where a cursor has expired: the cursor of the oldest stored messages
   */
  oldestCursor?: string;
}
/**
 * The end: messages after the cursor were removed, or never stored by a service that has restarted, or the cursor is of an earlier version
 *
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "ExpiredEvent".
 */
export interface ExpiredEvent {
  message: string;
  /**
   * The cursor of the oldest messages that are stored
   */
  oldestCursor: string;
}
/**
 * How far a watched chain was read
 *
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "FeedChain".
 */
export interface FeedChain {
  /**
   * In cb58
   */
  blockchainId: string;
  watermark: FeedWatermark;
  /**
   * A second reading, some minutes after the first, has found all messages up to this block
   */
  confirmed: number;
  /**
   * All messages up to this block are signed or failed
   */
  signedThrough: number;
}
/**
 * All blocks up to this one were read
 *
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "FeedWatermark".
 */
export interface FeedWatermark {
  blockNumber: number;
  /**
   * With 0x
   */
  blockHash: string;
  /**
   * Timestamp of the block, Unix time in milliseconds
   */
  blockTime: number;
}
/**
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "FeedError".
 */
export interface FeedError {
  /**
   * What is wrong, and what is allowed
   */
  message: string;
  details?: ExpiredCursor;
  /**
   * The HTTP status
   */
  statusCode: number;
  /**
   * The reason phrase of the status
   */
  error: string;
  code: ErrorCode;
}
/**
 * A Warp message of a watched chain
 *
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "FeedMessage".
 */
export interface FeedMessage {
  /**
   * In cb58
   */
  messageId: string;
  networkId: number;
  /**
   * The name of a public network
   */
  network?: string;
  /**
   * In cb58
   */
  sourceBlockchainId: string;
  /**
   * P, X or C: a chain of the primary network
   */
  sourceChain?: string;
  payload: DecodedPayload;
  /**
   * Of a Teleporter message, in cb58: the blockchain that it is for
   */
  destinationBlockchainId?: string;
  /**
   * The contract or account that sent it: an EVM address, with 0x
   */
  sender: string;
  blockNumber: number;
  /**
   * With 0x
   */
  blockHash: string;
  /**
   * Timestamp of the block, Unix time in milliseconds
   */
  blockTime: number;
  /**
   * The transaction, with 0x
   */
  txHash: string;
  /**
   * Index of the log in its block
   */
  logIndex: number;
  /**
   * When the service first saw the block's receipts, Unix time in milliseconds
   */
  executedAt: number;
  /**
   * In hex, without a prefix. Events of signed messages leave it out: the signed message begins with it
   */
  unsignedMessage?: string;
  /**
   * `pending`: it is being signed; `signed`: it has a quorum; `failed`: it could not be signed until now, and is tried again
   */
  status: 'pending' | 'signed' | 'failed';
  failure?: MessageFailure;
  /**
   * The signed message in hex, without a prefix; this and the next fields if it is signed
   */
  signedMessage?: string;
  /**
   * When it was signed, Unix time in milliseconds
   */
  signedAt?: number;
  /**
   * The subnet whose validators signed, in cb58
   */
  signingSubnetId?: string;
  /**
   * The P-Chain height whose validators signed
   */
  pChainHeight?: number;
  /**
   * Weight of the signers
   */
  signedWeight?: string;
  /**
   * Weight of all validators of the subnet
   */
  totalWeight?: string;
  /**
   * Percent of the weight that signed, rounded down
   */
  quorumPercentage?: number;
  /**
   * With include=accessList: the access list (EIP-2930) of the transaction that delivers the message to an EVM chain
   */
  accessList?: {
    /**
     * The Warp precompile
     */
    address: string;
    /**
     * The signed message, one byte 0xff, and zeros up to whole words of 32 bytes, in hex with 0x
     */
    storageKeys: string[];
  }[];
  /**
   * Missing if nothing is known against the message
   */
  warnings?: DeliveryWarning[];
}
/**
 * Every few seconds: how far the chains were read
 *
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "WatermarkEvent".
 */
export interface WatermarkEvent {
  /**
   * The chains of the query; none while stored messages are being sent. All messages up to `signedThrough` were sent on this connection, or before its cursor
   */
  chains: FeedChain[];
}
/**
 * The end: the client does not read fast enough. Resume with the cursor
 *
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "LaggingEvent".
 */
export interface LaggingEvent {
  message: string;
}
/**
 * What was removed
 *
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "ForgottenChain".
 */
export interface ForgottenChain {
  /**
   * Messages that were removed
   */
  removed: number;
}
/**
 * What the validator manager asks of the P-Chain
 *
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "InitiatedMessage".
 */
export interface InitiatedMessage {
  kind: 'RegisterL1Validator' | 'L1ValidatorWeight';
  /**
   * In cb58
   */
  messageId: string;
  /**
   * The chain of the manager, in cb58
   */
  blockchainId: string;
  /**
   * With 0x
   */
  txHash: string;
  /**
   * A decimal number, which may exceed 2^53
   */
  weight: string;
  /**
   * A decimal number, which may exceed 2^53
   */
  nonce?: string;
  /**
   * Unix time in seconds, from which on the P-Chain refuses the registration
   */
  expiry?: number;
  /**
   * The same as a date
   */
  expiryTime?: string;
}
/**
 * Part of the total weight that cannot sign: validators without a BLS key, and inactive ones
 *
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "KeylessWeight".
 */
export interface KeylessWeight {
  /**
   * A decimal number, which may exceed 2^53
   */
  weight: string;
  count: number;
}
/**
 * Outcome of the last signature request; missing if there was none
 *
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "LastAnswer".
 */
export interface LastAnswer {
  outcome: 'signed' | 'refused' | 'timed_out' | 'unreachable' | 'invalid_signature';
  /**
   * it was asked and did not answer in time. Reason `no_answer`: nothing came; `request_dropped`: it answers pings, but drops requests for this blockchain; `request_ended`: the request ended first
   */
  reason?: 'no_answer' | 'request_dropped';
  /**
   * Milliseconds ago
   */
  ageMs: number;
}
/**
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "LastRefusal".
 */
export interface LastRefusal {
  /**
   * The validator's own error code
   */
  code: number;
  /**
   * The validator's own words
   */
  text: string;
  /**
   * Milliseconds ago
   */
  ageMs: number;
}
/**
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "ListedSubnet".
 */
export interface ListedSubnet {
  subnetId: string;
  status: 'up' | 'down';
  /**
   * Why it is down, or what is wrong although it is up
   */
  reason?: string;
  /**
   * A decimal number, which may exceed 2^53
   */
  connectedWeight?: string;
  /**
   * A decimal number, which may exceed 2^53
   */
  totalWeight?: string;
  /**
   * Whether the operator has it connected permanently
   */
  isTracked: boolean;
}
/**
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "ListedUptime".
 */
export interface ListedUptime {
  /**
   * In cb58
   */
  validationId: string;
  nodeId: string;
  /**
   * A decimal number, which may exceed 2^53
   */
  weight: string;
  /**
   * The highest uptime that the quorum signs
   */
  uptimeSeconds?: number;
  /**
   * The signed ValidatorUptime message in hex, for submitUptimeProof of the staking manager
   */
  signedMessage?: string;
  failure?: UptimeFailure;
}
/**
 * Why no uptime is signed
 *
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "UptimeFailure".
 */
export interface UptimeFailure {
  code: string;
  message: string;
}
/**
 * Messages of watched chains
 *
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "MessagePage".
 */
export interface MessagePage {
  /**
   * In the order of their last changes; those of a first page, or of the first one at another replica, in order per chain
   */
  messages: FeedMessage[];
  /**
   * The cursor of the next page
   */
  nextCursor: string;
  /**
   * Whether more messages may be stored after the page. If not, ask again some time later
   */
  hasMore: boolean;
  /**
   * The chains of the query
   */
  chains: FeedChain[];
}
/**
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "MessageSigner".
 */
export interface MessageSigner {
  index: number;
  weight: string;
  nodeIds: string[];
}
/**
 * Weight of the validators by outcome: decimal numbers, which together are the weight of the set. Missing if no validator set was asked
 *
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "OutcomeWeights".
 */
export interface OutcomeWeights {
  /**
   * Validator: its signature is good
   */
  signed: string;
  /**
   * Validator: its last answer was an error, with its own code and text; it may have been asked again since
   */
  refused: string;
  /**
   * Validator: it was asked and did not answer in time. Reason `no_answer`: nothing came; `request_dropped`: it answers pings, but drops requests for this blockchain; `request_ended`: the request ended first
   */
  timed_out: string;
  /**
   * Validator: there is no connection; the reason says why
   */
  unreachable: string;
  /**
   * Validator: it sent no valid signature of this message; the reason says what is wrong
   */
  invalid_signature: string;
  /**
   * Validator: it was not asked. Reason `queue_full`: too many requests wait to be sent
   */
  not_asked: string;
  /**
   * Validator: its weight counts in the total, and it cannot sign. Reason `no_key`: it has no BLS key; `inactive`: the inactive L1 validators, whose balance has run out, as one entry under the NodeID of zero bytes
   */
  no_key: string;
}
/**
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "RecordedSpan".
 */
export interface RecordedSpan {
  /**
   * Unix time in milliseconds at which it begins
   */
  start: number;
  /**
   * Collections that ended signed and in which it was asked, or was not connected when it would have been asked
   */
  asked: number;
  signed: number;
  /**
   * It refused what others signed
   */
  refused: number;
  /**
   * It gave no answer in time
   */
  timedOut: number;
  /**
   * It was not connected
   */
  unreachable: number;
  /**
   * it sent no valid signature of this message
   */
  invalidSignature: number;
  /**
   * Not in `asked`: it had failed shortly before, so others were asked in its place
   */
  notAsked: number;
  /**
   * signed / (asked + notAsked). Missing if there was no question, which is no fault
   */
  signedShare?: number;
  /**
   * Median of the times of its signatures and refusals, from a histogram with steps of the factor 1.4
   */
  medianMs?: number;
  /**
   * 95th percentile of the times of its signatures and refusals, from a histogram with steps of the factor 1.4
   */
  p95Ms?: number;
  /**
   * Share of the time for which it was connected, sampled once a minute
   */
  connectedShare?: number;
}
/**
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "RecordedValidator".
 */
export interface RecordedValidator {
  /**
   * BLS key of 48 bytes in hex: the record belongs to it
   */
  publicKey: string;
  /**
   * All present nodes with this key
   */
  nodeIds: string[];
  /**
   * Its present weight
   */
  weight: string;
  /**
   * Collections that ended signed and in which it was asked, or was not connected when it would have been asked
   */
  asked: number;
  signed: number;
  /**
   * It refused what others signed
   */
  refused: number;
  /**
   * It gave no answer in time
   */
  timedOut: number;
  /**
   * It was not connected
   */
  unreachable: number;
  /**
   * it sent no valid signature of this message
   */
  invalidSignature: number;
  /**
   * Not in `asked`: it had failed shortly before, so others were asked in its place
   */
  notAsked: number;
  /**
   * signed / (asked + notAsked). Missing if there was no question, which is no fault
   */
  signedShare?: number;
  /**
   * Median of the times of its signatures and refusals, from a histogram with steps of the factor 1.4
   */
  medianMs?: number;
  /**
   * 95th percentile of the times of its signatures and refusals, from a histogram with steps of the factor 1.4
   */
  p95Ms?: number;
  /**
   * Share of the time for which it was connected, sampled once a minute
   */
  connectedShare?: number;
}
/**
 * What the range has
 *
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "Replay".
 */
export interface Replay {
  /**
   * Messages of the range that pass the filters of the chain
   */
  found: number;
  /**
   * Those that were not stored before
   */
  added: number;
}
/**
 * Recent requests for signatures
 *
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "RequestList".
 */
export interface RequestList {
  /**
   * The newest first, by `endedAt`; without `details`, which the record of a single request has
   */
  requests: RequestRecord[];
}
/**
 * What happened to a request for a signature
 *
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "RequestRecord".
 */
export interface RequestRecord {
  /**
   * The x-request-id of the request
   */
  id: string;
  /**
   * Unix time in milliseconds of its end
   */
  endedAt: number;
  /**
   * Time from its headers to the end of the answer
   */
  durationMs: number;
  stages: RequestStages;
  /**
   * The client as rate limits count it: `key:` and the name of its API key, or `address:` and its network
   */
  client: string;
  method: string;
  /**
   * The path of the route, with the names of its parameters
   */
  route: string;
  /**
   * Missing, like the next fields, if the request was refused before it was known
   */
  network?: string;
  /**
   * The ID of the message, in cb58, where it is known
   */
  messageId?: string;
  /**
   * The transaction that the request names: an EVM hash with 0x, or the ID of a P-Chain transaction in cb58
   */
  txHash?: string;
  /**
   * The same as txHash, its earlier name
   */
  transaction?: string;
  /**
   * In cb58
   */
  sourceChainId?: string;
  /**
   * In cb58
   */
  signingSubnetId?: string;
  /**
   * The blockchain that verifies the message, in cb58, where it is known
   */
  destinationBlockchainId?: string;
  /**
   * The P-Chain height that the request names
   */
  requestedPChainHeight?: number;
  /**
   * The P-Chain height whose validators were asked
   */
  pChainHeight?: number;
  quorumPercentage?: number;
  quorumPercentageBuffer?: number;
  /**
   * `signed`, the code of the error, or `aborted`: the client disconnected before the answer
   */
  outcome:
    | 'signed'
    | 'aborted'
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
    | 'network_unavailable'
    | 'upstream_not_configured'
    | 'upstream_unreachable'
    | 'upstream_invalid_answer'
    | 'upstream_timeout'
    | 'upstream_failing'
    | 'upstream_overloaded'
    | 'upstream_error'
    | 'unknown_network'
    | 'not_found'
    | 'unknown_request'
    | 'feed_not_configured'
    | 'unknown_message'
    | 'cursor_expired'
    | 'not_recorded'
    | 'unknown_validator'
    | 'unauthorized'
    | 'forbidden'
    | 'rate_limited'
    | 'body_too_large'
    | 'unsupported_media_type'
    | 'unsupported_transfer_coding'
    | 'headers_too_large'
    | 'request_timeout'
    | 'internal_error';
  /**
   * The HTTP status; missing if no answer was begun
   */
  status?: number;
  /**
   * The error text of the answer; the first 500 characters of a longer one
   */
  errorMessage?: string;
  weights?: OutcomeWeights;
  details?: AggregationDetails | SentMessages;
}
/**
 * Milliseconds of each stage. resolve: finding the validator set; connect: until a validator could be asked; collect: until the quorum was reached or out of reach; verify: checking the signature; execution: until the transaction was accepted and executed. The rest of the duration is waiting: for a permit, for another replica that has the same work, for the body. A stage that did not occur is missing
 *
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "RequestStages".
 */
export interface RequestStages {
  resolve?: number;
  connect?: number;
  collect?: number;
  verify?: number;
  execution?: number;
}
/**
 * A message about the validation that can be signed now
 *
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "SignableMessage".
 */
export interface SignableMessage {
  kind: 'RegisterL1Validator' | 'L1ValidatorRegistration' | 'L1ValidatorWeight';
  /**
   * Who verifies it
   */
  to: 'p_chain' | 'manager';
  request: SigningRequest;
}
/**
 * The request that signs it
 *
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "SigningRequest".
 */
export interface SigningRequest {
  method: 'GET' | 'POST';
  path: string;
  body?: SigningBody;
}
/**
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "SigningBody".
 */
export interface SigningBody {
  /**
   * In hex
   */
  message?: string;
  /**
   * In hex
   */
  justification?: string;
  /**
   * In cb58
   */
  destinationBlockchainId?: string;
}
/**
 * Signed, verified message
 *
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "SignedMessage".
 */
export interface SignedMessage {
  /**
   * The signed Warp message in hex, without a prefix
   */
  signedMessage: string;
  /**
   * The P-Chain height whose validators signed
   */
  pChainHeight: number;
  /**
   * The subnet whose validators signed, in cb58
   */
  signingSubnetId: string;
  /**
   * Weight of the signers
   */
  signedWeight: string;
  /**
   * Weight of all validators of the subnet, of which the quorum is a part
   */
  totalWeight: string;
  /**
   * NodeIDs of the signers in canonical order, one for each BLS key
   */
  signers: string[];
  epoch?: Epoch;
  /**
   * Missing if nothing is known against the message
   */
  warnings?: DeliveryWarning[];
  /**
   * With include=accessList: the access list (EIP-2930) of the transaction that delivers the message to an EVM chain
   */
  accessList?: {
    /**
     * The Warp precompile
     */
    address: string;
    /**
     * The signed message, one byte 0xff, and zeros up to whole words of 32 bytes, in hex with 0x
     */
    storageKeys: string[];
  }[];
}
/**
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "SigningHour".
 */
export interface SigningHour {
  /**
   * Unix time in milliseconds at which it begins
   */
  start: number;
  /**
   * Weight that signed in this hour: the weight of each validator by its signedShare, or without a question by its connectedShare
   */
  signingWeight: string;
}
/**
 * What the present validators of a subnet did in collections that ended signed
 *
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "SubnetHistory".
 */
export interface SubnetHistory {
  subnetId: string;
  /**
   * Unix time in milliseconds of the first hour or day that is counted
   */
  since: number;
  /**
   * A decimal number, which may exceed 2^53
   */
  totalWeight: string;
  /**
   * The last 48 hours that have a record, whatever `since` is; without `store.path`, 24
   */
  hours: SigningHour[];
  /**
   * The worst first: by weight and the share of collections in which it did not sign
   */
  validators: RecordedValidator[];
  /**
   * The pageToken of the next page, if there is one
   */
  nextPageToken?: string;
}
/**
 * The primary network, the tracked subnets, and recently requested ones
 *
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "SubnetList".
 */
export interface SubnetList {
  subnets: ListedSubnet[];
  /**
   * The pageToken of the next page, if there is one
   */
  nextPageToken?: string;
}
/**
 * Uptimes of the active validators of an L1
 *
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "SubnetUptimes".
 */
export interface SubnetUptimes {
  /**
   * In cb58
   */
  subnetId: string;
  /**
   * In the order of their validation IDs
   */
  validators: ListedUptime[];
  /**
   * The pageToken of the next page, if there is one
   */
  nextPageToken?: string;
}
/**
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "SubnetValidator".
 */
export interface SubnetValidator {
  /**
   * `signable`: connected, and its last answer was good; `doubtful`: connected, but its last request ended without an answer, with an invalid signature, or with a refusal not caused by the message; `unreachable`: not connected; `inactive`: no balance left
   */
  status: 'signable' | 'doubtful' | 'unreachable' | 'inactive';
  /**
   * Why it is not signable
   */
  reason?: string;
  /**
   * Its bit in the set of signers; missing of an inactive one
   */
  index?: number;
  /**
   * A decimal number, which may exceed 2^53
   */
  weight: string;
  /**
   * BLS key of 48 bytes in hex; missing of an inactive one
   */
  publicKey?: string;
  /**
   * All nodes with this key: any of them can sign for the whole weight
   */
  nodes: ValidatorNode[];
}
/**
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "ValidatorNode".
 */
export interface ValidatorNode {
  nodeId: string;
  /**
   * Whether requests can be sent to it now
   */
  isConnected: boolean;
  obstacle?: ConnectionObstacle;
  /**
   * IP address and port, as the node has signed them and peers pass them on
   */
  address?: string;
  /**
   * Name and version of its software, of a connected node
   */
  version?: string;
  lastAnswer?: LastAnswer;
  latency?: AnswerLatency;
  lastRefusal?: LastRefusal;
  /**
   * Validation ID of an L1 validator
   */
  validationId?: string;
  /**
   * Balance of an L1 validator in nAVAX, at most 30 seconds old; a validator with 0 is inactive
   */
  balance?: string;
}
/**
 * The validators of a subnet and their state
 *
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "SubnetView".
 */
export interface SubnetView {
  subnetId: string;
  /**
   * The P-Chain height whose validators these are
   */
  pChainHeight: number;
  /**
   * A decimal number, which may exceed 2^53
   */
  totalWeight: string;
  /**
   * Weight of connected validators
   */
  connectedWeight: string;
  /**
   * The same without validators whose last request ended without an answer
   */
  reachableWeight: string;
  /**
   * Weight of signable validators
   */
  signableWeight: string;
  /**
   * The highest quorum that could be signed now, in percent
   */
  highestQuorum: number;
  withoutKey: KeylessWeight;
  /**
   * The heaviest first, then inactive ones
   */
  validators: SubnetValidator[];
  /**
   * The pageToken of the next page, if there is one
   */
  nextPageToken?: string;
}
/**
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "UnknownField".
 */
export interface UnknownField {
  field:
    | 'subnetId'
    | 'nodeId'
    | 'registered'
    | 'removed'
    | 'weight'
    | 'minNonce'
    | 'balance'
    | 'expired'
    | 'registrableUntil'
    | 'initiated';
  reason: string;
}
/**
 * Signed, verified ValidatorUptime message
 *
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "UptimeProof".
 */
export interface UptimeProof {
  /**
   * The signed Warp message in hex, without a prefix
   */
  signedMessage: string;
  /**
   * The P-Chain height whose validators signed
   */
  pChainHeight: number;
  /**
   * The subnet whose validators signed, in cb58
   */
  signingSubnetId: string;
  /**
   * Weight of the signers
   */
  signedWeight: string;
  /**
   * Weight of all validators of the subnet, of which the quorum is a part
   */
  totalWeight: string;
  /**
   * NodeIDs of the signers in canonical order, one for each BLS key
   */
  signers: string[];
  epoch?: Epoch;
  /**
   * Missing if nothing is known against the message
   */
  warnings?: DeliveryWarning[];
  /**
   * With include=accessList: the access list (EIP-2930) of the transaction that delivers the message to an EVM chain
   */
  accessList?: {
    /**
     * The Warp precompile
     */
    address: string;
    /**
     * The signed message, one byte 0xff, and zeros up to whole words of 32 bytes, in hex with 0x
     */
    storageKeys: string[];
  }[];
  /**
   * In cb58
   */
  validationId: string;
  /**
   * The L1's chain whose nodes signed, in cb58
   */
  blockchainId: string;
  /**
   * The highest uptime that the quorum signs
   */
  uptimeSeconds: number;
}
/**
 * What the P-Chain, its blocks and the feed know of an L1 validation
 *
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "Validation".
 */
export interface Validation {
  /**
   * In cb58
   */
  validationId: string;
  /**
   * `initiated`: the manager sent the registration, which the P-Chain may still accept; `active` and `inactive`: a validator, with and without a balance; `removed`: it was one; `expired`: the registration did not reach the P-Chain in time, as far as is known; `unknown`: nothing is known
   */
  state: 'initiated' | 'active' | 'inactive' | 'removed' | 'expired' | 'unknown';
  subnetId: string | null;
  nodeId: string | null;
  /**
   * The chain of the validator manager, in cb58
   */
  managerBlockchainId?: string;
  registered: boolean | null;
  removed: boolean | null;
  weight: string | null;
  minNonce: string | null;
  balance: string | null;
  expired: boolean | null;
  registrableUntil: number | null;
  initiated: InitiatedMessage[] | null;
  /**
   * Why fields are null
   */
  reasons: UnknownField[];
  signable: SignableMessage[];
  /**
   * What comes next, for people
   */
  next: string;
}
/**
 * What a validator did in collections that ended signed, by hour and by day
 *
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "ValidatorHistory".
 */
export interface ValidatorHistory {
  subnetId: string;
  /**
   * A decimal number, which may exceed 2^53
   */
  totalWeight: string;
  /**
   * BLS key of 48 bytes in hex: the record belongs to it
   */
  publicKey: string;
  /**
   * All present nodes with this key
   */
  nodeIds: string[];
  /**
   * Its present weight
   */
  weight: string;
  /**
   * The last 48 hours that have a record, in UTC; without `store.path`, 24
   */
  hours: RecordedSpan[];
  /**
   * The last 90 days that have a record, in UTC; without `store.path`, the present day
   */
  days: RecordedSpan[];
}
/**
 * The first problem that a destination would find
 *
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "VerificationProblem".
 */
export interface VerificationProblem {
  kind: 'no signers' | 'unknown signer' | 'insufficient weight' | 'malformed signature' | 'wrong signature';
  /**
   * Explanation
   */
  text: string;
}
/**
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "VerificationRequest".
 */
export interface VerificationRequest {
  /**
   * The signed Warp message in hex, with an optional 0x prefix; ABI-encoded as the data of a log, too
   */
  signedMessage: string;
  /**
   * The subnet whose validators sign, in hex or cb58; the default is the one that the destination accepts, without a destination the subnet of the source chain, and without a message the subnet that validates the chain of the L1's validator manager. An empty string counts as none
   */
  signingSubnetId?: string;
  /**
   * Percentage of the signing subnet's weight that must sign; with a destination, the default is the destination's; default: 67
   */
  quorumPercentage?: number;
  /**
   * The P-Chain height of the validators; 0 is the proposed height; default: 0
   */
  pChainHeight?: number;
  /**
   * The blockchain that verifies, in hex or cb58: the P-Chain height is then that of its current epoch, unless pChainHeight is given
   */
  destinationBlockchainId?: string;
}
/**
 * The verdict of a destination on the message
 *
 * This interface was referenced by `Unused`'s JSON-Schema
 * via the `definition` "VerificationResult".
 */
export interface VerificationResult {
  /**
   * Whether a destination would accept it
   */
  isValid: boolean;
  problem?: VerificationProblem;
  /**
   * In cb58
   */
  messageId: string;
  networkId: number;
  /**
   * The name of a public network
   */
  network?: string;
  /**
   * In cb58
   */
  sourceBlockchainId: string;
  /**
   * P, X or C: a chain of the primary network
   */
  sourceChain?: string;
  payload: DecodedPayload;
  /**
   * The subnet whose validators must have signed, in cb58
   */
  signingSubnetId: string;
  /**
   * Why this subnet: `named`: the request names the subnet; `source_subnet`: the subnet of the source chain signs; `destination_subnet`: the source chain is of the primary network, and the destination verifies its messages with the destination's own subnet; `primary_network`: the source chain is the C-Chain or the X-Chain, and the destination's warp config has requirePrimaryNetworkSigners
   */
  signingRule: 'named' | 'source_subnet' | 'destination_subnet' | 'primary_network';
  /**
   * The blockchain that verifies the message, if it is known
   */
  destinationBlockchainId?: string;
  /**
   * The P-Chain height whose validators were used
   */
  pChainHeight: number;
  quorumPercentage: number;
  /**
   * Weight of the signers
   */
  signedWeight: string;
  /**
   * Weight that the quorum needs
   */
  neededWeight: string;
  /**
   * Weight of all validators of the subnet
   */
  totalWeight: string;
  /**
   * The signers that the message names; they have signed if it is valid
   */
  signers: MessageSigner[];
  epoch?: Epoch;
  /**
   * Missing if nothing is known against the message
   */
  warnings?: DeliveryWarning[];
}
