import type { AggregationDetails, ErrorCode, ExpiredCursor, SentMessages } from './gen/api.ts';

/**
 * Codes of the service (docs/errors.md), and those of the client itself: `unreachable` if no answer came, or it broke off; `invalid_answer`
 * if it was none of the service, such as a proxy's page.
 */
export type ClientErrorCode = ErrorCode | 'unreachable' | 'invalid_answer';

export type ErrorDetails = AggregationDetails | SentMessages | ExpiredCursor;

interface ErrorFields {
  readonly code: ClientErrorCode;
  readonly status?: number | undefined;
  readonly details?: ErrorDetails | undefined;
  readonly retryAfterMs?: number | undefined;
  readonly requestId?: string | undefined;
  readonly cause?: unknown;
}

/** The one error of all calls, except for the reason of an aborted signal and a `TypeError` for wrong arguments. */
export class SignatureAggregatorError extends Error {
  override readonly name = 'SignatureAggregatorError';
  /** Programs decide by it. A newer service may have others. */
  readonly code: ClientErrorCode;
  /** HTTP status; undefined if there was no answer. */
  readonly status: number | undefined;
  /** What the validators did, which messages a transaction sent, or the oldest cursor. */
  readonly details: ErrorDetails | undefined;
  /** Milliseconds after which the same request may succeed, if the service knows. */
  readonly retryAfterMs: number | undefined;
  /** Name of the request in the log of the service. */
  readonly requestId: string | undefined;

  constructor(message: string, { code, status, details, retryAfterMs, requestId, cause }: ErrorFields) {
    super(message, { cause });
    this.code = code;
    this.status = status;
    this.details = details;
    this.retryAfterMs = retryAfterMs;
    this.requestId = requestId;
  }
}
