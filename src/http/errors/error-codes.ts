/** Every status of an error that the service raises itself. */
export type ErrorStatus = 400 | 401 | 403 | 404 | 408 | 410 | 413 | 415 | 429 | 431 | 500 | 501 | 502 | 503;

/**
 * Whether the same request may be sent again:
 * - `never`: it always fails
 * - `after_change`: it fails until what the code names has changed
 * - `may_pass`: it may succeed later; Retry-After has the time if it is known
 */
export type RetryAdvice = 'never' | 'after_change' | 'may_pass';

/** The part of the service that raises a code: `api` on every route, `body` on those with a body, the others on the routes that use them. */
export type ErrorOrigin = 'aggregator' | 'upstream' | 'api' | 'body' | 'requests' | 'feed' | 'record';

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

/** Those of aggregations, those of upstreams, and those that only the HTTP side raises. */
const ENTRIES = {
  invalid_request: {
    ...raised(400, 'never', 'aggregator', 'api'),
    meaning: 'The request is wrong; the message names the field or parameter and says what is allowed',
    action: 'Correct the request',
  },
  wrong_network: {
    ...raised(400, 'never', 'aggregator'),
    meaning: "The message's network ID is not that of the network in the path",
    action: "Send the message under its own network's name",
  },
  height_not_reached: {
    ...raised(400, 'after_change', 'aggregator'),
    meaning: 'The given P-Chain height is above the height of the chain',
    action: 'Leave the height out, or wait until the P-Chain has reached it',
  },
  height_not_served: {
    ...raised(400, 'after_change', 'aggregator'),
    meaning:
      'The P-Chain API serves no validator set at the height of the request: only at the current one, or at recent ones',
    action:
      'Leave the height or the destination out, or ask the operator to add a node of its own to networks.NAME.pChainApi',
  },
  no_message_in_transaction: {
    ...raised(400, 'never', 'aggregator'),
    meaning:
      'The transaction exists, but the P-Chain signs no message about it, or it is of an EVM chain and sent no message: ' +
      'the error says what it did',
    action:
      'Give the ID of a transaction that converts a subnet, that registers, changes or removes an L1 validator, or that ' +
      'sends a Warp message',
  },
  several_messages: {
    ...raised(400, 'never', 'aggregator'),
    meaning: 'The EVM transaction sent several messages; details list them',
    action: 'Choose one by the parameter logIndex',
  },
  message_superseded: {
    ...raised(400, 'never', 'aggregator'),
    meaning: 'The P-Chain no longer confirms this message: a later change overtook it, or the validator was removed',
    action: 'Ask for the message of the latest change',
  },
  validation_not_over: {
    ...raised(400, 'after_change', 'aggregator'),
    meaning: 'The message says that a validation has ended, but it still exists',
    action: 'Ask again after the validator was removed',
  },
  registration_pending: {
    ...raised(400, 'after_change', 'aggregator'),
    meaning:
      'The message says that a validation is over, but its registration never reached the P-Chain, which could still accept it: the message ' +
      'and registrableUntil in details have the time',
    action: 'Ask again after that time, or register the validator before it',
  },
  signing_refused: {
    ...raised(400, 'never', 'aggregator'),
    meaning: 'Too much weight refuses to sign for the quorum to be reached, for reasons that no later block changes',
    action: 'Read the reasons in details; check that the source chain really sent this message',
  },
  quorum_unreachable: {
    ...raised(400, 'after_change', 'aggregator'),
    meaning:
      'The validators without a BLS key and the inactive L1 validators have too much weight for the others to reach the quorum; no validator was asked',
    action:
      'See which validators cannot sign in details; give them keys or balance, ask for a lower quorum, or let another subnet sign',
  },
  subnet_not_allowed: {
    ...raised(403, 'after_change', 'aggregator'),
    meaning: 'This service does not ask the validators of that subnet',
    action: 'Ask the operator to allow the subnet, or use another service',
  },
  unknown_source_chain: {
    ...raised(404, 'after_change', 'aggregator'),
    meaning: 'The P-Chain knows no blockchain with the ID of the source chain',
    action: 'Check the network and the ID',
  },
  unknown_subnet: {
    ...raised(404, 'after_change', 'aggregator'),
    meaning: 'The P-Chain knows no such subnet',
    action: 'Check the network and the ID',
  },
  unknown_blockchain: {
    ...raised(404, 'after_change', 'aggregator'),
    meaning: 'The P-Chain knows no such blockchain',
    action: 'Check the network and the ID',
  },
  unknown_transaction: {
    ...raised(404, 'may_pass', 'aggregator'),
    meaning: 'None of the chains that were asked has accepted such a transaction',
    action: 'Check the network, the ID and blockchainId; ask again once the transaction was accepted',
  },
  unknown_validation: {
    ...raised(404, 'after_change', 'aggregator'),
    meaning: 'The P-Chain has no L1 validator with this validation ID, or no longer has it',
    action: 'Check the network and the ID',
  },
  justification_not_found: {
    ...raised(404, 'after_change', 'aggregator'),
    meaning: 'The message needs a justification, which was not given and could not be found',
    action: 'Send the justification with the message',
  },
  justification_pending: {
    ...raised(503, 'may_pass', 'aggregator'),
    meaning: 'The message needs a justification, and the service is still searching for it',
    action: 'Ask again after Retry-After, or send the justification',
  },
  no_validators_yet: {
    ...raised(503, 'may_pass', 'aggregator'),
    meaning: 'The signing subnet has no validators yet at the P-Chain height of the request',
    action: 'Ask again after Retry-After',
  },
  not_connected: {
    ...raised(503, 'may_pass', 'aggregator'),
    meaning: 'The connected validators have too little weight to reach the quorum',
    action: 'Ask again after Retry-After',
  },
  insufficient_weight: {
    ...raised(500, 'may_pass', 'aggregator'),
    meaning: 'Too little weight signed; details list what each validator did',
    action: 'Read the reasons in details; ask again after Retry-After',
  },
  p_chain_unavailable: {
    ...raised(503, 'may_pass', 'aggregator'),
    meaning: 'The P-Chain API did not answer',
    action: 'Ask again after Retry-After',
  },
  p_chain_invalid: {
    ...raised(502, 'may_pass', 'aggregator'),
    meaning: 'The P-Chain API sent an invalid answer',
    action: 'Ask again later; tell the operator if it persists',
  },
  chain_rpc_unavailable: {
    ...raised(503, 'may_pass', 'aggregator'),
    meaning: 'The RPC of the EVM chain did not answer',
    action: 'Ask again after Retry-After',
  },
  chain_rpc_invalid: {
    ...raised(502, 'may_pass', 'aggregator'),
    meaning: 'The RPC of the EVM chain sent an invalid answer, or there is none for this chain',
    action: 'Check blockchainId; tell the operator if it persists, who can set networks.NAME.chainRpc',
  },
  overloaded: {
    ...raised(503, 'may_pass', 'aggregator', 'body', 'feed'),
    meaning:
      'The service sheds load: the limit of running requests, the share of a client or subnet, or the limit of buffered bytes is reached; or too many requests of the client named what does not exist',
    action: 'Ask again after Retry-After',
  },
  network_unavailable: {
    ...raised(503, 'may_pass', 'aggregator', 'feed', 'record'),
    meaning:
      'The network is configured but not usable now: it or its feed is starting, or its API belongs to another network',
    action: 'Ask again after Retry-After; /health/ready says why',
  },
  upstream_not_configured: {
    ...raised(503, 'after_change', 'upstream'),
    meaning: 'The route exists, but no upstream is configured for it',
    action: 'Ask the operator to configure it',
  },
  upstream_unreachable: {
    ...raised(502, 'may_pass', 'upstream'),
    meaning: 'No connection to the upstream could be made, or it broke',
    action: 'Ask again later',
  },
  upstream_invalid_answer: {
    ...raised(502, 'may_pass', 'upstream'),
    meaning: 'The upstream sent an answer that cannot be forwarded',
    action: 'Ask again later; tell the operator if it persists',
  },
  upstream_timeout: {
    ...raised(503, 'may_pass', 'upstream'),
    meaning: 'The upstream did not answer in time',
    action: 'Ask again after Retry-After',
    retryAfterMs: 5_000,
  },
  upstream_failing: {
    ...raised(503, 'may_pass', 'upstream'),
    meaning: 'The upstream failed repeatedly, and requests to it are suspended for some time',
    action: 'Ask again after Retry-After',
  },
  upstream_overloaded: {
    ...raised(503, 'may_pass', 'upstream'),
    meaning: 'All connections to the upstream are in use',
    action: 'Ask again after Retry-After',
  },
  upstream_error: {
    ...raised('as_upstream', 'may_pass', 'upstream'),
    meaning: 'The upstream refused the request; its status and message are forwarded',
    action: 'Decide by the status: 408, 429 and 5xx may pass, others will not',
  },
  unknown_network: {
    ...raised(404, 'never', 'api'),
    meaning: 'This service does not serve the network in the path; the message lists those that it serves',
    action: 'Use one of the names in the message',
  },
  not_found: {
    ...raised(404, 'never', 'api'),
    meaning: 'There is no such route',
    action: 'See /openapi.json for the routes',
  },
  unknown_request: {
    ...raised(404, 'never', 'requests'),
    meaning: "No recent request for a signature has this ID, or it is another client's",
    action: 'Check the ID; the log of the service may still have it',
  },
  feed_not_configured: {
    ...raised(404, 'after_change', 'feed'),
    meaning: 'The network watches no chains, so it has no messages to read',
    action: 'Ask the operator to set networks.NAME.feed.chains',
  },
  unknown_message: {
    ...raised(404, 'may_pass', 'feed'),
    meaning:
      'The feed has no message with this ID: its chain is not watched, its block was not read yet, or it was removed',
    action: 'Check the network and the ID; sign the message by POST if its chain is not watched',
  },
  cursor_expired: {
    ...raised(410, 'never', 'feed'),
    meaning:
      'Messages after the cursor were removed, or never stored by a service that has restarted without store.path, or the cursor is of an earlier version',
    action: 'Go on from oldestCursor in details, and read what is missing from the chain',
  },
  not_recorded: {
    ...raised(404, 'after_change', 'record'),
    meaning:
      'The service has no record of the validators of this subnet: it is not tracked, its set was not read yet, or the record is switched off',
    action: 'Ask the operator to add the subnet to networks.NAME.trackedSubnetIds',
  },
  unknown_validator: {
    ...raised(404, 'after_change', 'record'),
    meaning: 'The present validator set of the subnet has no validator with this NodeID and a BLS key',
    action: 'Check the network, the subnet and the NodeID',
  },
  unauthorized: {
    ...raised(401, 'never', 'api'),
    meaning: 'The API key is not known, or the route needs one',
    action: 'Send a valid key, or none where the route needs none',
  },
  forbidden: {
    ...raised(403, 'never', 'api'),
    meaning: 'The API key may not use this route, or the route is for API keys and the service has none',
    action: 'Send a key that may use this route, or ask the operator for one',
  },
  rate_limited: {
    ...raised(429, 'may_pass', 'api'),
    meaning: 'The client has used up its units',
    action: 'Ask again after Retry-After',
  },
  body_too_large: {
    ...raised(413, 'never', 'api'),
    meaning: 'The body has more bytes than the route allows',
    action: 'Send a shorter body',
  },
  unsupported_media_type: {
    ...raised(415, 'never', 'api'),
    meaning: 'The body is not declared as JSON',
    action: 'Send JSON with the header content-type: application/json',
  },
  unsupported_transfer_coding: {
    ...raised(501, 'never', 'api'),
    meaning: 'The body has a transfer coding other than chunked',
    action: 'Send the body as it is, or in chunks',
  },
  headers_too_large: {
    ...raised(431, 'never', 'api'),
    meaning: 'The headers have more bytes than the service allows',
    action: 'Send fewer or shorter headers',
  },
  request_timeout: {
    ...raised(408, 'may_pass', 'api'),
    meaning: 'The request did not arrive completely in time',
    action: 'Send it again, over a faster connection',
  },
  internal_error: {
    ...raised(500, 'may_pass', 'api'),
    meaning: "A bug of the service; its log has the details under the answer's x-request-id",
    action: 'Report it with the x-request-id',
  },
} satisfies Record<string, ErrorCodeEntry>;

/** Every `code` of an error body. Stable: programs depend on it. */
export type ErrorCode = keyof typeof ENTRIES;

/** Meaning and status of each code; docs/errors.md is generated from it. */
export const ERROR_CODES: Readonly<Record<ErrorCode, ErrorCodeEntry>> = ENTRIES;
export const CODE_NAMES = Object.keys(ENTRIES) as ErrorCode[];

export function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(ENTRIES, code);
}

function raised(status: ErrorCodeEntry['status'], retry: RetryAdvice, ...raisedBy: ErrorOrigin[]) {
  return { status, retry, raisedBy };
}
