import type { BlsJobs } from '../service/bls-jobs.ts';
import type { JobRunner } from '../service/job-runner.ts';

/** A check takes about a millisecond with blst, and less together with others, so the first of a batch is not held up for long. */
const MAX_ADDS_PER_JOB = 16;
/** Decoding so many takes some milliseconds. */
const ENOUGH_SIGNATURES = 64;

type AddInput = BlsJobs['add']['input'];
type AddOutput = BlsJobs['add']['output'];

interface WaitingAdd {
  readonly prepare: () => AddInput | undefined;
  readonly resolve: (output: AddOutput | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Small jobs of lanes, over all requests. Those that wait for a thread at the same time become one job: one way there and back, and
 * one check for all whose aggregate is made. One that finds a thread free goes alone and does not wait. A thread has one such job
 * at a time, so that the others gather meanwhile.
 */
export class AddBatches {
  readonly #runner: Pick<JobRunner, 'run' | 'threads'>;
  readonly #waiting: WaitingAdd[] = [];
  /** Jobs that are queued or running. */
  #jobs = 0;
  /** Those of them that have not taken anything yet. */
  #queuedJobs = 0;

  constructor(runner: Pick<JobRunner, 'run' | 'threads'>) {
    this.#runner = runner;
  }

  /**
   * @param prepare called when a thread is free; undefined if the result is no longer needed
   * @returns undefined where it was left out; rejects with what broke the job
   */
  run(prepare: () => AddInput | undefined): Promise<AddOutput | undefined> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ prepare, resolve, reject });
      // Not at once: what is added in the same breath goes with it.
      queueMicrotask(() => this.#startJobs());
    });
  }

  #startJobs(): void {
    while (this.#jobs < this.#runner.threads && this.#queuedJobs < this.#waiting.length) {
      this.#jobs += 1;
      this.#queuedJobs += 1;
      void this.#runJob();
    }
  }

  async #runJob(): Promise<void> {
    let taken: readonly WaitingAdd[] = [];
    let isQueued = true;
    try {
      const output = await this.#runner.run<'add' | 'addAll'>(() => {
        this.#queuedJobs -= 1;
        isQueued = false;
        const { waiting, adds } = this.#takeShare();
        taken = waiting;
        const [only] = adds;
        if (only === undefined) return undefined;
        return adds.length === 1 ? { kind: 'add', ...only } : { kind: 'addAll', adds };
      });
      const outputs = output === undefined || 'points' in output ? [output] : output;
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
  #takeShare(): { readonly waiting: readonly WaitingAdd[]; readonly adds: readonly AddInput[] } {
    const waiting: WaitingAdd[] = [];
    const adds: AddInput[] = [];
    const share = Math.min(Math.ceil(this.#waiting.length / this.#runner.threads), MAX_ADDS_PER_JOB);
    let signatures = 0;
    while (waiting.length < share && signatures < ENOUGH_SIGNATURES) {
      const next = this.#waiting.shift();
      if (next === undefined) break;
      const input = next.prepare();
      if (input === undefined) {
        next.resolve(undefined);
        continue;
      }
      waiting.push(next);
      adds.push(input);
      signatures += input.slots.length;
    }
    return { waiting, adds };
  }
}
