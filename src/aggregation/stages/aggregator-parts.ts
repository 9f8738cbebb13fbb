import { EventLoopScheduler } from '../../lib/concurrency/event-loop-scheduler.ts';
import { createAdmission } from '../admission/admission.ts';
import { createLookups } from '../admission/lookups.ts';
import type { Penalties } from '../admission/penalties.ts';
import { QueryConcurrency } from '../admission/query-concurrency.ts';
import { RunningJobs } from '../admission/running-jobs.ts';
import type { CollectionDeps } from '../collection/collection-context.ts';
import type { PChainMessages } from '../request/aggregation-request.ts';
import { createResultCache } from '../results/result-cache.ts';
import type { SigningResolver } from '../signers/signing-resolver.ts';
import type { SubnetPolicy } from '../subnet-policy.ts';
import type { FindOptions } from './find.ts';
import type { RememberedOptions } from './remembered.ts';
import type { ReplicateOptions } from './replicate.ts';
import type { RunningJob } from './share.ts';

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

/** Makes what the stages of one aggregator share: who may work, what is remembered, which jobs run. */
export function createAggregatorParts(options: AggregatorOptions) {
  const { clock, limits, metrics } = options;
  const admission = createAdmission(options);
  const queries = new QueryConcurrency({ clock, maxQueries: limits.maxQueriesInFlight });
  metrics.showQueries(queries);
  return {
    ...options,
    admission,
    lookups: createLookups({ ...options, admission }),
    results: createResultCache(options),
    jobs: new RunningJobs<RunningJob>(),
    observeDelay: admission.observeDelay,
    queries,
    scheduler: new EventLoopScheduler(clock, 1),
  };
}
