import { STATUS_CODES } from 'node:http';
import { ERROR_CODES, type ErrorCode } from './error-codes.ts';

/** Content of an error answer, before it gets the form of an API. */
export interface ErrorAnswer {
  readonly code: ErrorCode;
  /** A list if an upstream sent one. */
  readonly message: string | readonly string[];
  readonly details?: unknown;
  readonly retryAfterMs?: number | undefined;
}

/** The part of error answers in which the service's APIs differ. */
export interface ErrorForm {
  /** Names of the API's fields, by the part of a request that an error may be about. */
  readonly fieldNames: Readonly<Record<RequestPart, string>>;
  statusOf(code: ErrorCode): number;
  bodyOf(answer: ErrorAnswer, statusCode: number, url?: string): object;
}

/** Names of the service's API, by the part of a request. */
const OWN_FIELD_NAMES = {
  message: 'message',
  signedMessage: 'signedMessage',
  subnetID: 'subnetId',
  validationID: 'validationId',
  uptimeChainID: 'blockchainId',
  sourceChainID: 'blockchainId',
  blockchainID: 'blockchainId',
  justification: 'justification',
  transaction: 'txHash',
  signingSubnetID: 'signingSubnetId',
  quorumNum: 'quorumPercentage',
  quorumBuffer: 'quorumPercentageBuffer',
  pChainHeight: 'pChainHeight',
  destinationChainID: 'destinationBlockchainId',
} as const;

/** A part of a request that an error may be about. */
export type RequestPart = keyof typeof OWN_FIELD_NAMES;

/** Form of all routes but those of the Go aggregator's API: the specification's three fields, and a code and details for programs. */
export const OWN_ERROR_FORM: ErrorForm = {
  fieldNames: OWN_FIELD_NAMES,
  statusOf(code) {
    const { status } = ERROR_CODES[code];
    return status === 'as_upstream' ? 502 : status;
  },
  bodyOf: ({ code, message, details }, statusCode, url = '') => ({
    // By the specification, routes of the metrics service have a list.
    message: isMetricsRoute(url) ? [message].flat() : message,
    statusCode,
    error: STATUS_CODES[statusCode] ?? 'Error',
    code,
    details,
  }),
};

/** Whether a path or a target is one of the metrics service: its averages all begin so, and no route of the data API does. */
export function isMetricsRoute(target: string): boolean {
  return target.startsWith('/v1/avg_');
}
