import type { Clock } from '../primitives/clock.ts';
import { AggregatorError } from './aggregator-error.ts';
import type { AggregatorMetrics, LookupKind } from './aggregator-metrics.ts';
import { WorkTurns } from './work-turns.ts';

/** Whoever has waited so long is told to come again. */
const TURN_TIMEOUT_MS = 10_000;

export type LookupMetrics = Pick<AggregatorMetrics, 'admissionRefusals' | 'showLookups'>;

export interface LookupTurnsOptions {
  readonly clock: Clock;
  readonly metrics: LookupMetrics;
  readonly kind: LookupKind;
  /** At work at a time; one client alone has half of them. */
  readonly most: number;
  /** What they are, in the plural. */
  readonly what: string;
}

/**
 * Turns for work that is no aggregation, and that uses the same P-Chain API and BLS threads: a crowd of one client stands in a line of its
 * own, and not in theirs, where everybody's aggregations would stand behind it.
 *
 * Bound: whoever waits has a connection, of which each has some requests under way.
 */
export function createLookupTurns({ clock, metrics, kind, most, what }: LookupTurnsOptions): WorkTurns {
  const turns = new WorkTurns({
    clock,
    limit: () => most,
    timeoutMs: TURN_TIMEOUT_MS,
    tooLong() {
      metrics.admissionRefusals.inc({ reason: 'late_lookup' });
      return new AggregatorError(
        'overloaded',
        `${turns.waiting} ${what} wait for their turn, and this one has waited too long`,
      );
    },
  });
  metrics.showLookups(kind, turns);
  return turns;
}
