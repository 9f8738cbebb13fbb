import type { SignatureAggregatorError } from './client-error.ts';
import { RETRY_ADVICE } from './gen/retry-advice.ts';

const FIRST_DELAY_MS = 500;
const MAX_DELAY_MS = 10_000;
/** A service that wants a longer pause is left to the caller: the error has the time. */
const MAX_RETRY_AFTER_MS = 60_000;

/**
 * Returns the pause before a call is repeated, in milliseconds; undefined if a repetition cannot help.
 *
 * @param attempt number of the attempt that failed, from 1
 * @param random from 0 to 1
 */
export function repetitionDelay(error: SignatureAggregatorError, attempt: number, random: number): number | undefined {
  if (!mayPass(error)) return undefined;
  const { retryAfterMs } = error;
  if (retryAfterMs !== undefined) return retryAfterMs <= MAX_RETRY_AFTER_MS ? retryAfterMs : undefined;
  // Full jitter, so that clients that failed together do not come back together.
  return random * Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** (attempt - 1));
}

/** Returns whether another service may answer the same call: this one is unreachable, overloaded, or fails with 5xx. */
export function isOfService(error: SignatureAggregatorError): boolean {
  const { code, status } = error;
  if (code === 'unreachable' || code === 'invalid_answer') return true;
  return status !== undefined && (status >= 500 || status === 429) && mayPass(error);
}

function mayPass({ code, status }: SignatureAggregatorError): boolean {
  if (code === 'unreachable') return true;
  const advice = RETRY_ADVICE[code];
  if (advice !== undefined) return advice === 'may_pass';
  // An answer of a proxy, or a code of a newer service.
  return status !== undefined && (status >= 500 || status === 408 || status === 429);
}
