import { EventLoopScheduler } from '../../lib/concurrency/event-loop-scheduler.ts';
import { stages } from '../../lib/concurrency/stages.ts';
import { createAdmission } from '../admission/admission.ts';
import { createLookups } from '../admission/lookups.ts';
import type { Penalties } from '../admission/penalties.ts';
import { QueryConcurrency } from '../admission/query-concurrency.ts';
import { RunningJobs } from '../admission/running-jobs.ts';
import type { CollectionDeps } from '../collection/collection-context.ts';
import type { Job, JobEnd } from '../collection/job.ts';
import type { AggregationRequest, AggregationResult, PChainMessages } from '../request/aggregation-request.ts';
import { createResultCache } from '../results/result-cache.ts';
import type { SigningResolver } from '../signers/signing-resolver.ts';
import type { SubnetPolicy } from '../subnet-policy.ts';
import { awaitExecution, collect } from './await-execution.ts';
import { awaitSigners } from './await-signers.ts';
import { type AskedCall, type Caller, type PlannedCall, startWait, type Wait } from './calls.ts';
import { charge } from './charge.ts';
import { type FindOptions, find } from './find.ts';
import { followSet } from './follow-set.ts';
import { observe } from './observe.ts';
import { queue } from './queue.ts';
import { recall } from './recall.ts';
import { type RememberedOptions, remembered } from './remembered.ts';
import { type ReplicateOptions, replicate } from './replicate.ts';
import { resolve } from './resolve.ts';
import { type RunningJob, share } from './share.ts';

export interface AggregatorOptions extends Omit<CollectionDeps, 'observeDelay' | 'queries' | 'scheduler'> {
  readonly resolver: SigningResolver;
  readonly l1Messages: FindOptions['l1Messages'];
  readonly subnets: SubnetPolicy;
  readonly penalties: Penalties;
  /** Finds registrations that the P-Chain has accepted since validators refused the end of their validations. */
  readonly index?: RememberedOptions['index'];
  /** The default of requests. */
  readonly pChainMessages?: PChainMessages | undefined;
  readonly distributedFlights?: ReplicateOptions['distributedFlights'];
}

export interface Aggregator {
  /**
   * Returns the signed message. Equal concurrent requests share one job.
   *
   * @param begun the caller's times, if they began before
   */
  aggregate(request: AggregationRequest, caller: Caller, begun?: Wait): Promise<AggregationResult>;
}

/** Composes what happens to a request: three lists of stages, each of one type. `resolve` and `share` are the doors between them. */
export function createAggregator(options: AggregatorOptions): Aggregator {
  const { clock, metrics, limits, pChainMessages } = options;
  const admission = createAdmission(options);
  const parts = {
    ...options,
    admission,
    lookups: createLookups({ ...options, admission }),
    results: createResultCache(options),
    jobs: new RunningJobs<RunningJob>(),
    observeDelay: admission.observeDelay,
    queries: new QueryConcurrency({ clock, maxQueries: limits.maxQueriesInFlight }),
    scheduler: new EventLoopScheduler(clock, 1),
  };
  metrics.showQueries(parts.queries);
  const job = stages<Job, JobEnd>(
    replicate(parts), // one replica signs for all: the lease is held over all of what follows
    awaitExecution(), // while validators that refuse may still sign: asks some again without permits, then collects again
    collect(), // asks, adds up, verifies
  );
  const planned = stages<PlannedCall, AggregationResult>(
    charge(), // the units of the work, now known
    remembered(parts), // results and failures in memory
    followSet(parts), // again, if the set changed while it was signed
    queue(parts), // the caller's own place, left when an equal request's job runs
    share(parts, job), // one job for equal requests; each caller has its own times
  );
  const asked = stages<AskedCall, AggregationResult>(
    observe(parts), // outcome and duration
    recall(parts), // results in memory, without a wait; what is not there costs units
    awaitSigners(parts), // tries again what passes: validators of a new L1, a slow API
    find(parts), // waits for the transaction, and takes its message
    resolve(parts, planned), // who signs, with which quorum, at which height
  );
  const aggregate: Aggregator['aggregate'] = async (request, caller, begun) => {
    using wait = begun ?? startWait(clock, caller);
    return await asked({ request: { pChainMessages, ...request }, caller, wait });
  };
  return { aggregate };
}
