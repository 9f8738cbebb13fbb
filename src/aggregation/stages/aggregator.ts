import { stages } from '../../lib/concurrency/stages.ts';
import type { Job, JobEnd } from '../collection/job.ts';
import type { AggregationRequest, AggregationResult } from '../request/aggregation-request.ts';
import { type AggregatorOptions, createAggregatorParts } from './aggregator-parts.ts';
import { awaitExecution, collect } from './await-execution.ts';
import { awaitSigners } from './await-signers.ts';
import { type AskedCall, type Caller, type PlannedCall, startWait, type Wait } from './calls.ts';
import { find } from './find.ts';
import { followSet } from './follow-set.ts';
import { observe } from './observe.ts';
import { queue } from './queue.ts';
import { recall } from './recall.ts';
import { charge, remembered } from './remembered.ts';
import { replicate } from './replicate.ts';
import { resolve } from './resolve.ts';
import { share } from './share.ts';

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
  const parts = createAggregatorParts(options);
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
    using wait = begun ?? startWait(options.clock, caller);
    return await asked({ request: { pChainMessages: options.pChainMessages, ...request }, caller, wait });
  };
  return { aggregate };
}
