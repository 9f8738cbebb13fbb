import { type Clock, sleep } from '../../lib/concurrency/clock.ts';
import { startDeadline } from '../../lib/concurrency/deadline.ts';
import { FairSemaphore } from '../../lib/concurrency/fair-semaphore.ts';
import { SingleFlight } from '../../lib/concurrency/single-flight.ts';
import type { Stage } from '../../lib/concurrency/stages.ts';
import { inSpan, NO_SPAN } from '../../telemetry/spans.ts';
import type { Admission } from '../admission/admission.ts';
import type { Lookups } from '../admission/lookups.ts';
import type { Penalties } from '../admission/penalties.ts';
import { AggregatorError } from '../aggregator-error.ts';
import type { AggregatorMetrics } from '../aggregator-metrics.ts';
import {
  type AggregationResult,
  type MessageSubject,
  type Subject,
  settingsOf,
} from '../request/aggregation-request.ts';
import { subjectKey } from '../request/result-key.ts';
import type { SubnetPolicy } from '../subnet-policy.ts';
import type { L1Messages } from '../transactions/l1-messages.ts';
import { type AskedCall, reportPhase } from './calls.ts';

export interface FindOptions {
  readonly l1Messages: Pick<L1Messages, 'ofTransaction' | 'ofJustification'>;
  readonly admission: Pick<Admission, 'awaitTransaction'>;
  readonly lookups: Lookups;
  readonly penalties: Pick<Penalties, 'requireLookups'>;
  readonly subnets: Pick<SubnetPolicy, 'isTracked' | 'requireAllowed'>;
  readonly clock: Clock;
  readonly metrics: Pick<AggregatorMetrics, 'observePhase'>;
}

/** Delays between lookups of one transaction; the last one repeats. */
const DELAYS_MS = [100, 200, 350];
/** Lookups of all requests that wait, at a time. One client gets half. */
const MAX_LOOKUPS = 8;

type TransactionSubject = Extract<Subject, { kind: 'transaction' }>;

/** Finds the message of a transaction, for which it waits as long as the caller does, or of a justification. */
export function find(options: FindOptions): Stage<AskedCall, AggregationResult> {
  const { l1Messages, admission, lookups, penalties, subnets, clock, metrics } = options;
  const waits = new SingleFlight<string, MessageSubject>();
  const permits = new FairSemaphore({
    clock,
    limit: MAX_LOOKUPS,
    keyShare: 1,
    maxQueued: Number.POSITIVE_INFINITY,
  });

  async function findNow(subject: Exclude<Subject, MessageSubject>, signal: AbortSignal): Promise<MessageSubject> {
    const { kind } = subject;
    const found =
      kind === 'transaction'
        ? await l1Messages.ofTransaction(subject, signal)
        : await l1Messages.ofJustification(subject.justification, signal);
    const { message, justification, managerChainID, signingSubnetID } = found;
    return { kind: 'message', message, justification, origin: { kind, managerChainID, signingSubnetID } };
  }

  /** Looks for a transaction until it is found or the wait is over; then undefined. Requests for one transaction share the lookups. */
  async function findWhileWaiting(subject: TransactionSubject, call: AskedCall): Promise<MessageSubject | undefined> {
    const { caller, wait } = call;
    const { signal, client, span = NO_SPAN } = caller;
    const startMs = clock.monotonicMs();
    if (startMs >= wait.untilMs) return undefined;
    penalties.requireLookups(client);
    using deadline = startDeadline(clock, wait.untilMs - startMs, 'waiting for the transaction', signal, wait.ends);
    using stack = new DisposableStack();
    for (let count = 0; ; count += 1) {
      const delayMs = count === 0 ? 0 : (DELAYS_MS[count - 1] ?? DELAYS_MS.at(-1) ?? 0);
      const look = async (flight: AbortSignal): Promise<MessageSubject> => {
        if (delayMs > 0) await sleep(clock, delayMs, flight);
        using _permit = await permits.acquire({ key: client }, flight);
        return await findNow(subject, flight);
      };
      try {
        return await waits.run(subjectKey(subject), look, deadline.signal);
      } catch (error) {
        signal.throwIfAborted();
        // The request's own lookup gives the reason.
        if (deadline.signal.aborted || !isPassing(error)) return undefined;
      }
      if (count > 0) continue;
      // Only now: a transaction that is there needs no permit.
      stack.use(admission.awaitTransaction(client));
      const waiting = span.child('wait for the transaction');
      const missedMs = clock.monotonicMs();
      stack.defer(() => {
        waiting.end();
        const spentMs = clock.monotonicMs() - missedMs;
        metrics.observePhase('execution', spentMs / 1_000);
        reportPhase(call, 'execution', spentMs);
      });
    }
  }

  return (next) => async (call) => {
    const { request, caller } = call;
    const { subject, signingSubnetID: given } = request;
    if (subject.kind === 'message') return await next(call);
    settingsOf(request);
    if (given !== undefined) subnets.requireAllowed(given);
    const waitedFor = subject.kind === 'transaction' ? await findWhileWaiting(subject, call) : undefined;
    const { signal, client, span = NO_SPAN } = caller;
    const lookup = {
      client,
      subnetID: given !== undefined && subnets.isTracked(given) ? given : undefined,
      mayFindNothing: true,
    };
    const key = `message of ${subjectKey(subject)}`;
    const found =
      waitedFor ??
      (await inSpan(span.child('find the message'), () =>
        lookups.run(key, lookup, (flight) => findNow(subject, flight), signal),
      ));
    return await next({ ...call, request: { ...request, subject: found } });
  };
}

/** Whether the transaction may still be accepted. */
function isPassing(error: unknown): boolean {
  return error instanceof AggregatorError && error.code === 'unknown_transaction' && error.retryAfterMs !== undefined;
}
