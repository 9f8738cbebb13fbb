import type { BlsJob, BlsJobKind, BlsJobResult } from './bls-jobs.ts';
import type { JobRunner } from './job-runner.ts';

export interface BatchOptions<Input, Output, Kind extends BlsJobKind> {
  /** Jobs that are queued or running at a time. */
  readonly maxJobs: number;
  /** Bounds of one job, so that the first of a batch is not held up for long: its inputs, and their sizes where they have one. */
  readonly maxInputs: number;
  readonly maxSize?: number;
  readonly sizeOf?: (input: Input) => number;
  readonly jobOf: (inputs: readonly [Input, ...Input[]]) => BlsJob<Kind>;
  readonly outputsOf: (result: BlsJobResult<Kind>) => readonly Output[];
}

interface Waiting<Input, Output> {
  readonly prepare: () => Input | undefined;
  readonly resolve: (output: Output | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Small pieces of work, over all requests. Those that wait for a thread at the same time become one job, which costs less than one each;
 * one that finds a thread free goes alone and does not wait.
 */
export class JobBatches<Input, Output, Kind extends BlsJobKind> {
  readonly #runner: Pick<JobRunner, 'run' | 'threads'>;
  readonly #options: BatchOptions<Input, Output, Kind>;
  readonly #waiting: Waiting<Input, Output>[] = [];
  /** Jobs that are queued or running. */
  #jobs = 0;
  /** Those of them that have not taken anything yet. */
  #queuedJobs = 0;

  constructor(runner: Pick<JobRunner, 'run' | 'threads'>, options: BatchOptions<Input, Output, Kind>) {
    this.#runner = runner;
    this.#options = options;
  }

  /**
   * @param prepare called when a thread is free; undefined if the result is no longer needed
   * @returns undefined where it was left out; rejects with what broke the job
   */
  run(prepare: () => Input | undefined): Promise<Output | undefined> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ prepare, resolve, reject });
      // Not at once: what is added in the same breath goes with it.
      queueMicrotask(() => this.#startJobs());
    });
  }

  #startJobs(): void {
    while (this.#jobs < this.#options.maxJobs && this.#queuedJobs < this.#waiting.length) {
      this.#jobs += 1;
      this.#queuedJobs += 1;
      void this.#runJob();
    }
  }

  async #runJob(): Promise<void> {
    const { jobOf, outputsOf } = this.#options;
    let taken: readonly Waiting<Input, Output>[] = [];
    let isQueued = true;
    try {
      const result = await this.#runner.run<Kind>(() => {
        this.#queuedJobs -= 1;
        isQueued = false;
        const share = this.#takeShare();
        taken = share.waiting;
        const [first, ...others] = share.inputs;
        return first === undefined ? undefined : jobOf([first, ...others]);
      });
      const outputs = result === undefined ? [] : outputsOf(result);
      for (const [position, { resolve }] of taken.entries()) resolve(outputs[position]);
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

  /** The queue had no room for a job. What waits is left to the jobs that are there; where there are none, nothing would ever take it. */
  #refused(error: unknown): void {
    this.#queuedJobs -= 1;
    this.#jobs -= 1;
    if (this.#jobs > 0) return;
    for (const { reject } of this.#waiting.splice(0)) reject(error);
  }

  /** An equal share for each thread, within the bounds of a job. */
  #takeShare(): { readonly waiting: readonly Waiting<Input, Output>[]; readonly inputs: readonly Input[] } {
    const { maxInputs, maxSize = Number.POSITIVE_INFINITY, sizeOf = () => 0 } = this.#options;
    const waiting: Waiting<Input, Output>[] = [];
    const inputs: Input[] = [];
    const share = Math.min(Math.ceil(this.#waiting.length / this.#runner.threads), maxInputs);
    let size = 0;
    while (waiting.length < share && size < maxSize) {
      const next = this.#waiting.shift();
      if (next === undefined) break;
      const input = next.prepare();
      if (input === undefined) {
        next.resolve(undefined);
        continue;
      }
      waiting.push(next);
      inputs.push(input);
      size += sizeOf(input);
    }
    return { waiting, inputs };
  }
}
