import type { Clock } from '../src/lib/concurrency/clock.ts';
import { EventHeap } from '../test/support/event-heap.ts';

/** What one kind of event has cost the event loop. */
export interface Cost {
  count: number;
  totalMs: number;
  longestMs: number;
}

interface Event {
  readonly dueMs: number;
  /** Undefined where it is not the service's work. */
  readonly kind: string | undefined;
  readonly callback: () => void;
  isCancelled: boolean;
}

const START_UNIX_MS = Date.UTC(2026, 0, 1);

/**
 * Time that passes at once, and says what each pass of the event loop took: an event with all that follows from it before the next one. So
 * what a single thread would have to do in an hour, with thousands of others, is measured without waiting for any of them.
 */
export class MeteredTime {
  readonly costs = new Map<string, Cost>();
  readonly #events = new EventHeap<Event>();
  #nowMs = 0;
  /** Of the pass that is under way: time that is not the service's. */
  #notOursMs = 0;

  readonly clock: Clock = {
    now: () => START_UNIX_MS + Math.floor(this.#nowMs),
    monotonicMs: () => this.#nowMs,
    after: (delayMs, callback) => this.#add(delayMs, 'timer', callback),
    afterTurn: (callback) => void this.#add(0, 'turn', callback),
  };

  /** Something happens to the service. */
  happen(delayMs: number, kind: string, callback: () => void): void {
    this.#add(delayMs, kind, callback);
  }

  /** Something happens elsewhere, and is not measured. */
  elsewhere(delayMs: number, callback: () => void): void {
    this.#add(delayMs, undefined, callback);
  }

  /** Work of others that is done here and now, and does not count. */
  notOurs<T>(work: () => T): T {
    const startMs = cpuMs();
    try {
      return work();
    } finally {
      this.#notOursMs += cpuMs() - startMs;
    }
  }

  /** Lets time pass until `untilMs`, or until `isOver` holds. @returns whether it held */
  async runUntil(untilMs: number, isOver: () => boolean = () => false): Promise<boolean> {
    await turn();
    while (!isOver()) {
      const next = this.#takeNext(untilMs);
      if (next === undefined) {
        this.#nowMs = untilMs;
        return isOver();
      }
      if (next.isCancelled) continue;
      next.isCancelled = true;
      this.#nowMs = Math.max(this.#nowMs, next.dueMs);
      this.#notOursMs = 0;
      const startMs = cpuMs();
      next.callback();
      await turn();
      this.#count(next.kind, cpuMs() - startMs - this.#notOursMs);
    }
    return true;
  }

  /** What was measured until now, as a sum; and forgets it. */
  takeCosts(): ReadonlyMap<string, Cost> {
    const taken = new Map(this.costs);
    this.costs.clear();
    return taken;
  }

  get nowMs(): number {
    return this.#nowMs;
  }

  #count(kind: string | undefined, ms: number): void {
    if (kind === undefined) return;
    let cost = this.costs.get(kind);
    if (cost === undefined) this.costs.set(kind, (cost = { count: 0, totalMs: 0, longestMs: 0 }));
    cost.count += 1;
    cost.totalMs += ms;
    cost.longestMs = Math.max(cost.longestMs, ms);
  }

  #add(delayMs: number, kind: string | undefined, callback: () => void): () => void {
    const event: Event = { dueMs: this.#nowMs + Math.max(0, delayMs), kind, callback, isCancelled: false };
    this.#events.add(event);
    return () => {
      event.isCancelled = true;
    };
  }

  #takeNext(untilMs: number): Event | undefined {
    const { first } = this.#events;
    return first === undefined || first.dueMs > untilMs ? undefined : this.#events.takeFirst();
  }
}

/** What this thread has computed so far: other work of the machine does not show in it. */
function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

/** All that follows from what has just happened. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
