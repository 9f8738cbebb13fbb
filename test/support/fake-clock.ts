import type { Clock } from '../../src/lib/concurrency/clock.ts';
import { EventHeap } from './event-heap.ts';

/** 2026-01-01T00:00:00Z */
export const START_UNIX_MS = Date.UTC(2026, 0, 1);
/** More timers at one instant than honest work runs. */
const MAX_TIMERS_PER_INSTANT = 50_000;

interface Timer {
  readonly dueMs: number;
  readonly view: ClockView;
  readonly callback: () => void;
  isCancelled: boolean;
}

/** A clock of one owner. All views of a {@link VirtualTime} show the same time, and each counts its own timers. */
export interface ClockView extends Clock {
  /** Timers armed and neither run nor cancelled. */
  readonly pendingTimers: number;
  /** Its owner is no more: none of its timers runs from now on. */
  stop(): void;
}

/** Time that passes only in {@link VirtualTime.runUntil}. The monotonic clock starts at 0, the wall clock at `startUnixMs`. */
export class VirtualTime {
  readonly #timers = new EventHeap<Timer>();
  readonly #pending = new Map<ClockView, number>();
  readonly #stopped = new Set<ClockView>();
  readonly #startUnixMs: number;
  #nowMs = 0;
  #pendingTurns = 0;

  constructor(startUnixMs = START_UNIX_MS) {
    this.#startUnixMs = startUnixMs;
  }

  get nowMs(): number {
    return this.#nowMs;
  }

  view(): ClockView {
    const pendingOf = (): number => this.#pending.get(view) ?? 0;
    const view: ClockView = {
      now: () => this.#startUnixMs + Math.floor(this.#nowMs),
      monotonicMs: () => this.#nowMs,
      after: (delayMs, callback) => {
        if (Number.isNaN(delayMs)) throw new RangeError('a timer with no delay');
        if (this.#stopped.has(view)) return () => undefined;
        const dueMs = this.#nowMs + Math.max(0, delayMs);
        const timer: Timer = { dueMs, view, callback, isCancelled: false };
        this.#pending.set(view, pendingOf() + 1);
        this.#timers.add(timer);
        return () => {
          if (timer.isCancelled) return;
          timer.isCancelled = true;
          this.#pending.set(view, pendingOf() - 1);
        };
      },
      afterTurn: (callback) => {
        this.#pendingTurns += 1;
        setImmediate(() => {
          this.#pendingTurns -= 1;
          callback();
        });
      },
      get pendingTimers() {
        return pendingOf();
      },
      stop: () => void this.#stopped.add(view),
    };
    return view;
  }

  /** Lets all that is ready run, without any time passing: for work that takes several turns, as an HTTP request does. */
  async turn(count = 1): Promise<void> {
    for (let turn = 0; turn < count; turn += 1) await this.#settle();
  }

  /** Lets time pass until `untilMs`, or until `isOver` holds after some timer. @returns whether `isOver` held */
  async runUntil(untilMs: number, isOver: () => boolean = () => false): Promise<boolean> {
    await this.#settle();
    for (let ranAtOnce = 0; ; ranAtOnce += 1) {
      if (isOver()) return true;
      const next = this.#pop(untilMs);
      if (next === undefined) break;
      if (next.dueMs > this.#nowMs) {
        this.#nowMs = next.dueMs;
        ranAtOnce = 0;
      }
      if (ranAtOnce === MAX_TIMERS_PER_INSTANT) throw new Error(`${ranAtOnce} timers at one time: an endless loop?`);
      this.#pending.set(next.view, (this.#pending.get(next.view) ?? 0) - 1);
      // Already run: cancelling has no effect.
      next.isCancelled = true;
      next.callback();
      await this.#settle();
    }
    this.#nowMs = Math.max(this.#nowMs, untilMs);
    return isOver();
  }

  async #settle(): Promise<void> {
    await settle();
    for (let turn = 0; this.#pendingTurns > 0; turn += 1) {
      if (turn === MAX_TIMERS_PER_INSTANT) throw new Error(`${turn} turns at one time: an endless loop?`);
      await settle();
    }
  }

  /** The earliest timer that is due by then and not cancelled. */
  #pop(untilMs: number): Timer | undefined {
    for (;;) {
      const { first } = this.#timers;
      if (first === undefined || (!first.isCancelled && first.dueMs > untilMs)) return undefined;
      this.#timers.takeFirst();
      if (!first.isCancelled && !this.#stopped.has(first.view)) return first;
    }
  }
}

/** The clock of a test with one owner: no time passes until {@link FakeClock.advance} is awaited. */
export class FakeClock implements Clock {
  readonly #time: VirtualTime;
  readonly #view: Clock & { readonly pendingTimers: number };

  constructor(startUnixMs?: number) {
    this.#time = new VirtualTime(startUnixMs);
    this.#view = this.#time.view();
  }

  now(): number {
    return this.#view.now();
  }

  monotonicMs(): number {
    return this.#view.monotonicMs();
  }

  after(delayMs: number, callback: () => void): () => void {
    return this.#view.after(delayMs, callback);
  }

  /** The event loop's own turn: no virtual time passes, and {@link advance} lets none pass before it has come. */
  afterTurn(callback: () => void): void {
    this.#view.afterTurn(callback);
  }

  /** Timers armed and neither run nor cancelled: 0 after the work is done, or something leaks. */
  get pendingTimers(): number {
    return this.#view.pendingTimers;
  }

  /** Lets `ms` pass, and runs each timer at its time, after all that promises and turns of the event loop have made ready. Throws what a timer throws. */
  async advance(ms: number): Promise<void> {
    await this.#time.runUntil(this.#time.nowMs + ms);
  }
}

/** Resolves in the event loop's next turn, when every microtask has run. */
export function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
