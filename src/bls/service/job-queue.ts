import type { Metrics } from '../../telemetry/metrics.ts';
import { currentSpan, inSpan, type Span } from '../../telemetry/spans.ts';
import type { BlsJob, BlsJobKind, BlsJobResult } from './bls-jobs.ts';

/** The layer below: computes jobs off the event loop. */
export interface BlsThreads {
  readonly threads: number;
  /** Jobs posted to the threads at a time: more than threads, so that no thread is idle between two jobs. */
  readonly concurrency: number;
  /** Rejects if the job threw, which is a bug, or if its thread ended. */
  execute(job: BlsJob): Promise<BlsJobResult<BlsJobKind>>;
}

/**
 * The arithmetic that a job runs with. Points of one backend must never reach another, so work ends with the backend that it began with.
 */
export interface JobBackend {
  /** Whether jobs run with `plain-backend.ts` in place of the threads' own backend. */
  readonly isPlain: boolean;
  /** Set when a verdict was found wrong. All jobs of the backend then reject, running ones too. */
  isRetired: boolean;
}

export interface JobOwner {
  readonly backend: JobBackend;
  /** Aborted when the result is no longer needed: a job that has not begun is then dropped. Undefined: it always is needed. */
  readonly signal?: AbortSignal;
}

export class JobsOverloaded extends Error {
  override readonly name = 'JobsOverloaded';
}

/**
 * An aggregation has at most a few jobs per thread, a hash and a check waiting, so this is enough for hundreds of
 * aggregations. More would be a bug: the number of requests is limited long before.
 */
const MAX_QUEUED = 10_000;

interface QueuedJob {
  readonly owner: JobOwner;
  readonly prepare: () => BlsJob | undefined;
  /** Span of the work that queued the job. */
  readonly span: Span;
  readonly settle: (outcome: Promise<BlsJobResult<BlsJobKind> | undefined>) => void;
}

/** Hands jobs to the threads in the order in which they were queued. Disposing of it waits for all that are queued. */
export class JobQueue implements AsyncDisposable {
  readonly threads: number;
  readonly concurrency: number;
  readonly #execute: BlsThreads['execute'];
  readonly #maxQueued: number;
  readonly #queue: QueuedJob[] = [];
  #running = 0;
  #isClosed = false;
  #onIdle: (() => void) | undefined;

  constructor(threads: BlsThreads, maxQueued = MAX_QUEUED) {
    this.threads = threads.threads;
    this.concurrency = threads.concurrency;
    this.#execute = (job) => threads.execute(job);
    this.#maxQueued = maxQueued;
  }

  /** Number of waiting jobs, its limit, and the number of running jobs. */
  usage(): { readonly waiting: number; readonly limit: number; readonly running: number } {
    return { waiting: this.#queue.length, limit: this.#maxQueued, running: this.#running };
  }

  /**
   * Runs a job when a thread is free.
   *
   * @param prepare called then, so that the job can take all that has gathered. If it returns undefined, nothing runs, and so is the result
   * @returns rejects with the reason of the owner's signal, if that is aborted before a thread is free; with {@link JobsOverloaded} if too
   *   many wait; if the backend is retired; if the job threw, which is a bug
   */
  run<K extends BlsJobKind>(owner: JobOwner, prepare: () => BlsJob<K>): Promise<BlsJobResult<K>>;
  run<K extends BlsJobKind>(
    owner: JobOwner,
    prepare: () => BlsJob<K> | undefined,
  ): Promise<BlsJobResult<K> | undefined>;
  run<K extends BlsJobKind>(
    owner: JobOwner,
    prepare: () => BlsJob<K> | undefined,
  ): Promise<BlsJobResult<K> | undefined> {
    if (this.#isClosed) return Promise.reject(new Error('the BLS threads are closed'));
    if (this.#queue.length >= this.#maxQueued) {
      const text = `${this.#maxQueued} BLS jobs wait, which is the most this service keeps`;
      return Promise.reject(new JobsOverloaded(text));
    }
    const { promise, resolve } = Promise.withResolvers<BlsJobResult<K> | undefined>();
    this.#queue.push({
      owner,
      prepare: prepare as () => BlsJob | undefined,
      span: currentSpan(),
      settle: (outcome) => resolve(outcome as Promise<BlsJobResult<K> | undefined>),
    });
    this.#dispatch();
    return promise;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    if (this.#running === 0 && this.#queue.length === 0) return;
    await new Promise<void>((resolve) => {
      this.#onIdle = resolve;
    });
  }

  #dispatch(): void {
    while (this.#running < this.concurrency) {
      const next = this.#queue.shift();
      if (next === undefined) break;
      next.settle(this.#start(next));
    }
    if (this.#running === 0 && this.#queue.length === 0) this.#onIdle?.();
  }

  /** Runs synchronously until the threads have the job. */
  async #start({ owner, prepare, span }: QueuedJob): Promise<BlsJobResult<BlsJobKind> | undefined> {
    const { backend, signal } = owner;
    signal?.throwIfAborted();
    throwIfRetired(backend);
    const job = prepare();
    if (job === undefined) return undefined;
    this.#running += 1;
    try {
      const toRun = backend.isPlain ? { ...job, isPlain: true } : job;
      const result = await inSpan(span.child(`bls ${job.kind}`), () => this.#execute(toRun));
      throwIfRetired(backend);
      return result;
    } finally {
      this.#running -= 1;
      this.#dispatch();
    }
  }
}

function throwIfRetired({ isRetired }: JobBackend): void {
  if (isRetired) throw new Error('begun with BLS arithmetic that was found wrong meanwhile');
}

export function showUsage(metrics: Metrics, queue: JobQueue): void {
  metrics.readGauge({ name: 'bls_threads', help: 'Threads for BLS arithmetic' }, () => queue.threads);
  metrics.readGauge({ name: 'bls_jobs_running', help: 'BLS jobs that the threads have' }, () => queue.usage().running);
  metrics.readGauge({ name: 'bls_jobs_waiting', help: 'BLS jobs that wait for a thread' }, () => queue.usage().waiting);
  metrics.readGauge(
    { name: 'bls_jobs_waiting_limit', help: 'The most BLS jobs that may wait' },
    () => queue.usage().limit,
  );
}
