import type { Clock } from '../lib/concurrency/clock.ts';
import { startDeadline } from '../lib/concurrency/deadline.ts';
import { ParseError } from '../lib/encoding/parse-error.ts';
import { ApiError } from '../pchain/rpc/api-error.ts';
import { AggregatorError } from './aggregator-error.ts';

export interface Patience {
  readonly clock: Clock;
  readonly timeoutMs: number;
}

type Ask<T> = (signal: AbortSignal) => Promise<T>;

/** Asks the P-Chain API. Throws an {@link AggregatorError} if it fails or takes too long, or the parent's reason. */
export async function askPChain<T>({ clock, timeoutMs }: Patience, parent: AbortSignal, ask: Ask<T>): Promise<T> {
  using deadline = startDeadline(clock, timeoutMs, 'asking the P-Chain API', parent);
  try {
    return await ask(deadline.signal);
  } catch (error) {
    parent.throwIfAborted();
    throw asPChainFailure(error, deadline.signal);
  }
}

/** Part of a request's timeout for a lookup that only confirms it, or only improves an error. */
export const CONFIRMING_PART = 0.25;

/** Asks an API for what a request can do without: returns undefined if it fails or takes too long. */
export async function askOptionally<T>(
  { clock, timeoutMs }: Patience,
  parent: AbortSignal,
  ask: Ask<T>,
): Promise<T | undefined> {
  using deadline = startDeadline(clock, timeoutMs, 'an optional call of an API', parent);
  try {
    return await ask(deadline.signal);
  } catch (error) {
    parent.throwIfAborted();
    if (error instanceof ApiError || deadline.signal.aborted) return undefined;
    throw error;
  }
}

function asPChainFailure(cause: unknown, deadline: AbortSignal): unknown {
  if (cause instanceof ApiError) {
    if (cause.code === 'height_not_served') return new AggregatorError('height_not_served', cause.message, { cause });
    const code = cause.code === 'unavailable' ? 'p_chain_unavailable' : 'p_chain_invalid';
    const { retryAfterMs } = cause;
    return new AggregatorError(code, `the P-Chain API failed: ${cause.message}`, { retryAfterMs, cause });
  }
  if (cause instanceof ParseError) {
    return new AggregatorError('p_chain_invalid', `this service cannot read ${cause.message}`, { cause });
  }
  if (deadline.aborted && cause === deadline.reason) {
    return new AggregatorError('p_chain_unavailable', 'the P-Chain API did not answer in time', { cause });
  }
  return cause;
}
