import { concatBytes } from '../../lib/encoding/bytes.ts';
import { ParseError } from '../../lib/encoding/parse-error.ts';
import type { Arithmetic } from '../field/arithmetic.ts';
import type { AddInput, AddOutput, Contributions, MadeAggregate } from '../service/bls-jobs.ts';
import type { Sum } from './add-points.ts';

/** Decoding this many takes some 4 ms with noble, so no request waits long for another one's job. */
const MAX_SIGNATURES_PER_JOB = 64;
/** Fewer are not worth a second thread. */
const MIN_SIGNATURES_PER_JOB = 4;
/** Jobs of so many may go together with those of other requests. */
const SMALL_JOB = 8;

/** What became of a signature: in the sum, not taken because the aggregation is over, or what is wrong with it or its key. */
export type AddOutcome = 'added' | 'over' | ParseError;

/** All that is added and not removed: whose signatures, and what together contains each of them once. */
interface PartialSums {
  readonly signers: readonly number[];
  readonly sums: readonly Sum[];
  /** Each on its own, where the lanes contain what was removed. */
  readonly contributions?: Contributions;
}

/** The aggregate of the signers in the sum. */
export type Made = MadeAggregate & { readonly signers: readonly number[] };

interface PendingSignature {
  readonly index: number;
  readonly isLast: boolean;
  readonly slot: number;
  readonly signature: Uint8Array;
  readonly resolve: (outcome: AddOutcome) => void;
  readonly reject: (error: unknown) => void;
}

type PrepareAdd = () => AddInput | undefined;

export interface LaneOptions {
  readonly message: Uint8Array;
  /** The memory of the table that slots refer to. */
  readonly keys: SharedArrayBuffer;
  /** When it holds, signatures that no job has taken yet are left alone. */
  readonly isOver: () => boolean;
  /** Called with signers whose signature or key is not a point. */
  readonly onMalformed: (index: number) => void;
}

/** A part of the sum that one job at a time adds to. */
interface Lane {
  sum: Sum | undefined;
  /** Has a job, queued or running. */
  isBusy: boolean;
  /** Has one that has taken its signatures. */
  isAtWork: boolean;
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
  readonly #arithmetic: Arithmetic;
  readonly #options: LaneOptions;
  readonly #lanes: readonly Lane[];
  readonly #pending: PendingSignature[] = [];
  /**
   * The last ones wait for the jobs before them where they are no more than these: one job then does all that is left. More are decoded
   * sooner by several threads, where there are several.
   */
  readonly #mostAtEnd: number;
  /** Jobs that are queued or running. */
  #jobs = 0;
  /** Those of them that have not taken their signatures yet. */
  #queuedJobs = 0;
  /** Each decoded signature on its own: the sum is computed again from them when one is removed. */
  readonly #decoded = new Map<number, { readonly slot: number; readonly point: Uint8Array }>();
  /**
   * Whether the lanes still contain a signature that was removed, or lack the last ones, which went into the aggregate. It stays so:
   * points cannot be taken out of a sum cheaply.
   */
  #areStale = false;
  #made: Made | undefined;
  /** Whether jobs are about to be started. */
  #isStarting = false;
  /** Whether a job is under way that makes the aggregate. */
  #isEnding = false;

  constructor(arithmetic: Arithmetic, options: LaneOptions) {
    this.#arithmetic = arithmetic;
    this.#options = options;
    this.#mostAtEnd = arithmetic.threads === 1 ? MAX_SIGNATURES_PER_JOB : SMALL_JOB;
    this.#lanes = Array.from({ length: arithmetic.concurrency }, () => ({
      sum: undefined,
      isBusy: false,
      isAtWork: false,
      signers: [],
    }));
  }

  /**
   * @param index names the signer
   * @param slot of its public key
   * @param signature 96 bytes
   * @param isLast whether all that are added now will be aggregated next, as far as the caller knows: that is then done at once
   * @returns rejects with what broke the job
   */
  add(index: number, slot: number, signature: Uint8Array, isLast = false): Promise<AddOutcome> {
    return new Promise((resolve, reject) => {
      this.#pending.push({ index, slot, signature, isLast, resolve, reject });
      if (this.#isStarting) return;
      this.#isStarting = true;
      // Not at once: what is added in the same breath goes with it.
      queueMicrotask(() => {
        this.#isStarting = false;
        this.#startJobs();
      });
    });
  }

  /** Leaves the signer out of every sum from now on. */
  remove(index: number): void {
    this.#decoded.delete(index);
    this.#areStale = true;
    this.#made = undefined;
    this.#startJobs();
  }

  /** The aggregate of all that is added and not removed, where it was made with the last of them. */
  get made(): Made | undefined {
    return this.#made;
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
    // Those that came together are packed alike, and others perhaps in more bytes.
    const size = all.reduce((most, { point }) => Math.max(most, point.length), 0);
    const points = new Uint8Array(new SharedArrayBuffer(all.length * size));
    for (const [position, { point }] of all.entries()) points.set(point, position * size);
    return { keys: this.#options.keys, slots: all.map(({ slot }) => slot), points };
  }

  /** Rejects the signatures that no job has taken yet. */
  end(): void {
    for (const { resolve } of this.#pending.splice(0)) resolve('over');
  }

  /** Whether one job is to do all that is left, and cannot yet. */
  get #isEndAwaited(): boolean {
    return this.#jobs > 0 && this.#isEndPending;
  }

  get #isEndPending(): boolean {
    return this.#pending.length <= this.#mostAtEnd && this.#pending.some(({ isLast }) => isLast);
  }

  #startJobs(): void {
    // What comes after the last ones is needed only where their aggregate turns out to be bad.
    if (this.#isEnding || this.#made !== undefined) return;
    while (
      this.#jobs < this.#lanes.length &&
      this.#queuedJobs * MIN_SIGNATURES_PER_JOB < this.#pending.length &&
      !this.#isEndAwaited
    ) {
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
      const result = await this.#run(() => {
        this.#queuedJobs -= 1;
        if (this.#isEnding || this.#made !== undefined) return undefined;
        const isSmall = this.#pending.length <= SMALL_JOB;
        const isEnd = this.#isEndPending && !this.#areStale && this.#isAlone(lane);
        taken = isEnd ? this.#pending.splice(0) : this.#takeShare();
        if (this.#options.isOver() || taken.length === 0) return undefined;
        lane.isAtWork = true;
        this.#isEnding = isEnd;
        return {
          keys: this.#options.keys,
          slots: taken.map(({ slot }) => slot),
          signatures: concatBytes(...taken.map(({ signature }) => signature)),
          sum: lane.sum,
          ...(isEnd && { last: this.#restOfSum(lane, isSmall) }),
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
      lane.isAtWork = false;
      if (this.#isAlone(lane)) this.#isEnding = false;
    }
  }

  #run(prepare: PrepareAdd): Promise<AddOutput | undefined> {
    const { adds, hashesWhenVerifying } = this.#arithmetic;
    // Others hash in a separate job, and have no message to verify with when a small set has signed.
    if (hashesWhenVerifying && this.#pending.length <= SMALL_JOB) return adds.run(prepare);
    return this.#arithmetic.run<'add'>(() => {
      const input = prepare();
      return input && { kind: 'add', ...input };
    });
  }

  #isAlone(lane: Lane): boolean {
    return this.#lanes.every((other) => other === lane || !other.isAtWork);
  }

  #restOfSum(lane: Lane, isSmall: boolean): NonNullable<AddInput['last']> {
    const { hashesWhenVerifying, isBusy } = this.#arithmetic;
    const sums = this.#lanes.flatMap((other) => (other === lane ? [] : (other.sum ?? [])));
    // Where others wait for the thread, checks are better made together. Those of small jobs are.
    return { sums, ...(hashesWhenVerifying && (isSmall || !isBusy) && { message: this.#options.message }) };
  }

  /** An equal share for each thread, within the bounds of a job. */
  #takeShare(): readonly PendingSignature[] {
    const share = Math.ceil(this.#pending.length / this.#arithmetic.threads);
    return this.#pending.splice(0, Math.min(Math.max(share, MIN_SIGNATURES_PER_JOB), MAX_SIGNATURES_PER_JOB));
  }

  #keep(lane: Lane, taken: readonly PendingSignature[], { sum, points, malformed, made }: AddOutput): void {
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
    // Signers may have been removed meanwhile. No other job has begun.
    if (made === undefined || this.#areStale) return;
    this.#made = { ...made, signers: this.#lanes.flatMap(({ signers }) => signers) };
    // The sum that it was made of stays in the thread.
    this.#areStale = true;
  }
}
