import type { NodeID } from '../../warp/ids.ts';

/**
 * Notifies listeners of changed connections. Changes within one microtask are reported once, because a listener may check thousands of
 * nodes.
 */
export class ConnectionChanges {
  readonly #nodeListeners = new Set<(nodeID: NodeID) => void>();
  readonly #listeners = new Set<() => void>();
  readonly #closing = new AbortController();
  #isQueued = false;

  /** @param nodeID node whose connection changed, if the change concerns one node */
  announce(nodeID?: NodeID): void {
    if (nodeID !== undefined) for (const listener of this.#nodeListeners) listener(nodeID);
    if (this.#isQueued || this.#closing.signal.aborted) return;
    this.#isQueued = true;
    queueMicrotask(() => {
      this.#isQueued = false;
      for (const listener of Array.from(this.#listeners)) listener();
    });
  }

  /** Calls back immediately for each node, before {@link listen}. Returns a function that ends the subscription. */
  listenToNodes(listener: (nodeID: NodeID) => void): () => void {
    const entry = (nodeID: NodeID): void => listener(nodeID);
    this.#nodeListeners.add(entry);
    return () => this.#nodeListeners.delete(entry);
  }

  /** Returns a function that ends the subscription. */
  listen(listener: () => void): () => void {
    // The same function may listen twice.
    const entry = (): void => listener();
    this.#listeners.add(entry);
    return () => this.#listeners.delete(entry);
  }

  /**
   * Resolves as soon as the predicate holds, which is checked at once and after each change. Rejects with the signal's reason, with what
   * the predicate throws, or with the reason of {@link close}.
   */
  async waitUntil(predicate: () => boolean, signal: AbortSignal): Promise<void> {
    const signals = [this.#closing.signal, signal];
    for (const each of signals) each.throwIfAborted();
    if (predicate()) return;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const stopListening = this.listen(() => {
      try {
        if (predicate()) resolve();
      } catch (error) {
        reject(error);
      }
    });
    const onAbort = (): void => reject(signals.find(({ aborted }) => aborted)?.reason);
    for (const each of signals) each.addEventListener('abort', onAbort, { once: true });
    try {
      await promise;
    } finally {
      stopListening();
      for (const each of signals) each.removeEventListener('abort', onAbort);
    }
  }

  /** Rejects all present and later calls of {@link waitUntil}. */
  close(reason: Error): void {
    this.#closing.abort(reason);
  }
}
