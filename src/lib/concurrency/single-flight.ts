/**
 * Runs at most one flight for each key at a time; whoever asks meanwhile gets the same result. A flight belongs to all who wait
 * for it: it is aborted only when the last of them has left, and one waiter's abort never fails another's request.
 *
 * Bound: one entry for each key in flight, held only as long as somebody waits for it.
 */
export class SingleFlight<Key, Value> {
  readonly #flights = new Map<Key, Flight<Value>>();

  get size(): number {
    return this.#flights.size;
  }

  has(key: Key): boolean {
    return this.#flights.has(key);
  }

  /** @param signal the caller's own interest; when it aborts, this call rejects with its reason */
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
        flight.controller.abort(LEFT);
      }
    }
  }

  #start(key: Key, work: (signal: AbortSignal) => Promise<Value>): Flight<Value> {
    const controller = new AbortController();
    const flight: Flight<Value> = { controller, waiters: 0, result: work(controller.signal) };
    this.#flights.set(key, flight);
    // The flight is forgotten as soon as it has settled, and not only when the last waiter knows: whoever asks after a failure,
    // even in the same tick, gets a new attempt. This also handles the failure of a flight whose waiters have all left.
    const forget = (): void => this.#forget(key, flight);
    flight.result.then(forget, forget);
    return flight;
  }

  #forget(key: Key, flight: Flight<Value>): void {
    // A later flight under the same key must stay.
    if (this.#flights.get(key) === flight) this.#flights.delete(key);
  }
}

/** One for all: it is told after every flight, and a new one each time would be made with its stack of calls. */
const LEFT = new DOMException('nobody waits for this any more', 'AbortError');

interface Flight<Value> {
  readonly controller: AbortController;
  readonly result: Promise<Value>;
  waiters: number;
}
