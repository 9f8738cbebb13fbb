/**
 * Why an upstream gave no answer that could be passed on:
 * - `not configured`: no base URL is set for it
 * - `unreachable`: no connection, or one that broke
 * - `too slow`: the whole answer was not there in time
 * - `invalid answer`: no HTTP, a redirect, no JSON, or too much of it
 * - `circuit open`: it failed so often that it is left alone for a while
 * - `overloaded`: all our connections to it are taken
 */
export type UpstreamErrorCode =
  | 'not configured'
  | 'unreachable'
  | 'too slow'
  | 'invalid answer'
  | 'circuit open'
  | 'overloaded';

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

/** Causes of `unreachable` with which there was no connection to send anything on. */
const NEVER_CONNECTED = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/** Whether the upstream may have got the request that ended in this error, and may have done what it asks. */
export function mayHaveArrived(error: unknown): boolean {
  if (!(error instanceof UpstreamError)) return true;
  switch (error.code) {
    case 'not configured':
    case 'circuit open':
    case 'overloaded':
      return false;
    case 'unreachable':
      return !(error.cause instanceof Error && 'code' in error.cause && NEVER_CONNECTED.has(String(error.cause.code)));
    case 'too slow':
    case 'invalid answer':
      return true;
  }
}
