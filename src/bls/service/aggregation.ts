import { concatBytes, equalBytes } from '../../lib/encoding/bytes.ts';
import { ParseError } from '../../lib/encoding/parse-error.ts';
import { BLS_SIGNATURE_LENGTH } from '../../warp/bls-lengths.ts';
import type { PublicKeyTable, PublicKeyTables } from '../backends/public-key-table.ts';
import { findBadSigners, type Part } from '../pairing/find-bad-signers.ts';
import type { Aggregate, BlsJob, BlsJobKind, BlsJobResult } from './bls-jobs.ts';
import type { CheckBatches } from './check-batches.ts';
import type { JobBackend, JobOwner, JobQueue } from './job-queue.ts';
import { type AddOutcome, SignatureLanes } from './signature-lanes.ts';
import type { Verdict } from './verdict-audit.ts';

export interface Signer {
  /** The caller's name for it. */
  readonly index: number;
  /** 48 bytes, compressed. */
  readonly publicKey: Uint8Array;
  /** The same as hex. */
  readonly publicKeyHex: string;
}

export interface SignedAggregate {
  /** Indices, ascending. */
  readonly signers: readonly number[];
  /** 96 bytes, compressed. */
  readonly signature: Uint8Array;
}

/** Sum of the signatures of one message, which are added as they arrive. Disposing of it drops the jobs that have not begun. */
export interface BlsAggregation extends Disposable {
  /**
   * Decodes a signature and adds it to the sum.
   *
   * @returns a {@link ParseError} if the signature or the key is not a point
   */
  add(signer: Signer, signature: Uint8Array): Promise<AddOutcome>;
  /** Whether a signature verifies on its own, which proves it. Adds nothing. */
  verifyAlone(signer: Signer, signature: Uint8Array): Promise<boolean>;
  /** Returns the sum of all signatures that were added and not removed, at least one. */
  aggregate(): Promise<SignedAggregate>;
  /**
   * Verifies the result of the last `aggregate` from its encoded signature, with the keys of exactly those signers and exactly this
   * message.
   *
   * @throws {Error} for any other message or signers than those of the last `aggregate`
   */
  verify(signed: SignedAggregate, signedMessage: Uint8Array): Promise<boolean>;
  /**
   * Returns the indices of the signers that make the last failed aggregate invalid; see {@link findBadSigners}.
   *
   * @throws {Error} if the last aggregate has not failed
   */
  findBadSigners(searchSignal: AbortSignal): Promise<{ readonly bad: number[]; readonly uncleared: number[] }>;
  /** Leaves a signer's signature out of the next `aggregate`. */
  remove(index: number): void;
}

/** Parts that the aggregations of one backend share. */
export interface BlsContext {
  readonly jobs: JobQueue;
  readonly backend: JobBackend;
  readonly checks: CheckBatches;
  readonly keyTables: PublicKeyTables;
  /** Called with every verdict, for audits. */
  readonly onVerdict: (verdict: Verdict) => void;
}

export class Aggregation implements BlsAggregation {
  readonly #context: BlsContext;
  readonly #message: Uint8Array;
  readonly #disposal = new AbortController();
  readonly #owner: Required<JobOwner>;
  readonly #keyTable: PublicKeyTable;
  readonly #lanes: SignatureLanes;
  /** For audits. */
  readonly #given = new Map<number, { readonly signer: Signer; readonly signature: Uint8Array }>();
  #hashing: Promise<Uint8Array> | undefined;
  #last: (Aggregate & { readonly signers: readonly number[]; isValid?: boolean }) | undefined;

  constructor(context: BlsContext, message: Uint8Array, signal: AbortSignal) {
    this.#context = context;
    this.#message = message;
    this.#owner = { backend: context.backend, signal: AbortSignal.any([signal, this.#disposal.signal]) };
    this.#keyTable = context.keyTables.open();
    this.#lanes = new SignatureLanes(context.jobs, this.#owner, {
      keys: this.#keyTable.memory,
      onMalformed: (index) => this.#reportBad(index),
    });
  }

  add(signer: Signer, signature: Uint8Array): Promise<AddOutcome> {
    const slot = this.#keyTable.slotOf(signer.publicKeyHex, signer.publicKey);
    const problem = lengthProblem(signature) ?? (this.#owner.signal.aborted ? 'over' : undefined);
    if (problem !== undefined) return Promise.resolve(problem);
    void this.#hash();
    this.#given.set(signer.index, { signer, signature });
    return this.#lanes.add(signer.index, slot, signature);
  }

  async verifyAlone(signer: Signer, signature: Uint8Array): Promise<boolean> {
    if (lengthProblem(signature) !== undefined) return false;
    const slots = [this.#keyTable.slotOf(signer.publicKeyHex, signer.publicKey)];
    const message = this.#message;
    const job = { kind: 'verifySigned', keys: this.#keyTable.memory, slots, message, signature } as const;
    const isValid = (await this.#run<'verifySigned'>(() => job)) === 'valid';
    this.#context.onVerdict({ signers: [signer], message, signature, isValid });
    return isValid;
  }

  async aggregate(): Promise<SignedAggregate> {
    const { signers, ...parts } = this.#lanes.partialSums();
    const message = await this.#hash();
    const { jobs } = this.#context;
    // While other jobs wait for a thread, checks are batched instead.
    const made = await this.#run<'aggregate'>(() => ({
      kind: 'aggregate',
      ...parts,
      ...(jobs.usage().waiting === 0 && { message }),
    }));
    this.#last = { ...made, signers: ascending(signers) };
    return { signers: this.#last.signers, signature: made.signature };
  }

  async verify(signed: SignedAggregate, signedMessage: Uint8Array): Promise<boolean> {
    const last = this.#last;
    const isOfLast =
      last?.signers.length === signed.signers.length && last.signers.every((index, i) => index === signed.signers[i]);
    if (last === undefined || !isOfLast || !equalBytes(this.#message, signedMessage)) {
      throw new Error('asked to verify another aggregate than the one made last');
    }
    const { signature } = signed;
    if (last.isValid === undefined || !equalBytes(last.signature, signature)) {
      const check = { key: last.key, message: await this.#hash(), signature };
      last.isValid = await this.#context.checks.verify(check, this.#owner.signal);
    }
    const { isValid } = last;
    const signers = signed.signers.flatMap((index) => this.#given.get(index)?.signer ?? []);
    this.#context.onVerdict({ signers, message: this.#message, signature, isValid });
    return isValid;
  }

  async findBadSigners(searchSignal: AbortSignal) {
    if (this.#last?.isValid !== false) throw new Error('no aggregate has failed');
    const { signers } = this.#last;
    const { keys, slots, points: packed } = this.#lanes.contributionsOf(signers);
    const points = await this.#run<'repack'>(() => ({ kind: 'repack', points: packed, count: signers.length }));
    const [size, message] = [points.length / signers.length, await this.#hash()];
    const verifySum = (parts: readonly Part[]): Promise<boolean> =>
      this.#run<'verifySum'>(() => ({
        kind: 'verifySum',
        keys,
        message,
        slots: parts.flatMap(({ start, end }) => slots.slice(start, end)),
        points: concatBytes(...parts.map(({ start, end }) => points.subarray(start * size, end * size))),
      }));
    const found = await findBadSigners({ start: 0, end: signers.length }, verifySum, searchSignal);
    const toIndex = (position: number): number => signers[position] as number;
    const bad = found.bad.map(toIndex);
    for (const index of bad) this.#reportBad(index);
    return { bad, uncleared: found.uncleared.map(toIndex) };
  }

  remove(index: number): void {
    this.#lanes.remove(index);
  }

  [Symbol.dispose](): void {
    this.#disposal.abort(new Error('the aggregation is over'));
    this.#lanes.dropPending();
  }

  #hash(): Promise<Uint8Array> {
    if (this.#hashing === undefined) {
      this.#hashing = this.#run<'hash'>(() => ({ kind: 'hash', message: this.#message }));
      this.#hashing.catch(() => undefined); // Awaited where it is needed.
    }
    return this.#hashing;
  }

  #run<K extends BlsJobKind>(prepare: () => BlsJob<K>): Promise<BlsJobResult<K>> {
    return this.#context.jobs.run<K>(this.#owner, prepare);
  }

  #reportBad(index: number): void {
    const its = this.#given.get(index);
    if (its === undefined) return;
    const { signer, signature } = its;
    this.#context.onVerdict({ signers: [signer], message: this.#message, signature, isValid: false });
  }
}

function ascending(indices: readonly number[]): readonly number[] {
  return [...Uint32Array.from(indices).sort()];
}

function lengthProblem({ length }: Uint8Array): ParseError | undefined {
  if (length === BLS_SIGNATURE_LENGTH) return undefined;
  return new ParseError('signature', `must have ${BLS_SIGNATURE_LENGTH} bytes, has ${length}`);
}
