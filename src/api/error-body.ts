import { STATUS_CODES } from 'node:http';
import type { ErrorCode } from './error-codes.ts';

/** The one form of every error answer: the specification's three fields, and what programs can act on beside them. */
export interface ErrorBody {
  /** A list only where an upstream sent one. */
  readonly message: string | readonly string[];
  readonly statusCode: number;
  /** The reason phrase of the status. */
  readonly error: string;
  readonly code: ErrorCode;
  readonly details?: unknown;
}

export function createErrorBody(
  code: ErrorCode,
  statusCode: number,
  message: string | readonly string[],
  details?: unknown,
): ErrorBody {
  return {
    message,
    statusCode,
    error: STATUS_CODES[statusCode] ?? 'Error',
    code,
    ...(details === undefined ? {} : { details }),
  };
}
