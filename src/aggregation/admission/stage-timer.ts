import type { Clock } from '../../lib/concurrency/clock.ts';
import type { AggregationStage, AggregatorMetrics } from '../aggregator-metrics.ts';

/** Measures the stages of one aggregation, each until the next one begins. */
export class StageTimer implements Disposable {
  readonly #clock: Clock;
  readonly #metrics: AggregatorMetrics;
  #stage: AggregationStage;
  #sinceMs: number;

  constructor(clock: Clock, metrics: AggregatorMetrics, first: AggregationStage) {
    this.#clock = clock;
    this.#metrics = metrics;
    this.#stage = first;
    this.#sinceMs = clock.monotonicMs();
  }

  enter(stage: AggregationStage): void {
    if (stage === this.#stage) return;
    this[Symbol.dispose]();
    this.#stage = stage;
    this.#sinceMs = this.#clock.monotonicMs();
  }

  [Symbol.dispose](): void {
    this.#metrics.observeStage(this.#stage, (this.#clock.monotonicMs() - this.#sinceMs) / 1_000);
  }
}
