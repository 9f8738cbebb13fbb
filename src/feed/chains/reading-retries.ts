import { backoffMs } from '../../lib/concurrency/backoff.ts';
import type { Clock } from '../../lib/concurrency/clock.ts';
import { DeadlineExceeded } from '../../lib/concurrency/deadline.ts';
import { ApiError } from '../../pchain/rpc/api-error.ts';
import { StoreError } from '../../store/local/sqlite.ts';
import { BlocksGone } from '../blocks/absent-blocks.ts';
import { ChainContradiction, NotYet } from '../blocks/block-reading.ts';
import type { ChainProblem } from './chain-problem.ts';
import type { EndpointChoice } from './endpoint-choice.ts';

/** Delays while a block is accepted but not executed. */
const EXECUTION_PAUSES = { baseMs: 25, maxMs: 250 };
const FAILURE_PAUSES = { baseMs: 500, maxMs: 10_000 };
/** The RPC of a stopped chain may be corrected without a restart. */
const STOPPED_PAUSE_MS = 30_000;
/** Time after which the next endpoint is asked for a block that this one does not have yet. */
const PATIENCE_MS = 3_000;

/** Creates the state that decides after a failure which endpoint is read next, and when. */
export function createRetries(clock: Clock, choice: EndpointChoice, problem: ChainProblem) {
  /** Failures in a row, of all endpoints. */
  let failures = 0;
  /** Waits for the same block. */
  let waits = 0;
  let waitingSinceMs: number | undefined;

  function wait(error: NotYet): number {
    const nowMs = clock.monotonicMs();
    waitingSinceMs ??= nowMs;
    waits += 1;
    problem.note(error.message, error);
    if (nowMs - waitingSinceMs >= PATIENCE_MS) {
      waitingSinceMs = nowMs;
      choice.leave();
    }
    return backoffMs(waits, EXECUTION_PAUSES);
  }

  return {
    /** Begins the waits for the next block. */
    restartWaits(): void {
      waits = 0;
      waitingSinceMs = undefined;
    },
    succeed(): void {
      failures = 0;
      waits = 0;
      waitingSinceMs = undefined;
    },
    /** Returns the milliseconds until the next try: none while there is an endpoint that was not tried. */
    fail(error: unknown): number {
      if (error instanceof NotYet) return wait(error);
      failures += 1;
      const { index } = choice.current;
      choice.leave();
      const isEach = failures % choice.count === 0;
      if (error instanceof ChainContradiction || error instanceof BlocksGone) {
        if (!isEach) {
          if (error instanceof ChainContradiction) problem.warnOfEndpoint(index, error);
          return 0;
        }
        problem.stop(error.message, error);
        return STOPPED_PAUSE_MS;
      }
      if (error instanceof ApiError || error instanceof StoreError || error instanceof DeadlineExceeded)
        problem.note(error.message, error);
      else problem.stop(`an unforeseen error: ${String(error)}`, error, 'a bug in reading a chain; trying again');
      return isEach ? backoffMs(failures / choice.count, FAILURE_PAUSES) : 0;
    },
  };
}
