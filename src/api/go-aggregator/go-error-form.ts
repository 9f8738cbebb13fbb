import { STATUS_CODES } from 'node:http';
import { type TSchema, Type } from 'typebox';
import { ERROR_CODES, type ErrorCode } from '../../http/errors/error-codes.ts';
import { type ErrorForm, OWN_ERROR_FORM } from '../../http/errors/error-form.ts';
import { text } from '../../lib/encoding/schema.ts';

/**
 * The body of a failure in the Go aggregator since August 2026 is one of three sentences (icm-services, pull request 1468). Ours begin
 * with it. The public SDK repeats those that match `/no signatures|threshold/i`, so each failure that may pass has such a sentence.
 */
const TOO_LITTLE_SIGNED = 'failed to collect a threshold of signatures';
const TOO_LITTLE_CONNECTED = 'failed to connect to a threshold of stake';
const OTHER_FAILURE = 'failed to aggregate signatures';
const SENTENCES: Readonly<Partial<Record<ErrorCode, string>>> = {
  insufficient_weight: TOO_LITTLE_SIGNED,
  signing_refused: TOO_LITTLE_SIGNED,
  quorum_unreachable: TOO_LITTLE_SIGNED,
  body_too_large: 'Request body too large',
};

/** Statuses that the Go aggregator does not have are kept: API keys, limits, malformed requests. */
const KEPT_STATUSES: ReadonlySet<number> = new Set([401, 403, 408, 413, 429, 431, 501]);

/** `{"error": …}` with the Go aggregator's statuses: 400 for what the client can correct, 500 for failures, 404 for an unknown network. */
export const GO_ERROR_FORM: ErrorForm = {
  fieldNames: {
    ...OWN_ERROR_FORM.fieldNames,
    transaction: 'justification',
    signingSubnetID: 'signing-subnet-id',
    quorumNum: 'quorum-percentage',
    quorumBuffer: 'quorum-percentage-buffer',
    pChainHeight: 'pchain-height',
    destinationChainID: 'justification',
  },
  statusOf(code) {
    // The Go aggregator asks the validators nevertheless, and then misses the quorum.
    if (code === 'quorum_unreachable') return 500;
    const status = OWN_ERROR_FORM.statusOf(code);
    if (KEPT_STATUSES.has(status) || code === 'not_found' || code === 'unknown_network') return status;
    return status < 500 ? 400 : 500;
  },
  bodyOf({ code, message }) {
    const sentence = SENTENCES[code] ?? (isOfAggregation(code) ? sentenceOf(code) : undefined);
    return { error: sentence === undefined ? message : `${sentence}: ${String(message)}` };
  },
};

/** Whether an error comes from an aggregation; `invalid_request` may concern the form of the request. */
function isOfAggregation(code: ErrorCode): boolean {
  return code !== 'invalid_request' && ERROR_CODES[code].raisedBy.includes('aggregator');
}

function sentenceOf(code: ErrorCode): string {
  return ERROR_CODES[code].retry === 'may_pass' ? TOO_LITTLE_CONNECTED : OTHER_FAILURE;
}

export function goErrorResponses(...statuses: readonly number[]): Record<number, TSchema> {
  return Object.fromEntries(
    statuses.map((status) => [
      status,
      Type.Object(
        { error: text('What is wrong, and what is allowed') },
        {
          title: 'GoError',
          'x-response-description': DESCRIPTIONS[status] ?? STATUS_CODES[status] ?? 'Error',
          examples: [{ error: 'what is wrong, and what is allowed' }],
        },
      ),
    ]),
  );
}

const DESCRIPTIONS: Readonly<Record<number, string>> = {
  400: 'The client can correct it',
  401: 'The API key is not known',
  403: 'The API key does not cover this route, or the subnet is not allowed',
  404: 'The network in the path is not served here',
  413: 'The body is longer than the route allows',
  429: 'The client has used up its rate limit',
  500: 'Too little weight signed or is connected, or an internal failure',
};
