import { currentSpan, inSpan, type Span } from '../../telemetry/spans.ts';
import type { BlsJob, BlsJobKind, BlsJobResult } from './bls-jobs.ts';

/** Runs jobs off the event loop, in the order in which they were queued. */
export interface JobRunner extends AsyncDisposable {
  readonly threads: number;
  /** Jobs handed to the threads at a time: more than there are threads, so that none is idle while its next job is on the way. */
  readonly concurrency: number;
  /** How many jobs wait for a thread, of at most how many, and how many the threads have. */
  usage(): { readonly waiting: number; readonly limit: number; readonly running: number };
  /**
   * @param prepare called when a thread is free, so that the job can take all that has gathered by then. It returns undefined
   *   if the result is no longer needed: then nothing runs, and the result is undefined
   * @returns rejects if the job threw, which is a bug, and with {@link JobsOverloaded} if too many wait
   */
  run<K extends BlsJobKind>(prepare: () => BlsJob<K> | undefined): Promise<BlsJobResult<K> | undefined>;
}

export class JobsOverloaded extends Error {
  override readonly name = 'JobsOverloaded';
}

interface QueuedJob {
  /** The work that it is queued for. */
  readonly span: Span;
  readonly prepare: () => BlsJob | undefined;
  readonly settle: (outcome: Promise<BlsJobResult<BlsJobKind> | undefined>) => void;
}

/**
 * The queue in front of the threads, which obsolete jobs leave without reaching one.
 *
 * @param execute runs one job; at most `concurrency` calls are under way at a time
 * @param close ends the threads; called when nothing is queued or running any more
 */
export function createJobRunner({
  threads,
  concurrency,
  maxQueued,
  execute,
  close,
}: {
  readonly threads: number;
  readonly concurrency: number;
  readonly maxQueued: number;
  readonly execute: (job: BlsJob) => Promise<BlsJobResult<BlsJobKind>>;
  readonly close: () => Promise<void>;
}): JobRunner {
  const queue: QueuedJob[] = [];
  let running = 0;
  let isClosed = false;
  let onIdle: (() => void) | undefined;

  function dispatch(): void {
    while (running < concurrency) {
      const next = queue.shift();
      if (next === undefined) break;
      const job = next.prepare();
      if (job === undefined) {
        next.settle(Promise.resolve(undefined));
        continue;
      }
      running += 1;
      next.settle(
        inSpan(next.span.child(`bls ${job.kind}`), () => execute(job)).finally(() => {
          running -= 1;
          dispatch();
        }),
      );
    }
    if (running === 0 && queue.length === 0) onIdle?.();
  }

  return {
    threads,
    concurrency,
    usage: () => ({ waiting: queue.length, limit: maxQueued, running }),
    run<K extends BlsJobKind>(prepare: () => BlsJob<K> | undefined) {
      return new Promise<BlsJobResult<K> | undefined>((resolve, reject) => {
        if (isClosed) {
          reject(new Error('the BLS threads are closed'));
          return;
        }
        if (queue.length >= maxQueued) {
          reject(new JobsOverloaded(`${maxQueued} BLS jobs wait, which is the most this service keeps`));
          return;
        }
        queue.push({
          span: currentSpan(),
          prepare: prepare as () => BlsJob | undefined,
          settle: (outcome) => resolve(outcome as Promise<BlsJobResult<K> | undefined>),
        });
        dispatch();
      });
    },
    async [Symbol.asyncDispose]() {
      isClosed = true;
      if (running > 0 || queue.length > 0) {
        await new Promise<void>((resolve) => {
          onIdle = resolve;
        });
      }
      await close();
    },
  };
}
