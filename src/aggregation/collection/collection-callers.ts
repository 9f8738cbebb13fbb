import type { TallySummary } from '../validators/validator-outcome.ts';

/** The end of a collection, or of one caller's part in it, without a quorum. */
export interface Insufficient {
  readonly kind: 'insufficient';
  readonly summary: TallySummary;
  /** Weight of the validators that refused with a code that no later block changes. */
  readonly refusedForGood: bigint;
}

/** A request that shares a collection. */
export interface CollectionCaller {
  readonly joinedMs: number;
  /** End of the time in which the client expects the transaction to be executed. */
  readonly waitUntilMs: number;
  /** Fails this caller alone, because its time is over. */
  fail(outcome: Insufficient): void;
}

/**
 * Callers of one collection. Each has its own time, which begins when it joins, when validators can be asked, or when its wait ends, whichever
 * is the latest. The collection continues for the last of them.
 */
export class CollectionCallers {
  readonly #callers = new Set<CollectionCaller>();
  /** Called after each change. */
  onChange: () => void = () => undefined;

  /** @returns a function to be called when the caller leaves */
  join(caller: CollectionCaller): () => void {
    this.#callers.add(caller);
    this.onChange();
    return () => this.#leave(caller);
  }

  /** The beginning of the first caller's time, at least `startMs`. */
  first(startMs: number): number {
    const times = this.#times(startMs);
    return times.length === 0 ? startMs : Math.min(...times);
  }

  /** The beginning of the last caller's time, at least `startMs`. */
  last(startMs: number): number {
    return Math.max(startMs, ...this.#times(startMs));
  }

  /** Fails callers whose time has reached `durationMs`, except the last ones. */
  failAfter(durationMs: number, nowMs: number, startMs: number, outcome: () => Insufficient): void {
    const lastMs = this.last(startMs);
    for (const caller of Array.from(this.#callers)) {
      const ownMs = beginOf(caller, startMs);
      if (ownMs + durationMs > nowMs || ownMs === lastMs) continue;
      this.#leave(caller);
      caller.fail(outcome());
    }
  }

  #times(startMs: number): readonly number[] {
    return Array.from(this.#callers, (caller) => beginOf(caller, startMs));
  }

  #leave(caller: CollectionCaller): void {
    if (this.#callers.delete(caller)) this.onChange();
  }
}

function beginOf({ joinedMs, waitUntilMs }: CollectionCaller, startMs: number): number {
  return Math.max(joinedMs, waitUntilMs, startMs);
}
