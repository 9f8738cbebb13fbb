import type { Clock } from '../primitives/clock.ts';
import { AggregatorError } from './aggregator-error.ts';
import { WorkTurns } from './work-turns.ts';

/** Whoever has waited so long is told to come again. */
const TURN_TIMEOUT_MS = 10_000;

/**
 * Turns for work that is no aggregation, and that uses the same P-Chain API and BLS threads: a crowd of one client stands in a line of its
 * own, and not in theirs, where everybody's aggregations would stand behind it.
 *
 * Bound: whoever waits has a connection, of which each has some requests under way.
 *
 * @param most at work at a time; one client alone has half of them
 * @param what they are, in the plural
 */
export function createLookupTurns(clock: Clock, most: number, what: string): WorkTurns {
  const turns = new WorkTurns({
    clock,
    limit: () => most,
    timeoutMs: TURN_TIMEOUT_MS,
    tooLong: () =>
      new AggregatorError(
        'overloaded',
        `${turns.waiting} ${what} wait for their turn, and this one has waited too long`,
      ),
  });
  return turns;
}
