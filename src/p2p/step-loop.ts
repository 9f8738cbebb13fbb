import type { Clock } from '../lib/concurrency/clock.ts';

const TICK_MS = 250;

export interface StepLoopOptions {
  readonly clock: Pick<Clock, 'after' | 'afterTurn' | 'monotonicMs'>;
  /** Called four times a second, before the step. */
  readonly onTick: (nowMs: number) => void;
  /** Returns whether another step is due at once. */
  readonly step: (nowMs: number) => boolean;
}

/** Runs a step four times a second, and when one is queued because something has changed. */
export class StepLoop {
  readonly #options: StepLoopOptions;
  #isQueued = false;
  #isClosed = false;
  #cancelTick: () => void;

  constructor(options: StepLoopOptions) {
    this.#options = options;
    this.#cancelTick = this.#scheduleTick();
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Runs one step after a yield to the event loop. */
  queue(): void {
    if (this.#isQueued) return;
    this.#isQueued = true;
    this.#options.clock.afterTurn(() => {
      this.#isQueued = false;
      this.#step();
    });
  }

  close(): void {
    this.#isClosed = true;
    this.#cancelTick();
  }

  #scheduleTick(): () => void {
    const { clock, onTick } = this.#options;
    return clock.after(TICK_MS, () => {
      this.#cancelTick = this.#scheduleTick();
      onTick(clock.monotonicMs());
      this.#step();
    });
  }

  #step(): void {
    const { clock, step } = this.#options;
    if (!this.#isClosed && step(clock.monotonicMs())) this.queue();
  }
}
