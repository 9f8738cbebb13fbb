import { AggregatorError, type RequestField } from '../../aggregation/aggregator-error.ts';
import { ERROR_CODES, type ErrorCode } from '../../http/errors/error-codes.ts';
import { HttpError } from '../../http/errors/http-error.ts';
import { DeadlineExceeded } from '../../lib/concurrency/deadline.ts';
import { ParseError } from '../../lib/encoding/parse-error.ts';
import { ApiError } from '../../pchain/rpc/api-error.ts';
import { CommandFailure, EXIT, type ExitCode, usageFailure } from './exit-codes.ts';

/** The call is correct, but the answer is negative. */
const NEGATIVE: ReadonlySet<ErrorCode> = new Set([
  'signing_refused',
  'message_superseded',
  'validation_not_over',
  'no_message_in_transaction',
  'justification_not_found',
]);

/** Returns the exit code for an error code of the service. Codes of newer services are unknown. */
export function exitCodeOf(code: string): ExitCode {
  if (!isErrorCode(code) || ERROR_CODES[code].retry === 'may_pass') return EXIT.later;
  return NEGATIVE.has(code) ? EXIT.no : EXIT.usage;
}

function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(ERROR_CODES, code);
}

const FIELDS: Readonly<Record<RequestField, string>> = {
  message: 'the message',
  signedMessage: 'the message',
  subnetID: 'the subnet',
  validationID: 'the validation',
  sourceChainID: '--chain',
  uptimeChainID: 'the chain',
  justification: '--justification',
  transaction: '--transaction',
  signingSubnetID: '--subnet',
  quorumNum: '--quorum',
  quorumBuffer: '--buffer',
  pChainHeight: '--height',
  destinationChainID: '--destination',
};

/**
 * Runs `work`, and converts expected errors to messages with exit codes. Others are bugs, and stay unchanged.
 *
 * @throws {CommandFailure}
 */
export async function describingFailures<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw asFailure(error) ?? error;
  }
}

function asFailure(cause: unknown): CommandFailure | undefined {
  if (cause instanceof AggregatorError) {
    return new CommandFailure(exitCodeOf(cause.code), adviseOn(cause.code, textOf(cause)), { cause });
  }
  if (cause instanceof HttpError) return usageFailure(cause.message, { cause });
  if (cause instanceof ApiError) {
    return new CommandFailure(
      EXIT.later,
      `the P-Chain API could not be asked: ${cause.detail ?? cause.message}; check its URL, or try again later`,
      { cause },
    );
  }
  if (cause instanceof ParseError) return usageFailure(cause.message, { cause });
  if (cause instanceof DeadlineExceeded || (cause instanceof DOMException && cause.name === 'TimeoutError')) {
    return new CommandFailure(EXIT.later, 'it took too long: try again, or give it more time by --timeout', { cause });
  }
  return undefined;
}

export function textOf({ field, message }: AggregatorError): string {
  return field === undefined ? message : `${FIELDS[field]}: ${message}`;
}

export function adviseOn(code: string, message: string): string {
  return isErrorCode(code) ? `${message}\n${ERROR_CODES[code].action} (${code})` : `${message} (${code})`;
}
