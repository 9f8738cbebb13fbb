import type { Clock } from './clock.ts';
import { FairQueue } from './fair-queue.ts';

/**
 * Bounds the tasks that start in one turn of the event loop, and yields to it between turns. Waiting tasks start round robin over keys, so
 * that a burst of one key delays the others by one task each. Bound of the queue: that of the callers.
 */
export class EventLoopScheduler {
  readonly #clock: Pick<Clock, 'afterTurn'>;
  readonly #maxPerTurn: number;
  readonly #queue = new FairQueue<string, () => void>();
  #started = 0;
  #isTurnAwaited = false;

  constructor(clock: Pick<Clock, 'afterTurn'>, maxPerTurn: number) {
    this.#clock = clock;
    this.#maxPerTurn = maxPerTurn;
  }

  get waiting(): number {
    return this.#queue.size;
  }

  /** Counts a task that the caller runs now. Returns false if it has to wait for a later turn. */
  tryStart(): boolean {
    if (this.#started >= this.#maxPerTurn || this.#queue.size > 0) return false;
    this.#started += 1;
    this.#awaitTurn();
    return true;
  }

  /** Runs a task now, before this returns, or in a later turn. */
  run(key: string, task: () => void): void {
    if (this.tryStart()) task();
    else this.runLater(key, task);
  }

  /** Runs a task in a later turn, behind the waiting ones. */
  runLater(key: string, task: () => void): void {
    this.#queue.push(key, task);
    this.#awaitTurn();
  }

  #awaitTurn(): void {
    if (this.#isTurnAwaited) return;
    this.#isTurnAwaited = true;
    this.#clock.afterTurn(() => {
      this.#isTurnAwaited = false;
      this.#started = 0;
      while (this.#started < this.#maxPerTurn) {
        const task = this.#queue.shift();
        if (task === undefined) return;
        this.#started += 1;
        this.#awaitTurn();
        task();
      }
    });
  }
}
