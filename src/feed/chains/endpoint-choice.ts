import type { Clock } from '../../lib/concurrency/clock.ts';
import type { BlockCalls } from '../blocks/block-source.ts';

export interface ChosenEndpoint {
  /** Its place in the configuration. */
  readonly index: number;
  readonly calls: BlockCalls;
}

/** Time between comparisons of all endpoints. */
const COMPARE_MS = 60_000;
/**
 * Blocks that a node may be behind for good. A head that is further ahead and stands still may be invented. While no head moves, nothing tells a
 * node that is behind from one that invents some blocks: the latter is read, too.
 */
const MAX_LEAD = 32;

/** Chooses the endpoint from which a chain is read: the first of the configuration that works. */
export function createEndpointChoice(endpoints: readonly BlockCalls[], clock: Clock) {
  let index = 0;
  let comparedMs = Number.NEGATIVE_INFINITY;
  /** Heads at the last comparison; undefined for an endpoint that did not answer. */
  let heads: readonly (number | undefined)[] = [];

  async function compare(signal: AbortSignal): Promise<void> {
    const before = heads;
    heads = await Promise.all(endpoints.map(({ headBlock }) => headBlock(signal).catch(() => undefined)));
    const moving = heads.findIndex((head, each) => head !== undefined && head > (before[each] ?? head));
    const current = heads[index];
    const ahead = heads.findIndex(
      (head) => head !== undefined && current !== undefined && head > current && head - current <= MAX_LEAD,
    );
    if (moving >= 0) index = moving;
    else if (ahead >= 0) index = ahead;
  }

  return {
    count: endpoints.length,
    get current(): ChosenEndpoint {
      return { index, calls: endpoints[index] as BlockCalls };
    },
    /** Leaves an endpoint that has failed. */
    leave(): void {
      index = (index + 1) % endpoints.length;
    },
    /**
     * Compares the endpoints once a minute without delaying the caller, and chooses the first one whose head has moved since: it may have failed
     * before, or the current one may stand still without an error. If none has moved, it chooses one that is a few blocks ahead.
     */
    compareWhenDue(signal: AbortSignal): void {
      if (endpoints.length === 1 || clock.monotonicMs() - comparedMs < COMPARE_MS) return;
      comparedMs = clock.monotonicMs();
      void compare(signal);
    },
  };
}

export type EndpointChoice = ReturnType<typeof createEndpointChoice>;
