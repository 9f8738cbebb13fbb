import { JobsOverloaded } from '../../bls/service/job-queue.ts';
import type { Counter } from '../../telemetry/metrics.ts';
import { AggregatorError, withoutStack } from '../aggregator-error.ts';

export type OverloadReason =
  | 'full'
  /** The share of a client, of a subnet, of all untracked subnets, or of all unknown chains. */
  | 'share'
  /** Timeout in the queue: of an aggregation, or of a lookup. */
  | 'late'
  | 'late_lookup'
  /** Requests that wait until a transaction is accepted or executed. */
  | 'waiting'
  /** A client's penalty points: for lookups that found nothing, or for messages that no validator signed. */
  | 'missed'
  | 'refused';

export function overloaded(refusals: Counter<'reason'>, reason: OverloadReason, message: string): AggregatorError {
  refusals.inc({ reason });
  // Capturing a stack would take most of the time of refusing a flood.
  return withoutStack(() => new AggregatorError('overloaded', message));
}

/** A full queue of the BLS threads refuses the request. */
export async function unlessThreadsOverloaded<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof JobsOverloaded) throw new AggregatorError('overloaded', error.message, { cause: error });
    throw error;
  }
}
