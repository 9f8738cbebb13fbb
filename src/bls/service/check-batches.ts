import type { AggregateCheck } from './bls-jobs.ts';
import type { JobBackend, JobQueue } from './job-queue.ts';

/** A check takes some 2 ms with noble. */
const MAX_CHECKS_PER_JOB = 32;

interface WaitingCheck {
  readonly check: AggregateCheck;
  readonly signal: AbortSignal;
  readonly resolve: (isValid: boolean) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Batches the checks of aggregates over all requests. Checks that wait for a thread at the same time become one job, which costs less than
 * one each; a check that finds a free thread does not wait.
 */
export class CheckBatches {
  readonly #jobs: JobQueue;
  readonly #backend: JobBackend;
  readonly #waiting: WaitingCheck[] = [];
  /** Jobs that are queued or running. */
  #startedJobs = 0;
  /** Queued jobs that have not taken a check yet. */
  #queuedJobs = 0;

  constructor(jobs: JobQueue, backend: JobBackend) {
    this.#jobs = jobs;
    this.#backend = backend;
  }

  /** @returns rejects with the signal's reason if it is aborted before a thread is free, or with the error of the job */
  verify(check: AggregateCheck, signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ check, signal, resolve, reject });
      // Deferred, so that checks of the same microtask are batched.
      queueMicrotask(() => this.#startJobs());
    });
  }

  #startJobs(): void {
    while (this.#startedJobs < this.#jobs.concurrency && this.#queuedJobs < this.#waiting.length) {
      this.#startedJobs += 1;
      this.#queuedJobs += 1;
      void this.#runJob();
    }
  }

  async #runJob(): Promise<void> {
    let taken: readonly WaitingCheck[] = [];
    let isQueued = true;
    try {
      const verdicts = await this.#jobs.run<'verify'>({ backend: this.#backend }, () => {
        this.#queuedJobs -= 1;
        isQueued = false;
        taken = this.#takeShare();
        return taken.length === 0 ? undefined : { kind: 'verify', checks: taken.map(({ check }) => check) };
      });
      for (const [position, { resolve }] of taken.entries()) resolve(verdicts?.[position] === true);
    } catch (error) {
      if (isQueued) {
        this.#refused(error);
        return;
      }
      for (const { reject } of taken) reject(error);
    }
    this.#startedJobs -= 1;
    this.#startJobs();
  }

  /** The queue is full. Waiting checks are left to queued jobs; without one they are rejected, because no job would take them. */
  #refused(error: unknown): void {
    this.#queuedJobs -= 1;
    this.#startedJobs -= 1;
    if (this.#startedJobs > 0) return;
    for (const { reject } of this.#waiting.splice(0)) reject(error);
  }

  /** Takes an equal share for each thread, within the bound of a job. */
  #takeShare(): readonly WaitingCheck[] {
    const share: WaitingCheck[] = [];
    const size = Math.min(Math.ceil(this.#waiting.length / this.#jobs.threads), MAX_CHECKS_PER_JOB);
    while (share.length < size) {
      const waiting = this.#waiting.shift();
      if (waiting === undefined) break;
      if (waiting.signal.aborted) waiting.reject(waiting.signal.reason);
      else share.push(waiting);
    }
    return share;
  }
}
