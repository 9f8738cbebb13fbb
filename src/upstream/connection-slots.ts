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
/** Of one subject, for the same reason as with connections, and of one client: what waits must leave some room to others. */
const MAX_WAITING_OF_ONE = 768;

interface Waiter {
  readonly subject: string;
  readonly client: string;
  /** Starts the request. */
  readonly go: () => void;
}

/**
 * Who may use one of the connections to an upstream, and who waits for one. Those who wait are served one client after the other, and
 * of each client in the order in which they came, except that a subject has fewer connections the fewer are left.
 */
export class ConnectionSlots {
  #free = MAX_CONNECTIONS;
  #streams = 0;
  readonly #streamsOf = new Map<string, number>();
  readonly #held = new Map<string, number>();
  /** By client, the next one to have a turn first. A `FairLine` gives what is next; here that may have to stay, for its subject. */
  readonly #waiting = new Map<string, Set<Waiter>>();
  #waitingCount = 0;
  readonly #waitingOfSubject = new Map<string, number>();

  /** How many connections requests for a subject use. */
  heldBy(subject: string): number {
    return this.#held.get(subject) ?? 0;
  }

  /** Whether a request for a subject could neither start nor wait. */
  isFull(subject: string, client: string): boolean {
    if (this.#isFreeFor(subject)) return false;
    return (
      this.#waitingCount >= MAX_WAITING ||
      (this.#waitingOfSubject.get(subject) ?? 0) >= MAX_WAITING_OF_ONE ||
      (this.#waiting.get(client)?.size ?? 0) >= MAX_WAITING_OF_ONE
    );
  }

  /**
   * Takes a connection, which has to be released.
   *
   * @param cancelled rejects where the request is given up while it waits
   * @returns undefined where a connection was free; else a promise that resolves when there is one, or rejects with `cancelled`
   */
  take(subject: string, client: string, cancelled: Promise<unknown>): Promise<void> | undefined {
    if (!this.#isFreeFor(subject)) return this.#wait(subject, client, cancelled);
    this.#hold(subject);
    return undefined;
  }

  /** One that is free lets two go on at times: one of another subject, and then one of this subject, which has one less now. */
  release(subject: string): void {
    this.#free += 1;
    addTo(this.#held, subject, -1);
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      this.#leave(next);
      this.#turnIsOver(next.client);
      this.#hold(next.subject);
      next.go();
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

  #next(): Waiter | undefined {
    if (this.#free === 0) return undefined;
    for (const ofClient of this.#waiting.values()) {
      for (const waiter of ofClient) {
        if (this.#isFreeFor(waiter.subject)) return waiter;
      }
    }
    return undefined;
  }

  async #wait(subject: string, client: string, cancelled: Promise<unknown>): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const waiter: Waiter = { subject, client, go: resolve };
    this.#join(waiter);
    try {
      await Promise.race([promise, cancelled]);
    } catch (error) {
      // Its turn may have come at the same moment: then the next one has it.
      if (this.#waiting.get(client)?.has(waiter) === true) this.#leave(waiter);
      else this.release(subject);
      throw error;
    }
  }

  #join(waiter: Waiter): void {
    const ofClient = this.#waiting.get(waiter.client) ?? new Set();
    this.#waiting.set(waiter.client, ofClient.add(waiter));
    this.#waitingCount += 1;
    addTo(this.#waitingOfSubject, waiter.subject, 1);
  }

  #leave(waiter: Waiter): void {
    const ofClient = this.#waiting.get(waiter.client);
    ofClient?.delete(waiter);
    if (ofClient?.size === 0) this.#waiting.delete(waiter.client);
    this.#waitingCount -= 1;
    addTo(this.#waitingOfSubject, waiter.subject, -1);
  }

  /** What else a client has waiting stands behind all others. */
  #turnIsOver(client: string): void {
    const ofClient = this.#waiting.get(client);
    if (ofClient === undefined) return;
    this.#waiting.delete(client);
    this.#waiting.set(client, ofClient);
  }
}
