/**
 * Tells whoever works on an answer that nobody waits for it any more. An AbortSignal does the same for any number of listeners, and
 * costs each request more than all else that is done for leaving: here one is made where it is asked for.
 */
export class Departure {
  #reason: Error | undefined;
  #onLeave: ((reason: Error) => void) | undefined;
  #controller: AbortController | undefined;

  /** Of one who leaves when a signal aborts. */
  static by(signal: AbortSignal): Departure {
    const departure = new Departure();
    if (signal.aborted) departure.leave(signal.reason);
    else signal.addEventListener('abort', () => departure.leave(signal.reason), { once: true });
    return departure;
  }

  /** Why it has left; undefined while it waits. */
  get reason(): Error | undefined {
    return this.#reason;
  }

  /** Aborts with the reason. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#reason !== undefined) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  /** Called when it leaves, in place of what was called before; not where it has left already. */
  set onLeave(callback: ((reason: Error) => void) | undefined) {
    this.#onLeave = callback;
  }

  leave(reason: Error): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    this.#onLeave?.(reason);
    this.#controller?.abort(reason);
  }
}
