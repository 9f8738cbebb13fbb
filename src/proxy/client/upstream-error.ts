import type { ErrorCode } from '../../http/errors/error-codes.ts';
import { DeadlineExceeded } from '../../lib/concurrency/deadline.ts';
import { PublicError } from '../../lib/net/coded-error.ts';

/** Why an upstream gave no answer that could be passed on. `http/errors/error-codes.ts` describes each; an undescribed one cannot be raised. */
export type UpstreamErrorCode = Extract<
  ErrorCode,
  | 'upstream_not_configured'
  | 'upstream_unreachable'
  | 'upstream_timeout'
  | 'upstream_invalid_answer'
  | 'upstream_failing'
  | 'upstream_overloaded'
>;

/** Names the upstream by its role: hosts, paths and keys are not in the message. */
export class UpstreamError extends PublicError<UpstreamErrorCode> {
  override readonly name = 'UpstreamError';
}

/** Codes of errors before a connection was made. */
const NEVER_CONNECTED = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
]);
/** Codes of errors of an answer that is no valid HTTP, or whose content cannot be decoded. */
const INVALID_HTTP = /^(HPE_|Z_|UND_ERR_HEADERS_OVERFLOW$|HTTPParserError$)/;
/** Returns the code of an error of a request or of a stream. */
export function upstreamCodeOf(error: unknown): UpstreamErrorCode {
  if (error instanceof UpstreamError) return error.code;
  if (error instanceof DeadlineExceeded) return 'upstream_timeout';
  const code = systemCodeOf(error);
  return INVALID_HTTP.test(code) || code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE'
    ? 'upstream_invalid_answer'
    : 'upstream_unreachable';
}

/** Returns the code that Node or undici gave an error, or its cause; else its name. */
export function systemCodeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'failure';
  if ('code' in error && typeof error.code === 'string') return error.code;
  return error.cause === undefined ? error.name : systemCodeOf(error.cause);
}

/** Codes of errors before a request is sent. */
const BEFORE_SENDING: ReadonlySet<UpstreamErrorCode> = new Set<UpstreamErrorCode>([
  'upstream_not_configured',
  'upstream_failing',
  'upstream_overloaded',
]);

/** Whether the upstream may have got a request that failed. */
export function mayHaveArrived(error: unknown): boolean {
  return error instanceof UpstreamError && !BEFORE_SENDING.has(error.code) && !isNeverConnected(error);
}

export function isNeverConnected({ code, cause }: UpstreamError): boolean {
  return code === 'upstream_unreachable' && NEVER_CONNECTED.has(systemCodeOf(cause));
}
