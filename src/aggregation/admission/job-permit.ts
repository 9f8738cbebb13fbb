/** The permits of a job: one for being in flight and one for CPU, or one to wait. Disposing of it releases all. */
export interface JobPermit extends Disposable {
  /** Releases the permit for CPU while the job only waits for validators. */
  rest(): void;
  /** Acquires what was released. Returns without it when the signal aborts. No effect while it is held. */
  resume(until: AbortSignal): Promise<void>;
  /**
   * Releases the first two, and counts the job among those that wait for the execution of their transaction, until it resumes.
   *
   * @param bytes that the job keeps while it waits
   * @throws {AggregatorError} if too many jobs wait, of this client or of all
   */
  suspend(bytes: number): void;
}
