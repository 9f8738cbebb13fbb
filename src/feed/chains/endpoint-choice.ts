import type { Clock } from '../../lib/concurrency/clock.ts';
import type { BlockCalls } from '../blocks/block-source.ts';

export interface ChosenEndpoint {
  /** Its place in the configuration. */
  readonly index: number;
  readonly calls: BlockCalls;
}

/** Time between comparisons of all endpoints. */
const COMPARE_MS = 60_000;

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
    if (moving >= 0) index = moving;
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
     * before, or the current one may stand still without an error.
     */
    compareWhenDue(signal: AbortSignal): void {
      if (endpoints.length === 1 || clock.monotonicMs() - comparedMs < COMPARE_MS) return;
      comparedMs = clock.monotonicMs();
      void compare(signal);
    },
  };
}

export type EndpointChoice = ReturnType<typeof createEndpointChoice>;
