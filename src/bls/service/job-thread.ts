import { once } from 'node:events';
import { Worker, type WorkerOptions } from 'node:worker_threads';
import type { BlsJob, BlsJobKind, BlsJobResult } from './bls-jobs.ts';

/** Outcome of a job, which a thread posts in the order of jobs. */
export type JobOutcome = { readonly result: BlsJobResult<BlsJobKind> } | { readonly error: unknown };

/** Data for the start of the thread, beside what its program needs. */
export interface JobThreadData {
  /** One number that grows with each job; its change wakes the thread. */
  readonly posted: Int32Array;
}

interface PendingJob {
  readonly resolve: (result: BlsJobResult<BlsJobKind>) => void;
  readonly reject: (error: unknown) => void;
}

/** Threads of this process that are loading their program. */
const starting = new Set<JobThread>();

/**
 * Resolves when no thread is starting. V8 may kill the process with a signal if a thread is ended while it starts, also by the end of the
 * process.
 */
export async function untilThreadsStarted(): Promise<void> {
  await Promise.all(Array.from(starting, ({ started }) => started));
}

/**
 * A thread that runs one job after the other. It waits with `Atomics.wait` rather than in an event loop, because it then wakes up sooner.
 * Each result is posted before the next job begins. An idle thread does not keep the process alive.
 */
export class JobThread {
  /** Resolves when its program is loaded, or when it has ended. */
  readonly started: Promise<unknown>;
  readonly #worker: Worker;
  readonly #posted = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  /** In the order in which they were posted. */
  readonly #pending: PendingJob[] = [];
  #isOver = false;

  constructor(program: URL, { workerData, ...options }: Omit<WorkerOptions, 'workerData'> & { workerData: object }) {
    const data: JobThreadData = { ...workerData, posted: this.#posted };
    this.#worker = new Worker(program, { ...options, workerData: data });
    const ended = Promise.withResolvers<void>();
    this.#worker.on('error', (error) => this.#fail(error));
    this.#worker.on('exit', () => {
      this.#fail(new Error('the thread ended'));
      ended.resolve();
    });
    // The first message means that the program is loaded.
    const loaded = once(this.#worker, 'message').then(() => {
      this.#worker.on('message', (outcome: JobOutcome) => this.#settle(outcome));
    });
    loaded.catch(() => undefined); // The jobs of the thread reject with it.
    this.started = Promise.race([loaded, ended.promise]).catch(() => undefined);
    starting.add(this);
    void this.started.then(() => starting.delete(this));
    this.#worker.on('messageerror', (error) => this.#settle({ error }));
    this.#worker.unref();
  }

  /** Jobs that it has. */
  get load(): number {
    return this.#pending.length;
  }

  /** It takes no jobs any more. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Rejects with the error of the job, or with the error that ended the thread. */
  post(job: BlsJob): Promise<BlsJobResult<BlsJobKind>> {
    return new Promise((resolve, reject) => {
      this.#worker.postMessage(job);
      if (this.#pending.push({ resolve, reject }) === 1) this.#worker.ref();
      Atomics.add(this.#posted, 0, 1);
      Atomics.notify(this.#posted, 0);
    });
  }

  async end(): Promise<void> {
    await this.#worker.terminate();
  }

  #settle(outcome: JobOutcome): void {
    const job = this.#pending.shift();
    if (this.#pending.length === 0) this.#worker.unref();
    if ('error' in outcome) job?.reject(outcome.error);
    else job?.resolve(outcome.result);
  }

  #fail(error: unknown): void {
    this.#isOver = true;
    for (const { reject } of this.#pending.splice(0)) reject(error);
  }
}
