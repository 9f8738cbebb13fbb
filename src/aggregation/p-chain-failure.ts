import { ParseError } from '../lib/encoding/parse-error.ts';
import { ApiError } from '../pchain/rpc/api-error.ts';
import { AggregatorError } from './aggregator-error.ts';

/** Converts a failure of the P-Chain API to an {@link AggregatorError}. Check the caller's own signal first. */
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
