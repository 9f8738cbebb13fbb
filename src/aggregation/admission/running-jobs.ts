/** The jobs that run, by the keys of their plans. */
export class RunningJobs<Running = unknown> {
  readonly #running = new Map<string, Running>();
  readonly #onStart = new Map<string, Set<() => void>>();

  has(key: string): boolean {
    return this.#running.has(key);
  }

  get(key: string): Running | undefined {
    return this.#running.get(key);
  }

  /** Calls the listener when a job with this key starts, until the listener is disposed of. */
  onStart(key: string, listener: () => void): Disposable {
    const listeners = this.#onStart.get(key) ?? new Set();
    listeners.add(listener);
    this.#onStart.set(key, listeners);
    return {
      [Symbol.dispose]: () => {
        listeners.delete(listener);
        if (listeners.size === 0 && this.#onStart.get(key) === listeners) this.#onStart.delete(key);
      },
    };
  }

  start(key: string, job: Running): void {
    this.#running.set(key, job);
    for (const listener of Array.from(this.#onStart.get(key) ?? [])) listener();
  }

  /** Forgets a job, unless another one has its key by now. */
  end(key: string, job: Running): void {
    if (this.#running.get(key) === job) this.#running.delete(key);
  }
}
