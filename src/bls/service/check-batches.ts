import type { AggregateCheck } from './bls-jobs.ts';
import type { JobRunner } from './job-runner.ts';

/** A check takes some 2 ms with noble. */
const MAX_CHECKS_PER_JOB = 32;

interface WaitingCheck {
  readonly prepare: () => AggregateCheck | undefined;
  readonly resolve: (isValid: boolean | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Checks of aggregates, over all requests. Those that wait for a thread at the same time become one job, which costs less than one each;
 * one that finds a thread free goes alone and does not wait.
 */
export class CheckBatches {
  readonly #runner: Pick<JobRunner, 'run' | 'threads' | 'concurrency'>;
  readonly #waiting: WaitingCheck[] = [];
  /** Jobs that are queued or running. */
  #jobs = 0;
  /** Those of them that have not taken any check yet. */
  #queuedJobs = 0;

  constructor(runner: Pick<JobRunner, 'run' | 'threads' | 'concurrency'>) {
    this.#runner = runner;
  }

  /**
   * @param prepare called when a thread is free; undefined if the verdict is no longer needed
   * @returns undefined if it was left out; rejects with what broke the job
   */
  run(prepare: () => AggregateCheck | undefined): Promise<boolean | undefined> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ prepare, resolve, reject });
      // Later, so that checks of the same microtask go together.
      queueMicrotask(() => this.#startJobs());
    });
  }

  #startJobs(): void {
    while (this.#jobs < this.#runner.concurrency && this.#queuedJobs < this.#waiting.length) {
      this.#jobs += 1;
      this.#queuedJobs += 1;
      void this.#runJob();
    }
  }

  async #runJob(): Promise<void> {
    let taken: readonly WaitingCheck[] = [];
    let isQueued = true;
    try {
      const verdicts = await this.#runner.run<'verify'>(() => {
        this.#queuedJobs -= 1;
        isQueued = false;
        const share = this.#takeShare();
        taken = share.map(({ waiting }) => waiting);
        return share.length === 0 ? undefined : { kind: 'verify', checks: share.map(({ check }) => check) };
      });
      for (const [position, { resolve }] of taken.entries()) resolve(verdicts?.[position]);
    } catch (error) {
      if (isQueued) {
        this.#refused(error);
        return;
      }
      for (const { reject } of taken) reject(error);
    }
    this.#jobs -= 1;
    this.#startJobs();
  }

  /** The queue had no room for a job. Waiting checks are left to the other jobs; without one, nothing would ever take them. */
  #refused(error: unknown): void {
    this.#queuedJobs -= 1;
    this.#jobs -= 1;
    if (this.#jobs > 0) return;
    for (const { reject } of this.#waiting.splice(0)) reject(error);
  }

  /** Takes an equal share for each thread, within the bound of a job. */
  #takeShare() {
    const share: { readonly waiting: WaitingCheck; readonly check: AggregateCheck }[] = [];
    const size = Math.min(Math.ceil(this.#waiting.length / this.#runner.threads), MAX_CHECKS_PER_JOB);
    while (share.length < size) {
      const waiting = this.#waiting.shift();
      if (waiting === undefined) break;
      const check = waiting.prepare();
      if (check === undefined) waiting.resolve(undefined);
      else share.push({ waiting, check });
    }
    return share;
  }
}
