import type { Clock } from '../../src/lib/concurrency/clock.ts';

interface Timer {
  readonly dueMs: number;
  readonly callback: () => void;
}

/** A timer that keeps re-arming itself with no delay would hang the test; no honest work runs so many at one instant. */
const MAX_TIMERS_PER_INSTANT = 20_000;
/** 2026-01-01T00:00:00Z */
const DEFAULT_START = Date.UTC(2026, 0, 1);

/**
 * Virtual time: nothing passes until {@link FakeClock.advance} is awaited. The monotonic clock starts at 0, the wall clock
 * at `startUnixMs`; both move together.
 */
export class FakeClock implements Clock {
  readonly #startUnixMs: number;
  readonly #timers = new Set<Timer>();
  #elapsedMs = 0;
  #pendingTurns = 0;

  constructor(startUnixMs = DEFAULT_START) {
    this.#startUnixMs = startUnixMs;
  }

  now(): number {
    return this.#startUnixMs + this.#elapsedMs;
  }

  monotonicMs(): number {
    return this.#elapsedMs;
  }

  after(delayMs: number, callback: () => void): () => void {
    if (Number.isNaN(delayMs)) throw new RangeError('a timer with no delay');
    const timer: Timer = { dueMs: this.#elapsedMs + Math.max(0, delayMs), callback };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }

  /** The event loop's own turn: no virtual time passes, and {@link advance} lets none pass before it has come. */
  afterTurn(callback: () => void): void {
    this.#pendingTurns += 1;
    setImmediate(() => {
      this.#pendingTurns -= 1;
      callback();
    });
  }

  /** Timers armed and neither run nor cancelled: 0 after the work is done, or something leaks. */
  get pendingTimers(): number {
    return this.#timers.size;
  }

  /**
   * Lets `ms` pass. Runs each timer that falls due at its own time, earliest first and in the order of creation where equal;
   * before the first, between any two and after the last, everything that promises and turns of the event loop have made
   * ready runs to its end. So a timer that is armed meanwhile and falls due in time runs too. What a callback throws comes
   * out of here.
   */
  async advance(ms: number): Promise<void> {
    const untilMs = this.#elapsedMs + ms;
    await this.#settleTurns();
    for (let ranAtOnce = 0; ; ranAtOnce += 1) {
      const next = this.#earliest();
      if (next === undefined || next.dueMs > untilMs) break;
      if (next.dueMs > this.#elapsedMs) {
        this.#elapsedMs = next.dueMs;
        ranAtOnce = 0;
      }
      if (ranAtOnce === MAX_TIMERS_PER_INSTANT) throw new Error(`${ranAtOnce} timers at one time: an endless loop?`);
      this.#timers.delete(next);
      next.callback();
      await this.#settleTurns();
    }
    this.#elapsedMs = Math.max(this.#elapsedMs, untilMs);
  }

  async #settleTurns(): Promise<void> {
    await settle();
    for (let turn = 0; this.#pendingTurns > 0; turn += 1) {
      if (turn === MAX_TIMERS_PER_INSTANT) throw new Error(`${turn} turns at one time: an endless loop?`);
      await settle();
    }
  }

  #earliest(): Timer | undefined {
    // A Set keeps the order of creation, so that the first of equal ones is found.
    let earliest: Timer | undefined;
    for (const timer of this.#timers) {
      if (earliest === undefined || timer.dueMs < earliest.dueMs) earliest = timer;
    }
    return earliest;
  }
}

/**
 * Comes back when every microtask has run, however long the chain: Node drains them all before the next macrotask. It is
 * the event loop's own turn and no wait for real time.
 */
export function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
