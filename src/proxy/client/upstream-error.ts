/**
 * Why an upstream gave no answer that could be passed on:
 * - `upstream_not_configured`: no base URL is set for it
 * - `upstream_unreachable`: no connection could be made, or the connection broke
 * - `upstream_timeout`: the whole answer was not there in time
 * - `upstream_invalid_answer`: not HTTP, a redirect, not JSON, or too long
 * - `upstream_failing`: it failed so often that it is left alone for a while
 * - `upstream_overloaded`: all our connections to it are in use
 */
export type UpstreamErrorCode =
  | 'upstream_not_configured'
  | 'upstream_unreachable'
  | 'upstream_timeout'
  | 'upstream_invalid_answer'
  | 'upstream_failing'
  | 'upstream_overloaded';

/** The one error of this folder. Messages name the upstream by its role; hosts, paths and keys stay out of them. */
export class UpstreamError extends Error {
  override readonly name = 'UpstreamError';
  readonly code: UpstreamErrorCode;
  /** When to try again, where that is known. */
  readonly retryAfterMs: number | undefined;

  constructor(
    code: UpstreamErrorCode,
    message: string,
    { retryAfterMs, cause }: { readonly retryAfterMs?: number; readonly cause?: unknown } = {},
  ) {
    super(message, { cause });
    this.code = code;
    this.retryAfterMs = retryAfterMs;
  }
}

/** Causes with which there was no connection to send anything on. */
const NEVER_CONNECTED = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/** Whether no connection could be made at all. */
export function neverConnected({ code, cause }: UpstreamError): boolean {
  if (code !== 'upstream_unreachable') return false;
  return cause instanceof Error && 'code' in cause && NEVER_CONNECTED.has(String(cause.code));
}

/** Whether the upstream may have received the request that ended in this error, and may have done what it asks. */
export function mayHaveArrived(error: unknown): boolean {
  if (!(error instanceof UpstreamError)) return true;
  switch (error.code) {
    case 'upstream_not_configured':
    case 'upstream_failing':
    case 'upstream_overloaded':
      return false;
    case 'upstream_unreachable':
      return !neverConnected(error);
    case 'upstream_timeout':
    case 'upstream_invalid_answer':
      return true;
  }
}
