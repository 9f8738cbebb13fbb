import type { BlsBackend } from '../backends/bls-backend.ts';
import { PublicKeyTable } from '../backends/public-key-table.ts';
import type { AddInput, AddOutput, AggregateCheck, BlsJob, BlsJobKind, BlsJobResult } from '../service/bls-jobs.ts';
import { JobBatches } from '../service/job-batches.ts';
import type { JobRunner } from '../service/job-runner.ts';

/** What was begun with arithmetic that has been found wrong. It may be tried again: others do it then. */
export class ArithmeticReplaced extends Error {
  override readonly name = 'ArithmeticReplaced';
}

/** A check takes some 2 ms with noble. */
const MAX_CHECKS_PER_JOB = 32;
/** Each takes about a millisecond with blst, its check included. */
const MAX_ADDS_PER_JOB = 16;
/** Decoding so many takes some milliseconds. */
const ENOUGH_SIGNATURES = 64;

/**
 * What belongs to one way of computing with points: how jobs are run, and the points that are kept. Points of one must never get to another,
 * so what was begun with it ends with it.
 */
export class Arithmetic implements Pick<JobRunner, 'run' | 'threads' | 'concurrency'> {
  /** Checks of aggregates. */
  readonly checks: JobBatches<AggregateCheck, boolean, 'verify'>;
  /** Small jobs of lanes. A thread has one of them at a time, so that the others gather meanwhile. */
  readonly adds: JobBatches<AddInput, AddOutput, 'add' | 'addAll'>;
  readonly threads: number;
  readonly concurrency: number;
  readonly #runner: JobRunner;
  readonly #packedPublicKeyBytes: number;
  readonly #isPlain: boolean;
  /** See {@link BlsBackend.hashesWhenVerifying}. */
  readonly hashesWhenVerifying: boolean;
  #keyTable: PublicKeyTable;
  #isReplaced = false;

  /** @param isPlain that of `plain-backend.ts`, else of the threads' own backend */
  constructor(
    runner: JobRunner,
    {
      packedPublicKeyBytes,
      hashesWhenVerifying = false,
      isPlain = false,
    }: Pick<BlsBackend, 'packedPublicKeyBytes' | 'hashesWhenVerifying'> & { readonly isPlain?: boolean },
  ) {
    this.threads = runner.threads;
    this.concurrency = runner.concurrency;
    this.#runner = runner;
    this.#packedPublicKeyBytes = packedPublicKeyBytes;
    this.hashesWhenVerifying = hashesWhenVerifying;
    this.#isPlain = isPlain;
    this.#keyTable = new PublicKeyTable(packedPublicKeyBytes);
    this.checks = new JobBatches(this, {
      ...{ maxJobs: runner.concurrency, maxInputs: MAX_CHECKS_PER_JOB },
      jobOf: (checks) => ({ kind: 'verify', checks }),
      outputsOf: (verdicts) => verdicts,
    });
    this.adds = new JobBatches(this, {
      ...{ maxJobs: runner.threads, maxInputs: MAX_ADDS_PER_JOB, maxSize: ENOUGH_SIGNATURES },
      sizeOf: ({ slots }) => slots.length,
      jobOf: (adds) => (adds.length === 1 ? { kind: 'add', ...adds[0] } : { kind: 'addAll', adds }),
      outputsOf: (output) => ('points' in output ? [output] : output),
    });
  }

  /** Whether jobs wait for a thread. */
  get isBusy(): boolean {
    return this.#runner.usage().waiting > 0;
  }

  /** Where decoded keys are kept; a new one when it is full. */
  openTable(): PublicKeyTable {
    if (this.#keyTable.isFull) this.#keyTable = new PublicKeyTable(this.#packedPublicKeyBytes);
    return this.#keyTable;
  }

  /** Results are no longer handed out: everything under way rejects with {@link ArithmeticReplaced}. */
  end(): void {
    this.#isReplaced = true;
  }

  async run<K extends BlsJobKind>(prepare: () => BlsJob<K> | undefined): Promise<BlsJobResult<K> | undefined> {
    this.#throwIfReplaced();
    const result = await this.#runner.run<K>(() => {
      const job = this.#isReplaced ? undefined : prepare();
      return job && this.#isPlain ? { ...job, isPlain: true } : job;
    });
    this.#throwIfReplaced();
    return result;
  }

  #throwIfReplaced(): void {
    if (this.#isReplaced) throw new ArithmeticReplaced('begun with BLS arithmetic that was found wrong meanwhile');
  }
}
