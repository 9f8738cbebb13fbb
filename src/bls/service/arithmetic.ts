import type { BlsBackend } from '../backends/bls-backend.ts';
import { PublicKeyTable } from '../backends/public-key-table.ts';
import type { BlsJob, BlsJobKind, BlsJobResult } from './bls-jobs.ts';
import { CheckBatches } from './check-batches.ts';
import type { JobRunner } from './job-runner.ts';

/**
 * The jobs of one backend, and the public keys that it has decoded. Points of one backend must never get to another, so work that was
 * begun with it ends with it.
 */
export class Arithmetic implements Pick<JobRunner, 'run' | 'threads' | 'concurrency'> {
  readonly checks: CheckBatches;
  readonly threads: number;
  readonly concurrency: number;
  readonly #runner: JobRunner;
  readonly #packedPublicKeyBytes: number;
  readonly #isPlain: boolean;
  #keyTable: PublicKeyTable;
  #isReplaced = false;

  /** @param isPlain whether jobs run with `plain-backend.ts` in place of the threads' own backend */
  constructor(
    runner: JobRunner,
    {
      packedPublicKeyBytes,
      isPlain = false,
    }: Pick<BlsBackend, 'packedPublicKeyBytes'> & { readonly isPlain?: boolean },
  ) {
    this.threads = runner.threads;
    this.concurrency = runner.concurrency;
    this.#runner = runner;
    this.#packedPublicKeyBytes = packedPublicKeyBytes;
    this.#isPlain = isPlain;
    this.#keyTable = new PublicKeyTable(packedPublicKeyBytes);
    this.checks = new CheckBatches(this);
  }

  /** Whether jobs wait for a thread. */
  get isBusy(): boolean {
    return this.#runner.usage().waiting > 0;
  }

  /** Returns the table of decoded keys; a new one when it is full. */
  openTable(): PublicKeyTable {
    if (this.#keyTable.isFull) this.#keyTable = new PublicKeyTable(this.#packedPublicKeyBytes);
    return this.#keyTable;
  }

  /** Returns no results from now on: running and later jobs reject. */
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
    if (this.#isReplaced) throw new Error('begun with BLS arithmetic that was found wrong meanwhile');
  }
}
