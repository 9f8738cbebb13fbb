import { CodedError } from '../../lib/net/coded-error.ts';

/** Why an upstream gave no answer that could be passed on; `http/errors/error-codes.ts` describes each code. */
export type UpstreamErrorCode =
  | 'upstream_not_configured'
  | 'upstream_unreachable'
  | 'upstream_timeout'
  | 'upstream_invalid_answer'
  | 'upstream_failing'
  | 'upstream_overloaded';

/** Names the upstream by its role: hosts, paths and keys are not in the message. */
export class UpstreamError extends CodedError<UpstreamErrorCode> {
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

/** Returns how far a request came that ended in an error. */
export function reachOf({ code, cause }: UpstreamError): 'not sent' | 'not connected' | 'not answered' | 'answered' {
  switch (code) {
    case 'upstream_not_configured':
    case 'upstream_failing':
    case 'upstream_overloaded':
      return 'not sent';
    case 'upstream_unreachable':
      if (cause instanceof Error && 'code' in cause && NEVER_CONNECTED.has(String(cause.code))) return 'not connected';
      return 'not answered';
    case 'upstream_timeout':
      return 'not answered';
    case 'upstream_invalid_answer':
      return 'answered';
  }
}

/** Whether the upstream may have received and executed the request that ended in this error. */
export function mayHaveArrived(error: unknown): boolean {
  return !(error instanceof UpstreamError) || ['not answered', 'answered'].includes(reachOf(error));
}
