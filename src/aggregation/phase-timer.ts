import type { Clock } from '../lib/concurrency/clock.ts';

/**
 * What the time of an aggregation is spent on; the metric and the records of requests call it `stage`. `resolve`: finding the validator set.
 * `connect`: until a validator can be asked. `collect`: until quorum plus buffer is reached or out of reach. `verify`: checking the
 * aggregate, and searching for invalid signatures. `execution`: what the caller waits for without a permit: the transaction is accepted
 * and executed, its signers become known.
 */
export type AggregationPhase = 'resolve' | 'connect' | 'collect' | 'verify' | 'execution';

/** One phase of an aggregation, by the monotonic clock. A phase may occur several times. */
export interface PhaseInterval {
  readonly phase: AggregationPhase;
  readonly sinceMs: number;
  /** Undefined while the phase continues. */
  untilMs: number | undefined;
}

export interface PhaseMetrics {
  observePhase(phase: AggregationPhase, seconds: number): void;
}

/** Measures the phases of one aggregation, each until the next one begins. A metric counts each phase once, with all of its time. */
export class PhaseTimer implements Disposable {
  readonly #clock: Clock;
  readonly #metrics: PhaseMetrics;
  readonly #intervals: PhaseInterval[];
  readonly #totalMs = new Map<AggregationPhase, number>();
  #current: PhaseInterval;

  /** @param intervals receives each phase when it begins */
  constructor(clock: Clock, metrics: PhaseMetrics, first: AggregationPhase, intervals: PhaseInterval[] = []) {
    this.#clock = clock;
    this.#metrics = metrics;
    this.#intervals = intervals;
    this.#current = this.#begin(first);
  }

  enter(phase: AggregationPhase): void {
    if (phase === this.#current.phase) return;
    this.#end();
    this.#current = this.#begin(phase);
  }

  #begin(phase: AggregationPhase): PhaseInterval {
    const interval = { phase, sinceMs: this.#clock.monotonicMs(), untilMs: undefined };
    this.#intervals.push(interval);
    return interval;
  }

  #end(): void {
    const { phase, sinceMs } = this.#current;
    this.#current.untilMs = this.#clock.monotonicMs();
    this.#totalMs.set(phase, (this.#totalMs.get(phase) ?? 0) + this.#current.untilMs - sinceMs);
  }

  [Symbol.dispose](): void {
    this.#end();
    for (const [phase, ms] of this.#totalMs) this.#metrics.observePhase(phase, ms / 1_000);
  }
}
