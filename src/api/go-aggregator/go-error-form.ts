import type { TSchema } from 'typebox';
import { ERROR_CODES, type ErrorCode } from '../../http/errors/error-codes.ts';
import { type ErrorForm, OWN_ERROR_FORM } from '../../http/errors/error-form.ts';
import { Type, text } from '../../lib/encoding/schema.ts';
import { STATUS_CODES } from '../../lib/net/node-http.ts';

/** How the Go aggregator begins everything that goes wrong after a request was read. */
const GO_FAILURE = 'failed to aggregate signatures. error';
/** With these words its messages begin; some of its clients look for them. */
const GO_WORDS: Readonly<Partial<Record<ErrorCode, string>>> = {
  insufficient_weight: `${GO_FAILURE}: failed to collect a threshold of signatures`,
  signing_refused: `${GO_FAILURE}: failed to collect a threshold of signatures`,
  not_connected: `${GO_FAILURE}: failed to connect to a threshold of stake`,
  body_too_large: 'Request body too large',
};

/** What the Go aggregator has no status for keeps ours: keys, limits, and requests that do not arrive as they should. */
const KEPT_STATUSES: ReadonlySet<number> = new Set([401, 403, 408, 413, 429, 431, 501]);

/**
 * `{"error": …}` under the Go aggregator's statuses: 400 for what the caller can correct, 500 for what went wrong here. A network
 * that is not in the path is a 404, as there is nothing at that address.
 */
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
    const status = OWN_ERROR_FORM.statusOf(code);
    if (KEPT_STATUSES.has(status) || code === 'not_found' || code === 'unknown_network') return status;
    return status < 500 ? 400 : 500;
  },
  bodyOf({ code, message }) {
    const words = GO_WORDS[code] ?? (isOfAggregation(code) ? GO_FAILURE : undefined);
    return { error: words === undefined ? message : `${words}: ${message}` };
  },
};

/** What only an aggregation runs into; `invalid_request` may be about the form of the request, and says so itself. */
function isOfAggregation(code: ErrorCode): boolean {
  return code !== 'invalid_request' && ERROR_CODES[code].raisedBy.includes('aggregator');
}

/** Schemas of the error answers, for the document. */
export function goErrorResponses(...statuses: readonly number[]): Record<number, TSchema> {
  return Object.fromEntries(
    statuses.map((status) => [
      status,
      Type.Object(
        { error: text('What is wrong, and what is allowed') },
        {
          title: `GoError${status}`,
          description: DESCRIPTIONS[status] ?? STATUS_CODES[status] ?? 'Error',
          examples: [{ error: 'what is wrong, and what is allowed' }],
        },
      ),
    ]),
  );
}

const DESCRIPTIONS: Readonly<Record<number, string>> = {
  400: 'The caller can correct it',
  401: 'The API key is not known',
  403: 'The API key is not for this route, or the subnet may not be asked for',
  404: 'The network in the path is not served here',
  413: 'The body has more bytes than the route takes',
  429: 'The client used up what it may use for now',
  500: 'Too little weight signed or is connected, or something failed that is not the caller’s',
};
