import type { NodeID } from '../../warp/ids.ts';

interface Waiter {
  readonly predicate: () => boolean;
  readonly resolve: () => void;
  readonly reject: (reason: unknown) => void;
}

/**
 * Tells callers that connections have changed: listeners for every change, and waiters for the change that makes a
 * predicate true. They hear of all changes of one turn at once, after it, as a predicate may look at thousands of nodes.
 *
 * Bound: one entry for each caller that listens or waits.
 */
export class ConnectionChanges {
  readonly #nodeListeners = new Set<(nodeID: NodeID) => void>();
  readonly #listeners = new Set<() => void>();
  readonly #waiters = new Set<Waiter>();
  #isQueued = false;
  #closed: { readonly reason: Error } | undefined;

  /** Something has changed: about this node, where it is one. */
  announce(nodeID?: NodeID): void {
    if (nodeID !== undefined) for (const listener of this.#nodeListeners) listener(nodeID);
    if (this.#isQueued || this.#closed !== undefined) return;
    this.#isQueued = true;
    queueMicrotask(() => {
      this.#isQueued = false;
      for (const listener of [...this.#listeners]) listener();
      for (const waiter of [...this.#waiters]) {
        try {
          if (waiter.predicate()) waiter.resolve();
        } catch (error) {
          waiter.reject(error);
        }
      }
    });
  }

  /** Is told of each change at once, before those who hear of all changes of a turn. Returns the function that ends it. */
  listenToNodes(listener: (nodeID: NodeID) => void): () => void {
    const entry = (nodeID: NodeID): void => listener(nodeID);
    this.#nodeListeners.add(entry);
    return () => this.#nodeListeners.delete(entry);
  }

  /** Returns the function that ends the subscription. */
  listen(listener: () => void): () => void {
    // The same function may listen twice: each subscription ends on its own.
    const entry = (): void => listener();
    this.#listeners.add(entry);
    return () => this.#listeners.delete(entry);
  }

  /**
   * Resolves as soon as the predicate holds, which is checked at once and after every change. Rejects with the signal's
   * reason, with what the predicate throws, or with the reason of {@link close}.
   */
  waitUntil(predicate: () => boolean, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#closed !== undefined) throw this.#closed.reason;
      signal.throwIfAborted();
      if (predicate()) {
        resolve();
        return;
      }
      const leave = (): void => {
        this.#waiters.delete(waiter);
        signal.removeEventListener('abort', onAbort);
      };
      const waiter: Waiter = {
        predicate,
        resolve: () => {
          leave();
          resolve();
        },
        reject: (reason) => {
          leave();
          reject(reason);
        },
      };
      const onAbort = (): void => waiter.reject(signal.reason);
      signal.addEventListener('abort', onAbort, { once: true });
      this.#waiters.add(waiter);
    });
  }

  /** Everybody who waits, now or later, is rejected with the reason. */
  close(reason: Error): void {
    this.#closed = { reason };
    for (const waiter of [...this.#waiters]) waiter.reject(reason);
  }
}
