import type { EventLoopScheduler } from '../lib/concurrency/event-loop-scheduler.ts';
import type { WarpSet } from '../validators/warp-set.ts';

/** A pass over so many takes some milliseconds, or nearly. */
const MANY_VALIDATORS = 500;

/** Before a pass over a set: a large one has a turn of the event loop for itself, round robin over clients. */
export function yieldForLargeSet(
  { validators }: WarpSet,
  { scheduler, client = '' }: { readonly scheduler: EventLoopScheduler; readonly client: string | undefined },
): Promise<void> | undefined {
  if (validators.length <= MANY_VALIDATORS) return undefined;
  return new Promise((resolve) => scheduler.runLater(client, resolve));
}
