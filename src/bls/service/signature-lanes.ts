import { concatBytes } from '../../lib/encoding/bytes.ts';
import { ParseError } from '../../lib/encoding/parse-error.ts';
import type { AddOutput, Contributions, Sum } from './bls-jobs.ts';
import type { JobOwner, JobQueue } from './job-queue.ts';

/** Decoding this many takes some 4 ms with noble, so no request waits long for another one's job. */
const MAX_SIGNATURES_PER_JOB = 64;
/** Fewer are not worth a second thread. */
const MIN_SIGNATURES_PER_JOB = 4;

/** Result for a signature: added to the sum, dropped because the aggregation has ended, or the error of the signature or its key. */
export type AddOutcome = 'added' | 'over' | ParseError;

/** Sums and single contributions that together contain each added and not removed signature once. */
interface PartialSums {
  readonly signers: readonly number[];
  readonly sums: readonly Sum[];
  /** Each on its own, if the lanes contain what was removed. */
  readonly contributions?: Contributions;
}

interface PendingSignature {
  readonly index: number;
  readonly slot: number;
  readonly signature: Uint8Array;
  readonly resolve: (outcome: AddOutcome) => void;
  readonly reject: (error: unknown) => void;
}

export interface LaneOptions {
  /** The memory of the table that slots refer to. */
  readonly keys: SharedArrayBuffer;
  /** Called with signers whose signature or key is not a point. */
  readonly onMalformed: (index: number) => void;
}

/** Part of the sum, to which one job at a time adds. */
interface Lane {
  sum: Sum | undefined;
  /** Has a job, queued or running. */
  isBusy: boolean;
  readonly signers: number[];
}

/**
 * Decodes the signatures of one aggregation in threads as they arrive, and adds them up. The sum is kept in lanes, as many as jobs may run
 * at a time, so that no job has to wait for the result of another.
 *
 * A job is queued as soon as there is something to decode, but takes its signatures only when a thread is free: until then more can arrive,
 * so under load a few large jobs replace many small ones.
 */
export class SignatureLanes {
  readonly #jobs: JobQueue;
  readonly #owner: Required<JobOwner>;
  readonly #options: LaneOptions;
  readonly #lanes: readonly Lane[];
  readonly #pending: PendingSignature[] = [];
  /** Jobs that have not taken their signatures yet. */
  #queuedJobs = 0;
  /** Decoded signatures by signer: the sum is computed again from them when one is removed. */
  readonly #decoded = new Map<number, { readonly slot: number; readonly point: Uint8Array }>();
  /** Whether the lanes contain a signature that was removed. It is never reset: points cannot be taken out of a sum cheaply. */
  #areStale = false;
  /** Whether jobs are about to be started. */
  #isStarting = false;

  /** @param owner signatures that no job has taken when its signal is aborted are `over` */
  constructor(jobs: JobQueue, owner: Required<JobOwner>, options: LaneOptions) {
    this.#jobs = jobs;
    this.#owner = owner;
    this.#options = options;
    this.#lanes = Array.from({ length: jobs.concurrency }, () => ({
      sum: undefined,
      isBusy: false,
      signers: [],
    }));
  }

  /**
   * @param index names the signer
   * @param slot of its public key
   * @param signature 96 bytes
   * @returns rejects with the error of the job
   */
  add(index: number, slot: number, signature: Uint8Array): Promise<AddOutcome> {
    return new Promise((resolve, reject) => {
      this.#pending.push({ index, slot, signature, resolve, reject });
      if (this.#isStarting) return;
      this.#isStarting = true;
      // Deferred, so that signatures added in the same turn of the event loop share a job.
      queueMicrotask(() => {
        this.#isStarting = false;
        this.#startJobs();
      });
    });
  }

  /** Excludes the signer from later sums. */
  remove(index: number): void {
    this.#decoded.delete(index);
    this.#areStale = true;
  }

  partialSums(): PartialSums {
    if (this.#areStale) {
      const signers = [...this.#decoded.keys()];
      return { signers, sums: [], contributions: this.contributionsOf(signers) };
    }
    return {
      signers: this.#lanes.flatMap((lane) => lane.signers),
      sums: this.#lanes.flatMap(({ sum }) => sum ?? []),
    };
  }

  /** Decoded signatures in the order of `signers`, copied once into memory that all threads see. */
  contributionsOf(signers: readonly number[]): Contributions {
    const all = signers.map((index) => {
      const decoded = this.#decoded.get(index);
      if (decoded === undefined) throw new RangeError(`no signature of signer ${index}`);
      return decoded;
    });
    // Batches may use different encodings: reserve the longest for each point.
    const size = all.reduce((most, { point }) => Math.max(most, point.length), 0);
    const points = new Uint8Array(new SharedArrayBuffer(all.length * size));
    for (const [position, { point }] of all.entries()) points.set(point, position * size);
    return { keys: this.#options.keys, slots: all.map(({ slot }) => slot), points };
  }

  /** Resolves the signatures that no job has taken yet with `over`. */
  dropPending(): void {
    for (const { resolve } of this.#pending.splice(0)) resolve('over');
  }

  #startJobs(): void {
    for (const lane of this.#lanes) {
      if (this.#queuedJobs * MIN_SIGNATURES_PER_JOB >= this.#pending.length) return;
      if (!lane.isBusy) void this.#runJob(lane);
    }
  }

  async #runJob(lane: Lane): Promise<void> {
    lane.isBusy = true;
    this.#queuedJobs += 1;
    let taken: readonly PendingSignature[] = [];
    try {
      // Not with the owner's signal: what a job would have taken is then over, which is no error.
      const result = await this.#jobs.run<'add'>({ backend: this.#owner.backend }, () => {
        this.#queuedJobs -= 1;
        taken = this.#takeShare();
        if (this.#owner.signal.aborted || taken.length === 0) return undefined;
        return {
          kind: 'add',
          keys: this.#options.keys,
          slots: taken.map(({ slot }) => slot),
          signatures: concatBytes(...taken.map(({ signature }) => signature)),
          sum: lane.sum,
        };
      });
      if (result === undefined) for (const { resolve } of taken) resolve('over');
      else this.#keep(lane, taken, result);
    } catch (error) {
      // A job that the queue refused has taken no signatures.
      if (taken.length === 0) this.#queuedJobs -= 1;
      for (const { reject } of taken.length > 0 ? taken : this.#pending.splice(0)) reject(error);
    } finally {
      lane.isBusy = false;
      this.#startJobs();
    }
  }

  /** An equal share for each thread, within the bounds of a job. */
  #takeShare(): readonly PendingSignature[] {
    const share = Math.ceil(this.#pending.length / this.#jobs.threads);
    return this.#pending.splice(0, Math.min(Math.max(share, MIN_SIGNATURES_PER_JOB), MAX_SIGNATURES_PER_JOB));
  }

  #keep(lane: Lane, taken: readonly PendingSignature[], { sum, points, malformed }: AddOutput): void {
    lane.sum = sum;
    const problems = new Map(malformed.map(({ position, what, reason }) => [position, new ParseError(what, reason)]));
    const size = points === undefined ? 0 : points.length / taken.length;
    for (const [position, { index, slot, signature, resolve }] of taken.entries()) {
      const problem = problems.get(position);
      if (problem === undefined) {
        const point = points?.subarray(position * size, (position + 1) * size) ?? signature;
        this.#decoded.set(index, { slot, point });
        lane.signers.push(index);
      } else {
        this.#options.onMalformed(index);
      }
      resolve(problem ?? 'added');
    }
  }
}
