import { STATUS_CODES } from 'node:http';
import { type TSchema, Type } from 'typebox';
import { ERROR_CODES, type ErrorCode } from '../../http/errors/error-codes.ts';
import { type ErrorForm, OWN_ERROR_FORM } from '../../http/errors/error-form.ts';
import { text } from '../../lib/encoding/schema.ts';

/** Prefix of the Go aggregator's errors of an aggregation. */
const GO_FAILURE = 'failed to aggregate signatures. error';
/** Prefixes of its messages, which some clients match. */
const GO_WORDS: Readonly<Partial<Record<ErrorCode, string>>> = {
  insufficient_weight: `${GO_FAILURE}: failed to collect a threshold of signatures`,
  signing_refused: `${GO_FAILURE}: failed to collect a threshold of signatures`,
  quorum_unreachable: `${GO_FAILURE}: failed to collect a threshold of signatures`,
  not_connected: `${GO_FAILURE}: failed to connect to a threshold of stake`,
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
    const words = GO_WORDS[code] ?? (isOfAggregation(code) ? GO_FAILURE : undefined);
    return { error: words === undefined ? message : `${words}: ${String(message)}` };
  },
};

/** Whether an error comes from an aggregation; `invalid_request` may concern the form of the request. */
function isOfAggregation(code: ErrorCode): boolean {
  return code !== 'invalid_request' && ERROR_CODES[code].raisedBy.includes('aggregator');
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
