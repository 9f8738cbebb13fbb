import { ParseError } from '../lib/encoding/parse-error.ts';
import { ApiError } from '../pchain/rpc/api-error.ts';
import { AggregatorError } from './aggregator-error.ts';

/**
 * What it means to a request that a question to the P-Chain API failed: an {@link AggregatorError}, or the error itself where it
 * is none of the API's.
 *
 * @param deadline of the questions; that the caller left is to be looked at before
 */
export function asPChainFailure(cause: unknown, deadline: AbortSignal): unknown {
  if (cause instanceof ApiError) {
    const code = cause.kind === 'unavailable' ? 'p_chain_unavailable' : 'p_chain_invalid';
    return new AggregatorError(code, `the P-Chain API failed: ${cause.message}`, { cause });
  }
  if (cause instanceof ParseError) {
    return new AggregatorError('p_chain_invalid', `this service cannot read ${cause.message}`, { cause });
  }
  if (deadline.aborted && cause === deadline.reason) {
    return new AggregatorError('p_chain_unavailable', 'the P-Chain API did not answer in time', { cause });
  }
  return cause;
}
