import { type Clock, sleep } from '../../lib/concurrency/clock.ts';
import type { Stage } from '../../lib/concurrency/stages.ts';
import type { Admission } from '../admission/admission.ts';
import { AggregatorError, type AggregatorErrorCode } from '../aggregator-error.ts';
import type { AggregatorMetrics } from '../aggregator-metrics.ts';
import type { AggregationResult } from '../request/aggregation-request.ts';
import { type AskedCall, reportPhase } from './calls.ts';

export interface AwaitSignersOptions {
  readonly admission: Pick<Admission, 'awaitTransaction'>;
  readonly clock: Clock;
  readonly metrics: Pick<AggregatorMetrics, 'observePhase'>;
}

/** Raised before any validator is asked, and over without an act of the client. */
const PASSING: ReadonlySet<AggregatorErrorCode> = new Set<AggregatorErrorCode>([
  'no_validators_yet',
  'p_chain_unavailable',
  'chain_rpc_unavailable',
]);
const PAUSE_MS = 1_000;

/** Tries again while a caller waits for the signers: the validators of a new L1 are not proposed yet, or an API is slow. */
export function awaitSigners({ admission, clock, metrics }: AwaitSignersOptions): Stage<AskedCall, AggregationResult> {
  async function pause(call: AskedCall): Promise<void> {
    const { signal, client } = call.caller;
    using _permit = admission.awaitTransaction(client);
    await sleep(clock, PAUSE_MS, signal);
    metrics.observePhase('execution', PAUSE_MS / 1_000);
    reportPhase(call, 'execution', PAUSE_MS);
  }

  return (next) => async (call) => {
    for (;;) {
      try {
        return await next(call);
      } catch (error) {
        const isPassing = error instanceof AggregatorError && PASSING.has(error.code);
        if (!isPassing || clock.monotonicMs() >= call.wait.signersUntilMs) throw error;
      }
      await pause(call);
    }
  };
}
