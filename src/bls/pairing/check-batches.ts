import type { AggregateCheck } from '../service/bls-jobs.ts';
import type { JobRunner } from '../service/job-runner.ts';

/** A check takes some 2 ms with noble, so the first of a batch is not held up for long. */
const MAX_CHECKS_PER_JOB = 32;

interface WaitingCheck {
  readonly check: AggregateCheck;
  readonly isOver: () => boolean;
  readonly resolve: (isValid: boolean | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Checks of aggregates, over all requests. Those that wait for a thread at the same time become one job, which costs less than
 * one each; a check that finds a thread free goes alone and does not wait.
 */
export class CheckBatches {
  readonly #runner: Pick<JobRunner, 'run' | 'threads'>;
  readonly #waiting: WaitingCheck[] = [];

  constructor(runner: Pick<JobRunner, 'run' | 'threads'>) {
    this.#runner = runner;
  }

  /**
   * @param isOver whether the verdict is no longer needed: if so when a thread is free, the check is left out
   * @returns undefined where it was left out; rejects with what broke the job
   */
  verify(check: AggregateCheck, isOver: () => boolean): Promise<boolean | undefined> {
    return new Promise((resolve, reject) => {
      const waiting = { check, isOver, resolve, reject };
      this.#waiting.push(waiting);
      void this.#runJob(waiting);
    });
  }

  /** @param own the check that the job is queued for; another job may take it before, and this one then takes others */
  async #runJob(own: WaitingCheck): Promise<void> {
    let taken: readonly WaitingCheck[] = [];
    try {
      const verdicts = await this.#runner.run<'verify'>(() => {
        taken = this.#takeShare();
        return taken.length === 0 ? undefined : { kind: 'verify', checks: taken.map(({ check }) => check) };
      });
      for (const [position, { resolve }] of taken.entries()) resolve(verdicts?.[position]);
    } catch (error) {
      if (taken.length > 0) {
        for (const { reject } of taken) reject(error);
        return;
      }
      // The queue refused the job.
      const position = this.#waiting.indexOf(own);
      if (position >= 0) this.#waiting.splice(position, 1);
      own.reject(error);
    }
  }

  /** An equal share for each thread, as the others may be free in a moment too. */
  #takeShare(): readonly WaitingCheck[] {
    const share = Math.ceil(this.#waiting.length / this.#runner.threads);
    const next = this.#waiting.splice(0, Math.min(share, MAX_CHECKS_PER_JOB));
    for (const { isOver, resolve } of next) if (isOver()) resolve(undefined);
    return next.filter(({ isOver }) => !isOver());
  }
}
