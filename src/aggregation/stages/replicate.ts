import type { BlsVerifier } from '../../bls/service/bls-service.ts';
import type { Clock } from '../../lib/concurrency/clock.ts';
import type { Stage } from '../../lib/concurrency/stages.ts';
import type { DistributedSingleFlight, SharedOutcome } from '../../store/redis/distributed-single-flight.ts';
import type { AggregationLimits } from '../aggregation-limits.ts';
import type { Job, JobEnd } from '../collection/job.ts';
import { verifiedEnd } from '../results/signed-result.ts';

export interface ReplicateOptions {
  /** Undefined without a store that replicas share. */
  readonly distributedFlights?: DistributedSingleFlight | undefined;
  readonly bls: BlsVerifier;
  readonly clock: Clock;
  readonly limits: Pick<AggregationLimits, 'requestTimeoutMs'>;
}

/** The share of the callers' time that is left for a collection of this replica, after it waited for another one. */
const OWN_SHARE = 0.25;
/** Equal requests come within minutes. At 1 KB each, 100 messages a second are 60 MB in the store. */
const RESULT_LIFETIME_MS = 10 * 60_000;
/** For replicas that wait now: a later request may reach the whole buffer. */
const PARTIAL_RESULT_LIFETIME_MS = 3_000;

/** Lets one replica sign for all: it holds the lease over all of what follows, and the others verify its signed message. */
export function replicate({ distributedFlights, bls, clock, limits }: ReplicateOptions): Stage<Job, JobEnd> {
  return (next) => async (job) => {
    if (distributedFlights === undefined) return await next(job);
    const { key, plan, permit, times, signal } = job;
    // The store and another replica take no CPU.
    permit.rest();
    const startMs = clock.monotonicMs();
    return await distributedFlights.run<JobEnd>(
      `work:${key}`,
      {
        patienceMs: () => times.deadlineMs() - startMs - OWN_SHARE * limits.requestTimeoutMs,
        work: () => next(job),
        share: toShared,
        accept: (bytes) => verifiedEnd(bytes, plan, bls, signal),
      },
      signal,
    );
  };
}

/** Returns what other replicas use of an end: a signed message, which they verify. */
function toShared(end: JobEnd): SharedOutcome | undefined {
  if (end.kind !== 'signed') return undefined;
  const ttlMs = end.isTargetReached ? RESULT_LIFETIME_MS : PARTIAL_RESULT_LIFETIME_MS;
  return { bytes: end.signedMessage, ttlMs };
}
