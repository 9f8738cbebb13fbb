import { LRUCache } from 'lru-cache';

/** Failures of a subject in a row, without one success between them, from which on it counts as failing. */
const MAX_FAILURES = 10;
/** Subjects whose failures are counted; the one that has not been asked for the longest goes first. */
const MAX_SUBJECTS = 1_000;

/**
 * Which chains and lists of an upstream fail, though the upstream itself is up. Requests for them are not stopped, as one broken
 * block of a chain says nothing of its other blocks; there are only few at a time, so that they hold few connections.
 */
export class FailingSubjects {
  readonly #failures = new LRUCache<string, number>({ max: MAX_SUBJECTS });

  isFailing(subject: string): boolean {
    return (this.#failures.get(subject) ?? 0) >= MAX_FAILURES;
  }

  failed(subject: string): void {
    this.#failures.set(subject, Math.min((this.#failures.get(subject) ?? 0) + 1, MAX_FAILURES));
  }

  succeeded(subject: string): void {
    this.#failures.delete(subject);
  }
}
