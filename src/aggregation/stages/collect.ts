import type { Handler } from '../../lib/concurrency/stages.ts';
import type { Job, JobEnd } from '../collection/job.ts';

/** Asks validators, adds up their signatures and verifies the sum. */
export function collect(): Handler<Job, JobEnd> {
  return ({ collection, permit }) => collection.collect(permit);
}
