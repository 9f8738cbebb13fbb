import type { AggregatorErrorCode } from '../../aggregation/aggregator-error.ts';
import type { UpstreamErrorCode } from '../../proxy/client/upstream-error.ts';

/** Codes that only the HTTP side raises. */
export type ApiErrorCode =
  | 'unknown_network'
  | 'not_found'
  | 'unknown_request'
  | 'unauthorized'
  | 'forbidden'
  | 'rate_limited'
  | 'body_too_large'
  | 'unsupported_media_type'
  | 'unsupported_transfer_coding'
  | 'headers_too_large'
  | 'request_timeout'
  | 'upstream_error'
  | 'internal_error';

/** Every `code` of an error body. Stable: programs depend on it. */
export type ErrorCode = AggregatorErrorCode | UpstreamErrorCode | ApiErrorCode;

/** Every status of an error that the service raises itself. */
export type ErrorStatus = 400 | 401 | 403 | 404 | 408 | 413 | 415 | 429 | 431 | 500 | 501 | 502 | 503;

/**
 * Whether the same request may be sent again:
 * - `never`: it always fails
 * - `after_change`: it fails until what the code names has changed
 * - `may_pass`: it may succeed later; Retry-After has the time if it is known
 */
export type RetryAdvice = 'never' | 'after_change' | 'may_pass';

/** The part of the service that raises a code: `api` on every route, `body` on those with a body, the others where they are used. */
export type ErrorOrigin = 'aggregator' | 'upstream' | 'api' | 'body' | 'requests';

export interface ErrorCodeEntry {
  /** `as_upstream`: the upstream's status, 400 or higher. */
  readonly status: ErrorStatus | 'as_upstream';
  readonly meaning: string;
  readonly retry: RetryAdvice;
  readonly action: string;
  /** Determines the routes on which the code may appear. */
  readonly raisedBy: readonly ErrorOrigin[];
  /** Retry-After of errors that have none. */
  readonly retryAfterMs?: number;
}

/** Meaning and status of each code; docs/errors.md is generated from it. */
export const ERROR_CODES: Readonly<Record<ErrorCode, ErrorCodeEntry>> = {
  invalid_request: {
    raisedBy: ['aggregator', 'api'],
    status: 400,
    meaning: 'The request is wrong; the message names the field or parameter and says what is allowed',
    retry: 'never',
    action: 'Correct the request',
  },
  wrong_network: {
    raisedBy: ['aggregator'],
    status: 400,
    meaning: "The message's network ID is not that of the network in the path",
    retry: 'never',
    action: "Send the message under its own network's name",
  },
  height_not_reached: {
    raisedBy: ['aggregator'],
    status: 400,
    meaning: 'The given P-Chain height is above the height of the chain',
    retry: 'after_change',
    action: 'Leave the height out, or wait until the P-Chain has reached it',
  },
  no_message_in_transaction: {
    raisedBy: ['aggregator'],
    status: 400,
    meaning:
      'The transaction exists, but the P-Chain signs no message about it, or it is of an EVM chain and sent no message: ' +
      'the error says what it did',
    retry: 'never',
    action:
      'Give the ID of a transaction that converts a subnet, that registers, changes or removes an L1 validator, or that ' +
      'sends a Warp message',
  },
  several_messages: {
    raisedBy: ['aggregator'],
    status: 400,
    meaning: 'The EVM transaction sent several messages; details list them',
    retry: 'never',
    action: 'Choose one by the parameter logIndex',
  },
  message_superseded: {
    raisedBy: ['aggregator'],
    status: 400,
    meaning: 'The P-Chain no longer confirms this message: a later change overtook it, or the validator was removed',
    retry: 'never',
    action: 'Ask for the message of the latest change',
  },
  validation_not_over: {
    raisedBy: ['aggregator'],
    status: 400,
    meaning: 'The message says that a validation has ended, but it still exists',
    retry: 'after_change',
    action: 'Ask again after the validator was removed',
  },
  signing_refused: {
    raisedBy: ['aggregator'],
    status: 400,
    meaning: 'So much weight refuses to sign that the quorum is out of reach, for reasons that no later block changes',
    retry: 'never',
    action: 'Read the reasons in details; check that the source chain really sent this message',
  },
  subnet_not_allowed: {
    raisedBy: ['aggregator'],
    status: 403,
    meaning: 'This service does not ask the validators of that subnet',
    retry: 'after_change',
    action: 'Ask the operator to allow the subnet, or use another service',
  },
  unknown_source_chain: {
    raisedBy: ['aggregator'],
    status: 404,
    meaning: 'The P-Chain knows no blockchain with the ID of the source chain',
    retry: 'after_change',
    action: 'Check the network and the ID',
  },
  unknown_subnet: {
    raisedBy: ['aggregator'],
    status: 404,
    meaning: 'The P-Chain knows no such subnet',
    retry: 'after_change',
    action: 'Check the network and the ID',
  },
  unknown_transaction: {
    raisedBy: ['aggregator'],
    status: 404,
    meaning: 'None of the chains that were asked has accepted such a transaction',
    retry: 'may_pass',
    action: 'Check the network, the ID and blockchainId; ask again once the transaction was accepted',
  },
  unknown_validation: {
    raisedBy: ['aggregator'],
    status: 404,
    meaning: 'The P-Chain has no L1 validator with this validation ID, or no longer has it',
    retry: 'after_change',
    action: 'Check the network and the ID',
  },
  justification_not_found: {
    raisedBy: ['aggregator'],
    status: 404,
    meaning: 'The message needs a justification, which was not given and could not be found',
    retry: 'after_change',
    action: 'Send the justification with the message',
  },
  justification_pending: {
    raisedBy: ['aggregator'],
    status: 503,
    meaning: 'The message needs a justification, and the service is still searching for it',
    retry: 'may_pass',
    action: 'Ask again after Retry-After, or send the justification',
  },
  no_validators_yet: {
    raisedBy: ['aggregator'],
    status: 503,
    meaning: 'The signing subnet has no validators yet at the P-Chain height of the request',
    retry: 'may_pass',
    action: 'Ask again after Retry-After',
  },
  not_connected: {
    raisedBy: ['aggregator'],
    status: 503,
    meaning: 'The connected validators have too little weight to reach the quorum',
    retry: 'may_pass',
    action: 'Ask again after Retry-After',
  },
  insufficient_weight: {
    raisedBy: ['aggregator'],
    status: 500,
    meaning: 'Too little weight signed; details list what each validator did',
    retry: 'may_pass',
    action: 'Read the reasons in details; ask again after Retry-After',
  },
  p_chain_unavailable: {
    raisedBy: ['aggregator'],
    status: 503,
    meaning: 'The P-Chain API did not answer',
    retry: 'may_pass',
    action: 'Ask again after Retry-After',
  },
  p_chain_invalid: {
    raisedBy: ['aggregator'],
    status: 502,
    meaning: 'The P-Chain API sent an invalid answer',
    retry: 'may_pass',
    action: 'Ask again later; tell the operator if it persists',
  },
  chain_rpc_unavailable: {
    raisedBy: ['aggregator'],
    status: 503,
    meaning: 'The RPC of the EVM chain did not answer',
    retry: 'may_pass',
    action: 'Ask again after Retry-After',
  },
  chain_rpc_invalid: {
    raisedBy: ['aggregator'],
    status: 502,
    meaning: 'The RPC of the EVM chain sent an invalid answer, or there is none for this chain',
    retry: 'may_pass',
    action: 'Check blockchainId; tell the operator if it persists, who can set networks.NAME.chainRpc',
  },
  overloaded: {
    raisedBy: ['aggregator', 'body'],
    status: 503,
    meaning:
      'The service sheds load: the limit of running requests, the share of a client or subnet, or the limit of buffered bytes is reached; or too many requests of the client named what does not exist',
    retry: 'may_pass',
    action: 'Ask again after Retry-After',
  },
  network_unavailable: {
    raisedBy: ['aggregator'],
    status: 503,
    meaning: 'The network is configured but not usable now: it is starting, or its API belongs to another network',
    retry: 'may_pass',
    action: 'Ask again after Retry-After; /health/ready says why',
  },
  upstream_not_configured: {
    raisedBy: ['upstream'],
    status: 503,
    meaning: 'The route exists, but no upstream is configured for it',
    retry: 'after_change',
    action: 'Ask the operator to configure it',
  },
  upstream_unreachable: {
    raisedBy: ['upstream'],
    status: 502,
    meaning: 'No connection to the upstream could be made, or it broke',
    retry: 'may_pass',
    action: 'Ask again later',
  },
  upstream_invalid_answer: {
    raisedBy: ['upstream'],
    status: 502,
    meaning: 'The upstream sent an answer that cannot be forwarded',
    retry: 'may_pass',
    action: 'Ask again later; tell the operator if it persists',
  },
  upstream_timeout: {
    raisedBy: ['upstream'],
    status: 503,
    meaning: 'The upstream did not answer in time',
    retry: 'may_pass',
    action: 'Ask again after Retry-After',
    retryAfterMs: 5_000,
  },
  upstream_failing: {
    raisedBy: ['upstream'],
    status: 503,
    meaning: 'The upstream failed repeatedly, and requests to it are suspended for some time',
    retry: 'may_pass',
    action: 'Ask again after Retry-After',
  },
  upstream_overloaded: {
    raisedBy: ['upstream'],
    status: 503,
    meaning: 'All connections to the upstream are in use',
    retry: 'may_pass',
    action: 'Ask again after Retry-After',
  },
  upstream_error: {
    raisedBy: ['upstream'],
    status: 'as_upstream',
    meaning: 'The upstream refused the request; its status and message are forwarded',
    retry: 'may_pass',
    action: 'Decide by the status: 408, 429 and 5xx may pass, others will not',
  },
  unknown_network: {
    raisedBy: ['api'],
    status: 404,
    meaning: 'This service does not serve the network in the path; the message lists those that it serves',
    retry: 'never',
    action: 'Use one of the names in the message',
  },
  not_found: {
    raisedBy: ['api'],
    status: 404,
    meaning: 'There is no such route',
    retry: 'never',
    action: 'See /openapi.json for the routes',
  },
  unknown_request: {
    raisedBy: ['requests'],
    status: 404,
    meaning: "No recent request for a signature has this ID, or it is another client's",
    retry: 'never',
    action: 'Check the ID; the log of the service may still have it',
  },
  unauthorized: {
    raisedBy: ['api'],
    status: 401,
    meaning: 'The API key is not known',
    retry: 'never',
    action: 'Send another key, or none',
  },
  forbidden: {
    raisedBy: ['api'],
    status: 403,
    meaning: 'The API key may not use this route',
    retry: 'never',
    action: 'Send a key that may use this route',
  },
  rate_limited: {
    raisedBy: ['api'],
    status: 429,
    meaning: 'The client has used up its units',
    retry: 'may_pass',
    action: 'Ask again after Retry-After',
  },
  body_too_large: {
    raisedBy: ['api'],
    status: 413,
    meaning: 'The body has more bytes than the route allows',
    retry: 'never',
    action: 'Send a shorter body',
  },
  unsupported_media_type: {
    raisedBy: ['api'],
    status: 415,
    meaning: 'The body is not declared as JSON',
    retry: 'never',
    action: 'Send JSON with the header content-type: application/json',
  },
  unsupported_transfer_coding: {
    raisedBy: ['api'],
    status: 501,
    meaning: 'The body has a transfer coding other than chunked',
    retry: 'never',
    action: 'Send the body as it is, or in chunks',
  },
  headers_too_large: {
    raisedBy: ['api'],
    status: 431,
    meaning: 'The headers have more bytes than the service allows',
    retry: 'never',
    action: 'Send fewer or shorter headers',
  },
  request_timeout: {
    raisedBy: ['api'],
    status: 408,
    meaning: 'The request did not arrive completely in time',
    retry: 'may_pass',
    action: 'Send it again, over a faster connection',
  },
  internal_error: {
    raisedBy: ['api'],
    status: 500,
    meaning: "A bug of the service; its log has the details under the answer's x-request-id",
    retry: 'may_pass',
    action: 'Report it with the x-request-id',
  },
};
