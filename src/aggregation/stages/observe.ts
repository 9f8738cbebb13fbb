import type { Clock } from '../../lib/concurrency/clock.ts';
import type { Stage } from '../../lib/concurrency/stages.ts';
import { PublicError } from '../../lib/net/coded-error.ts';
import { AggregatorError } from '../aggregator-error.ts';
import type { AggregatorMetrics, RequestOutcome } from '../aggregator-metrics.ts';
import type { AggregationResult } from '../request/aggregation-request.ts';
import type { AskedCall } from './calls.ts';

export interface ObserveOptions {
  readonly clock: Clock;
  readonly metrics: Pick<AggregatorMetrics, 'inFlight' | 'observeDuration'>;
}

/** Counts requests by outcome and duration. */
export function observe({ clock, metrics }: ObserveOptions): Stage<AskedCall, AggregationResult> {
  return (next) => async (call) => {
    const { caller, wait } = call;
    const startMs = clock.monotonicMs();
    let outcome: RequestOutcome | undefined;
    metrics.inFlight.inc();
    try {
      const result = await next(call);
      outcome = 'signed';
      return result;
    } catch (error) {
      outcome = outcomeOf(error, caller.signal);
      throw error;
    } finally {
      metrics.inFlight.dec();
      const tookMs = clock.monotonicMs() - startMs - wait.spentMs;
      if (outcome !== undefined && caller.isBackground !== true) metrics.observeDuration(outcome, tookMs / 1_000);
    }
  };
}

/** Undefined for a refusal of the caller's own, such as a rate limit. */
function outcomeOf(error: unknown, signal: AbortSignal): RequestOutcome | undefined {
  if (error instanceof AggregatorError) return error.code;
  if (signal.aborted) return 'aborted';
  return error instanceof PublicError ? undefined : 'internal_error';
}
