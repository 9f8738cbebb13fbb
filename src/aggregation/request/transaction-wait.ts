import { type Clock, sleep } from '../../lib/concurrency/clock.ts';
import { startDeadline } from '../../lib/concurrency/deadline.ts';
import { FairSemaphore } from '../../lib/concurrency/fair-semaphore.ts';
import { SingleFlight } from '../../lib/concurrency/single-flight.ts';
import { NO_SPAN } from '../../telemetry/spans.ts';
import type { Admission } from '../admission/admission.ts';
import type { Penalties } from '../admission/penalties.ts';
import { AggregatorError } from '../aggregator-error.ts';
import type { AggregatorMetrics } from '../aggregator-metrics.ts';
import type { L1Messages } from '../transactions/l1-messages.ts';
import type { Subject } from './aggregation-request.ts';
import { subjectKey } from './result-key.ts';
import type { Wait, Waiter } from './shared-collection.ts';

export interface TransactionWaitOptions {
  readonly l1Messages: Pick<L1Messages, 'ofTransaction'>;
  readonly admission: Pick<Admission, 'awaitTransaction'>;
  readonly penalties: Pick<Penalties, 'requireLookups'>;
  readonly clock: Clock;
  readonly metrics: Pick<AggregatorMetrics, 'observeStage'>;
}

/** Delays between lookups of one transaction; the last one repeats. */
const DELAYS_MS = [100, 200, 350];
/** Lookups of all requests that wait, at a time. One client gets half. */
const MAX_LOOKUPS = 8;

/**
 * Returns a function that looks for a request's transaction until it is found or the request's wait is over. Requests for one transaction share
 * the lookups. What is found, or not, is left to the lookup of the request itself.
 */
export function createTransactionWait({ l1Messages, admission, penalties, clock, metrics }: TransactionWaitOptions) {
  const lookups = new SingleFlight<string, void>();
  const permits = new FairSemaphore({
    clock,
    limit: MAX_LOOKUPS,
    keyShare: 1,
    maxQueued: Number.POSITIVE_INFINITY,
  });

  /** @throws {AggregatorError} `overloaded`, or the signal's reason */
  return async (subject: Subject, waiter: Waiter, wait: Wait): Promise<void> => {
    const { signal, client, span = NO_SPAN } = waiter;
    const startMs = clock.monotonicMs();
    if (subject.kind !== 'transaction' || startMs >= wait.untilMs) return;
    penalties.requireLookups(client);
    using deadline = startDeadline(clock, wait.untilMs - startMs, 'waiting for the transaction', signal, wait.ends);
    using stack = new DisposableStack();
    for (let count = 0; ; count += 1) {
      const delayMs = count === 0 ? 0 : (DELAYS_MS[count - 1] ?? DELAYS_MS.at(-1) ?? 0);
      const look = async (flight: AbortSignal): Promise<void> => {
        if (delayMs > 0) await sleep(clock, delayMs, flight);
        using _permit = await permits.acquire({ key: client }, flight);
        await l1Messages.ofTransaction(subject, flight);
      };
      try {
        return await lookups.run(subjectKey(subject), look, deadline.signal);
      } catch (error) {
        signal.throwIfAborted();
        if (deadline.signal.aborted || !isPassing(error)) return;
      }
      if (count > 0) continue;
      // Only now: a transaction that is there needs no permit.
      stack.use(admission.awaitTransaction(client));
      const waiting = span.child('wait for the transaction');
      const missedMs = clock.monotonicMs();
      stack.defer(() => {
        waiting.end();
        const spentMs = clock.monotonicMs() - missedMs;
        wait.spentMs += spentMs;
        metrics.observeStage('execution', spentMs / 1_000);
        waiter.onStage?.('execution', spentMs);
      });
    }
  };
}

/** Whether the transaction may still be accepted. */
function isPassing(error: unknown): boolean {
  return error instanceof AggregatorError && error.code === 'unknown_transaction' && error.retryAfterMs !== undefined;
}
