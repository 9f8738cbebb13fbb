import type { RequestField } from '../../aggregation/aggregator-error.ts';
import { createErrorBody, messageFor } from './error-body.ts';
import { ERROR_CODES, type ErrorCode } from './error-codes.ts';

/** How clients spell the parts of a request that an error may be about. */
const FIELD_NAMES: Readonly<Record<RequestField, string>> = {
  message: 'message',
  signedMessage: 'signedMessage',
  subnetID: 'subnetId',
  validationID: 'validationId',
  uptimeChainID: 'blockchainId',
  justification: 'justification',
  transaction: 'txHash',
  signingSubnetID: 'signingSubnetId',
  quorumNum: 'quorumPercentage',
  quorumBuffer: 'quorumPercentageBuffer',
  pChainHeight: 'pChainHeight',
  destinationChainID: 'destinationBlockchainId',
};

/** What an error says, before it has a form. */
export interface ErrorAnswer {
  readonly code: ErrorCode;
  readonly message: string;
  readonly details?: unknown;
  readonly retryAfterMs?: number | undefined;
}

/** How an API writes its errors: everything about them that is not the same in all of the service's APIs. */
export interface ErrorForm {
  /** How its clients spell the parts of a request. */
  readonly fieldNames: Readonly<Record<RequestField, string>>;
  statusOf(code: ErrorCode): number;
  /** @param url of the request; undefined where that is not known */
  bodyOf(answer: ErrorAnswer, statusCode: number, url?: string): unknown;
}

/** That of all routes that stand for nobody else's. */
export const OWN_ERROR_FORM: ErrorForm = {
  fieldNames: FIELD_NAMES,
  statusOf(code) {
    const { status } = ERROR_CODES[code];
    return status === 'as_upstream' ? 502 : status;
  },
  bodyOf: ({ code, message, details }, statusCode, url = '') =>
    createErrorBody(code, statusCode, messageFor(url, message), details),
};
