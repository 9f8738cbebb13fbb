import { ApiError } from '../pchain/api-error.ts';
import { ParseError } from '../primitives/parse-error.ts';
import { AggregatorError } from './aggregator-error.ts';

/**
 * What failed while the P-Chain API was asked, as the error that clients get; any other error as it is.
 *
 * @param signal of the time that the questions had
 */
export function asApiFailure(cause: unknown, signal: AbortSignal): unknown {
  if (cause instanceof ApiError) {
    const code = cause.kind === 'unavailable' ? 'p_chain_unavailable' : 'p_chain_invalid';
    return new AggregatorError(code, `the P-Chain API failed: ${cause.message}`, { cause });
  }
  if (cause instanceof ParseError) {
    return new AggregatorError('p_chain_invalid', `this service cannot read ${cause.message}`, { cause });
  }
  if (signal.aborted && cause === signal.reason) {
    return new AggregatorError('p_chain_unavailable', 'the P-Chain API did not answer in time', { cause });
  }
  return cause;
}
