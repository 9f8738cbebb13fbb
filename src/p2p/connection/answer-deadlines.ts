import type { Clock } from '../../lib/concurrency/clock.ts';

/** One that waits for an answer, in the line of those that have as much time as it. */
export interface Awaited {
  readonly sentMs: number;
  before: Awaited | undefined;
  after: Awaited | undefined;
  /** Half of its time has passed. */
  onHalf(): void;
  /** All of its time has passed. It is to be removed then. */
  onDue(): void;
}

/**
 * The times of all that have equally long for an answer: they are due in the order in which they were sent, so one timer is enough for
 * thousands. Two timers for each were a tenth of what a question to a validator leaves for the collector of garbage.
 */
export class AnswerDeadlines {
  readonly #clock: Clock;
  readonly timeoutMs: number;
  #first: Awaited | undefined;
  #last: Awaited | undefined;
  /** The first whose half is still to come. */
  #firstOfHalf: Awaited | undefined;
  #cancelTimer: (() => void) | undefined;

  constructor(clock: Clock, timeoutMs: number) {
    this.#clock = clock;
    this.timeoutMs = timeoutMs;
  }

  get isEmpty(): boolean {
    return this.#first === undefined;
  }

  add(awaited: Awaited): void {
    awaited.before = this.#last;
    if (this.#last === undefined) this.#first = awaited;
    else this.#last.after = awaited;
    this.#last = awaited;
    this.#firstOfHalf ??= awaited;
    if (this.#cancelTimer === undefined) this.#setTimer();
  }

  /** Its answer has come, or nobody waits for it any more. */
  remove(awaited: Awaited): void {
    const { before, after } = awaited;
    if (before === undefined) this.#first = after;
    else before.after = after;
    if (after === undefined) this.#last = before;
    else after.before = before;
    if (this.#firstOfHalf === awaited) this.#firstOfHalf = after;
    awaited.before = undefined;
    awaited.after = undefined;
    if (this.#first !== undefined) return;
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
  }

  /** For the next of them. It may have been removed by then: that is cheaper than a timer for each. */
  #setTimer(): void {
    const dueMs = (this.#first?.sentMs ?? 0) + this.timeoutMs;
    const halfMs = this.#firstOfHalf === undefined ? dueMs : this.#firstOfHalf.sentMs + this.timeoutMs / 2;
    const delayMs = Math.max(0, Math.min(dueMs, halfMs) - this.#clock.monotonicMs());
    this.#cancelTimer = this.#clock.after(delayMs, () => this.#onTimer());
  }

  #onTimer(): void {
    this.#cancelTimer = undefined;
    const nowMs = this.#clock.monotonicMs();
    for (;;) {
      const half = this.#firstOfHalf;
      if (half === undefined || half.sentMs + this.timeoutMs / 2 > nowMs) break;
      this.#firstOfHalf = half.after;
      half.onHalf();
    }
    for (;;) {
      const due = this.#first;
      if (due === undefined || due.sentMs + this.timeoutMs > nowMs) break;
      due.onDue();
    }
    if (this.#first !== undefined && this.#cancelTimer === undefined) this.#setTimer();
  }
}
