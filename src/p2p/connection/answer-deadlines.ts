import type { Clock } from '../../lib/concurrency/clock.ts';

export interface AnswerDeadlinesOptions<Request> {
  readonly clock: Clock;
  readonly timeoutMs: number;
  /** Called after half of a request's time. */
  readonly onHalf: (request: Request) => void;
  /** Called after a request's time. Must remove the request. */
  readonly onDue: (request: Request) => void;
}

/**
 * Deadlines of requests with one timeout, which are due in the order in which they were sent: one timer serves thousands. Two timers
 * for each request were a tenth of its garbage.
 */
export class AnswerDeadlines<Request extends { readonly sentMs: number }> {
  readonly #options: AnswerDeadlinesOptions<Request>;
  readonly #waiting = new Set<Request>();
  readonly #beforeHalf = new Set<Request>();
  #cancelTimer: (() => void) | undefined;

  constructor(options: AnswerDeadlinesOptions<Request>) {
    this.#options = options;
  }

  get timeoutMs(): number {
    return this.#options.timeoutMs;
  }

  get isEmpty(): boolean {
    return this.#waiting.size === 0;
  }

  add(request: Request): void {
    this.#waiting.add(request);
    this.#beforeHalf.add(request);
    if (this.#cancelTimer === undefined) this.#setTimer();
  }

  remove(request: Request): void {
    this.#waiting.delete(request);
    this.#beforeHalf.delete(request);
    if (!this.isEmpty) return;
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
  }

  /** Sets a timer for the next event. Its request may be removed before: that is cheaper than a timer for each request. */
  #setTimer(): void {
    const { clock, timeoutMs } = this.#options;
    const [next] = this.#waiting;
    const [nextBeforeHalf] = this.#beforeHalf;
    const dueMs = (next?.sentMs ?? 0) + timeoutMs;
    const halfMs = nextBeforeHalf === undefined ? dueMs : nextBeforeHalf.sentMs + timeoutMs / 2;
    const delayMs = Math.max(0, Math.min(dueMs, halfMs) - clock.monotonicMs());
    this.#cancelTimer = clock.after(delayMs, () => this.#onTimer());
  }

  #onTimer(): void {
    this.#cancelTimer = undefined;
    const { clock, timeoutMs, onHalf, onDue } = this.#options;
    const nowMs = clock.monotonicMs();
    for (const request of this.#beforeHalf) {
      if (request.sentMs + timeoutMs / 2 > nowMs) break;
      this.#beforeHalf.delete(request);
      onHalf(request);
    }
    for (const request of this.#waiting) {
      if (request.sentMs + timeoutMs > nowMs) break;
      onDue(request);
    }
    if (!this.isEmpty && this.#cancelTimer === undefined) this.#setTimer();
  }
}
