import { concatBytes } from '../primitives/bytes.ts';
import { ParseError } from '../primitives/parse-error.ts';
import type { BlsJobs, Contributions, Sum } from './bls-jobs.ts';
import type { JobRunner } from './job-runner.ts';

/** Decoding this many takes some 4 ms with noble, so no request waits long for another one's job. */
const MAX_SIGNATURES_PER_JOB = 64;
/** Fewer are not worth a second thread. */
const MIN_SIGNATURES_PER_JOB = 4;

/** What became of a signature: in the sum, not taken because the aggregation is over, or what is wrong with it or its key. */
export type AddOutcome = 'added' | 'over' | ParseError;

/** All that is added and not removed: whose signatures, and sums that together contain each of them once. */
export interface PartialSums {
  readonly signers: readonly number[];
  readonly sums: readonly Sum[];
}

interface PendingSignature {
  readonly index: number;
  readonly slot: number;
  readonly signature: Uint8Array;
  readonly resolve: (outcome: AddOutcome) => void;
  readonly reject: (error: unknown) => void;
}

/** A part of the sum that one job at a time adds to. */
interface Lane {
  sum: Sum | undefined;
  isBusy: boolean;
  readonly signers: number[];
}

/**
 * Decodes the signatures of one aggregation in threads as they arrive, and adds them up. The sum is kept in lanes, as many as
 * jobs may run at a time, so that no job has to wait for the result of another.
 *
 * A job is queued as soon as there is something to decode, but takes its signatures only when a thread is free: until then
 * more can gather, and under load a few large jobs do the work of many small ones.
 */
export class SignatureLanes {
  readonly #runner: Pick<JobRunner, 'run' | 'threads' | 'concurrency'>;
  readonly #keys: SharedArrayBuffer;
  readonly #isOver: () => boolean;
  readonly #onMalformed: (index: number) => void;
  readonly #lanes: readonly Lane[];
  readonly #pending: PendingSignature[] = [];
  /** Jobs that are queued or running. */
  #jobs = 0;
  /** Those of them that have not taken their signatures yet. */
  #queuedJobs = 0;
  /** Each decoded signature on its own: the sum is made anew from them when one is removed. */
  readonly #decoded = new Map<number, { readonly slot: number; readonly point: Uint8Array }>();
  /** Whether the lanes still contain a signature that was removed. It stays so: points cannot be taken out of a sum cheaply. */
  #areStale = false;

  /**
   * @param keys the memory of the table that slots refer to
   * @param isOver when it holds, signatures that no job has taken yet are left alone
   * @param onMalformed called with whoever's signature or key is not a point
   */
  constructor(
    runner: Pick<JobRunner, 'run' | 'threads' | 'concurrency'>,
    keys: SharedArrayBuffer,
    isOver: () => boolean,
    onMalformed: (index: number) => void = () => undefined,
  ) {
    this.#onMalformed = onMalformed;
    this.#runner = runner;
    this.#keys = keys;
    this.#isOver = isOver;
    this.#lanes = Array.from({ length: runner.concurrency }, () => ({ sum: undefined, isBusy: false, signers: [] }));
  }

  /**
   * @param index names the signer
   * @param slot of its public key
   * @param signature 96 bytes
   * @returns rejects with what broke the job
   */
  add(index: number, slot: number, signature: Uint8Array): Promise<AddOutcome> {
    return new Promise((resolve, reject) => {
      this.#pending.push({ index, slot, signature, resolve, reject });
      this.#startJobs();
    });
  }

  /** Leaves the signer out of every sum from now on. */
  remove(index: number): void {
    this.#decoded.delete(index);
    this.#areStale = true;
  }

  /** @param addUp makes one sum of contributions, for when the lanes contain what was removed */
  async partialSums(addUp: (contributions: Contributions) => Promise<Sum>): Promise<PartialSums> {
    if (this.#areStale) {
      const signers = [...this.#decoded.keys()];
      return { signers, sums: [await addUp(this.contributionsOf(signers))] };
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
    const size = all[0]?.point.length ?? 0;
    const points = new Uint8Array(new SharedArrayBuffer(all.length * size));
    for (const [position, { point }] of all.entries()) points.set(point, position * size);
    return { keys: this.#keys, slots: all.map(({ slot }) => slot), points };
  }

  /** Whoever waits for a signature that no job has taken yet hears that it is over. */
  end(): void {
    for (const { resolve } of this.#pending.splice(0)) resolve('over');
  }

  #startJobs(): void {
    while (this.#jobs < this.#lanes.length && this.#queuedJobs * MIN_SIGNATURES_PER_JOB < this.#pending.length) {
      this.#jobs += 1;
      this.#queuedJobs += 1;
      void this.#runJob().finally(() => {
        this.#jobs -= 1;
        this.#startJobs();
      });
    }
  }

  async #runJob(): Promise<void> {
    const lane = this.#lanes.find(({ isBusy }) => !isBusy);
    if (lane === undefined) throw new Error('more jobs than lanes');
    lane.isBusy = true;
    let taken: readonly PendingSignature[] = [];
    try {
      const result = await this.#runner.run<'add'>(() => {
        this.#queuedJobs -= 1;
        taken = this.#takeShare();
        if (this.#isOver() || taken.length === 0) return undefined;
        return {
          kind: 'add',
          keys: this.#keys,
          slots: taken.map(({ slot }) => slot),
          // In memory of their own, which moves to the thread.
          signatures: new Uint8Array(concatBytes(...taken.map(({ signature }) => signature))),
          sum: lane.sum,
        };
      });
      if (result === undefined) for (const { resolve } of taken) resolve('over');
      else this.#keep(lane, taken, result);
    } catch (error) {
      // A job that the queue refused took nothing: it was there for all that are pending.
      if (taken.length === 0) this.#queuedJobs -= 1;
      for (const { reject } of taken.length > 0 ? taken : this.#pending.splice(0)) reject(error);
    } finally {
      lane.isBusy = false;
    }
  }

  /** An equal share for each thread, within the bounds of a job. */
  #takeShare(): readonly PendingSignature[] {
    const share = Math.ceil(this.#pending.length / this.#runner.threads);
    return this.#pending.splice(0, Math.min(Math.max(share, MIN_SIGNATURES_PER_JOB), MAX_SIGNATURES_PER_JOB));
  }

  #keep(lane: Lane, taken: readonly PendingSignature[], { sum, points, malformed }: BlsJobs['add']['output']): void {
    lane.sum = sum;
    const problems = new Map(malformed.map(({ position, what, reason }) => [position, new ParseError(what, reason)]));
    const size = points.length / taken.length;
    for (const [position, { index, slot, resolve }] of taken.entries()) {
      const problem = problems.get(position);
      if (problem === undefined) {
        this.#decoded.set(index, { slot, point: points.subarray(position * size, (position + 1) * size) });
        lane.signers.push(index);
      } else {
        this.#onMalformed(index);
      }
      resolve(problem ?? 'added');
    }
  }
}
