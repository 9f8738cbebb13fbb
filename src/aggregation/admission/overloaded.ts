import type { Counter } from '../../telemetry/metrics.ts';
import { AggregatorError } from '../aggregator-error.ts';

/** What was used up: see {@link overloaded}. */
export type OverloadReason =
  /** All places. */
  | 'full'
  /** The share of a client, of a subnet, of all untracked subnets, or of all chains that are not known yet. */
  | 'share'
  /** The time in the queue: of an aggregation, or of a view or verification. */
  | 'late'
  | 'late_lookup'
  /** A client's penalty points: for what does not exist, or for messages that nobody signs. */
  | 'missed'
  | 'refused';

/** Counts a refusal, and makes its error. */
export function overloaded(refusals: Counter<'reason'>, reason: OverloadReason, message: string): AggregatorError {
  refusals.inc({ reason });
  // A flood is refused thousands of times a second, and a stack would take most of the time.
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return new AggregatorError('overloaded', message);
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}
