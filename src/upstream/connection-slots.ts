import { addTo } from '../primitives/counts.ts';

/** Keep-alive connections to one upstream, and so the requests in flight there. */
export const MAX_CONNECTIONS = 64;
/**
 * Connections that a subject may use for each one that stays free, as chains whose requests all hang must leave some to others: the
 * first of them can have 48, the second 12 of the other 16, the third 3.
 */
const CONNECTIONS_FOR_EACH_FREE = 3;
/** Streamed answers take as long as their readers: those must leave connections to others. */
const MAX_STREAMS = 48;
/** Of one client, which decides how slowly it reads: else one alone could have all long answers of others refused. */
const MAX_STREAMS_OF_CLIENT = MAX_STREAMS / 2;
/** Requests that may wait for a connection; their deadline runs meanwhile. */
const MAX_WAITING = 1_024;
/** For the same reason as with connections. */
const MAX_WAITING_OF_SUBJECT = 768;

interface Waiter {
  readonly subject: string;
  /** Starts the request. */
  readonly go: () => void;
}

/**
 * Who may use one of the connections to an upstream, and who waits for one. Those who wait are served in the order in which they
 * came, except that a subject has fewer connections the fewer are left.
 */
export class ConnectionSlots {
  #free = MAX_CONNECTIONS;
  #streams = 0;
  readonly #streamsOf = new Map<string, number>();
  readonly #held = new Map<string, number>();
  readonly #waiting = new Set<Waiter>();
  readonly #waitingOf = new Map<string, number>();

  /** How many connections requests for a subject use. */
  heldBy(subject: string): number {
    return this.#held.get(subject) ?? 0;
  }

  /** Whether a request for a subject could neither start nor wait. */
  isFull(subject: string): boolean {
    if (this.#isFreeFor(subject)) return false;
    return this.#waiting.size >= MAX_WAITING || (this.#waitingOf.get(subject) ?? 0) >= MAX_WAITING_OF_SUBJECT;
  }

  /**
   * Takes a connection, which has to be released.
   *
   * @param cancelled rejects where the request is given up while it waits
   * @returns undefined where a connection was free; else a promise that resolves when there is one, or rejects with `cancelled`
   */
  take(subject: string, cancelled: Promise<unknown>): Promise<void> | undefined {
    if (!this.#isFreeFor(subject)) return this.#wait(subject, cancelled);
    this.#hold(subject);
    return undefined;
  }

  /** One that is free lets two go on at times: one of another subject, and then one of this subject, which has one less now. */
  release(subject: string): void {
    this.#free += 1;
    addTo(this.#held, subject, -1);
    for (const waiter of this.#waiting) {
      if (this.#free === 0) return;
      if (!this.#isFreeFor(waiter.subject)) continue;
      this.#leave(waiter);
      this.#hold(waiter.subject);
      waiter.go();
    }
  }

  /** Whether one more answer may be streamed; where it says yes, the stream has to be returned. */
  takeStream(client: string): boolean {
    if (this.#streams >= MAX_STREAMS || (this.#streamsOf.get(client) ?? 0) >= MAX_STREAMS_OF_CLIENT) return false;
    this.#streams += 1;
    addTo(this.#streamsOf, client, 1);
    return true;
  }

  returnStream(client: string): void {
    this.#streams -= 1;
    addTo(this.#streamsOf, client, -1);
  }

  #isFreeFor(subject: string): boolean {
    return this.heldBy(subject) < CONNECTIONS_FOR_EACH_FREE * this.#free;
  }

  #hold(subject: string): void {
    this.#free -= 1;
    addTo(this.#held, subject, 1);
  }

  async #wait(subject: string, cancelled: Promise<unknown>): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const waiter: Waiter = { subject, go: resolve };
    this.#waiting.add(waiter);
    addTo(this.#waitingOf, subject, 1);
    try {
      await Promise.race([promise, cancelled]);
    } catch (error) {
      // Its turn may have come at the same moment: then the next one has it.
      if (this.#waiting.has(waiter)) this.#leave(waiter);
      else this.release(subject);
      throw error;
    }
  }

  #leave(waiter: Waiter): void {
    this.#waiting.delete(waiter);
    addTo(this.#waitingOf, waiter.subject, -1);
  }
}
