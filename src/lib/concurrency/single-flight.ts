/**
 * Runs at most one flight per key at a time, whose result all concurrent callers share. A flight is aborted only when the last caller has
 * left, so one caller's abort never fails another's request.
 *
 * Bound: one entry for each key with a waiting caller.
 */
export class SingleFlight<Key, Value> {
  readonly #flights = new Map<Key, Flight<Value>>();

  get size(): number {
    return this.#flights.size;
  }

  has(key: Key): boolean {
    return this.#flights.has(key);
  }

  /** @param signal of this caller; when it aborts, this call alone rejects with its reason */
  async run(key: Key, work: (signal: AbortSignal) => Promise<Value>, signal?: AbortSignal): Promise<Value> {
    signal?.throwIfAborted();
    const flight = this.#flights.get(key) ?? this.#start(key, work);
    flight.waiters += 1;
    const { promise: left, reject: leave } = Promise.withResolvers<never>();
    const onAbort = (): void => leave(signal?.reason);
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      return await Promise.race([flight.result, left]);
    } finally {
      signal?.removeEventListener('abort', onAbort);
      flight.waiters -= 1;
      if (flight.waiters === 0) {
        this.#forget(key, flight);
        // A deadline of the last caller is the flight's, too.
        flight.controller.abort(signal?.aborted ? signal.reason : LEFT);
      }
    }
  }

  #start(key: Key, work: (signal: AbortSignal) => Promise<Value>): Flight<Value> {
    const controller = new AbortController();
    const flight: Flight<Value> = { controller, waiters: 0, result: work(controller.signal) };
    this.#flights.set(key, flight);
    // Forgotten when it settles, before its callers continue: a call after a failure, even in the same tick, starts a new flight. This also
    // handles the rejection of a flight without callers.
    const forget = (): void => this.#forget(key, flight);
    flight.result.then(forget, forget);
    return flight;
  }

  #forget(key: Key, flight: Flight<Value>): void {
    // A later flight under the same key may have replaced it.
    if (this.#flights.get(key) === flight) this.#flights.delete(key);
  }
}

/** Shared, because creating an error with its stack for each flight is expensive. */
const LEFT = new DOMException('no caller waits for this any more', 'AbortError');

interface Flight<Value> {
  readonly controller: AbortController;
  readonly result: Promise<Value>;
  waiters: number;
}
