import { concatBytes, equalBytes } from '../primitives/bytes.ts';
import { ParseError } from '../primitives/parse-error.ts';
import type { BlsBackend, SignatureError } from './bls-backend.ts';
import type {
  Aggregate,
  AggregateCheck,
  AggregateVerdict,
  BlsJob,
  BlsJobKind,
  BlsJobResult,
  Contributions,
  Sum,
} from './bls-jobs.ts';
import { type FailedPart, findBadSigners } from './find-bad-signers.ts';
import type { JobRunner } from './job-runner.ts';
import { PublicKeyTable } from './public-key-table.ts';

/** Signatures decoded by one job: at most some 10 ms with noble, so that no request waits long for another's. */
const MAX_SIGNATURES_PER_JOB = 64;
/** Fewer are not worth a second thread. */
const LEAST_SIGNATURES_PER_JOB = 4;
/** Aggregates checked together: at some 5 ms each with noble, the first of them is not held up for long. */
const MAX_CHECKS_PER_JOB = 32;
const SIGNATURE_BYTES = 96;

export interface BlsService {
  /**
   * Begins to hash the message to the curve.
   *
   * @param signal what it is for is not wanted any more: jobs that have not begun are dropped, and who waits for one gets the
   *   signal's reason
   */
  startAggregation(message: Uint8Array, signal: AbortSignal): Aggregation;
}

export interface Signer {
  /** What the caller knows it by. */
  readonly index: number;
  /** 48 bytes, compressed. */
  readonly publicKey: Uint8Array;
  /** The same as hex. */
  readonly publicKeyHex: string;
}

export interface SignedAggregate {
  readonly signers: readonly number[];
  /** 96 bytes, compressed. */
  readonly signature: Uint8Array;
}

/** The signatures of one message, as they come in, and their sum. Jobs that nobody waits for are dropped when it is disposed. */
export interface Aggregation extends Disposable {
  /**
   * Decodes a signature and adds it to the sum.
   *
   * @returns what is wrong with the signature or the key, or that the aggregation is over
   */
  add(signer: Signer, signature: Uint8Array): Promise<'added' | 'over' | ParseError>;
  /** Whether a signature verifies on its own: it is proven then. Adds nothing. */
  verifyAlone(signer: Signer, signature: Uint8Array): Promise<boolean>;
  /** The sum of all that are added and not removed; at least one. */
  aggregate(): Promise<SignedAggregate>;
  /**
   * Whether an aggregate of {@link aggregate} verifies, from its encoded signature on: with the keys of just those signers, and
   * as a signature of just this message.
   *
   * @throws {Error} for any other message or signers than those of the last {@link aggregate}
   */
  verify(signed: SignedAggregate, message: Uint8Array): Promise<boolean>;
  /** Who spoils the aggregate that failed last; see {@link findBadSigners}. Positions are the signers' indices. */
  findBadSigners(
    signal: AbortSignal,
  ): Promise<{ readonly bad: readonly number[]; readonly uncleared: readonly number[] }>;
  remove(index: number): void;
}

interface PendingSignature {
  readonly index: number;
  readonly slot: number;
  readonly signature: Uint8Array;
  readonly resolve: (outcome: 'added' | 'over' | ParseError) => void;
  readonly reject: (error: unknown) => void;
}

/** Part of the sum. There are as many as jobs at a time, so that each has one to add to. */
interface Lane {
  sum: Sum | undefined;
  isBusy: boolean;
  readonly signers: number[];
}

export function createBlsService(
  runner: JobRunner,
  { packedPublicKeyBytes }: Pick<BlsBackend, 'packedPublicKeyBytes'>,
): BlsService {
  let keyTable = new PublicKeyTable(packedPublicKeyBytes);
  const waitingChecks: {
    readonly check: AggregateCheck;
    readonly isOver: () => boolean;
    readonly resolve: (verdict: AggregateVerdict | undefined) => void;
    readonly reject: (error: unknown) => void;
  }[] = [];

  /** Checks that wait for a thread at the same time are one job; one that finds a free thread goes alone. */
  function verify(check: AggregateCheck, isOver: () => boolean): Promise<AggregateVerdict | undefined> {
    return new Promise((resolve, reject) => {
      waitingChecks.push({ check, isOver, resolve, reject });
      let taken: typeof waitingChecks = [];
      runner
        .run<'verify'>(() => {
          // A fair share, where other threads are about to be free too.
          const share = Math.ceil(waitingChecks.length / runner.threads);
          const next = waitingChecks.splice(0, Math.min(share, MAX_CHECKS_PER_JOB));
          for (const waiting of next) if (waiting.isOver()) waiting.resolve(undefined);
          taken = next.filter((waiting) => !waiting.isOver());
          return taken.length === 0 ? undefined : { kind: 'verify', checks: taken.map((waiting) => waiting.check) };
        })
        .then(
          (verdicts) => {
            for (const [position, waiting] of taken.entries()) waiting.resolve(verdicts?.[position]);
          },
          (error: unknown) => {
            if (taken.length === 0) reject(error);
            for (const waiting of taken) waiting.reject(error);
          },
        );
    });
  }

  return {
    startAggregation(message, signal) {
      if (keyTable.isFull) keyTable = new PublicKeyTable(packedPublicKeyBytes);
      return createAggregation(runner, keyTable, verify, message, signal);
    },
  };
}

function createAggregation(
  runner: JobRunner,
  keyTable: PublicKeyTable,
  verifyAggregate: (check: AggregateCheck, isOver: () => boolean) => Promise<AggregateVerdict | undefined>,
  message: Uint8Array,
  signal: AbortSignal,
): Aggregation {
  let isDisposed = false;
  const isOver = (): boolean => isDisposed || signal.aborted;
  /** A job, unless it is obsolete when its turn comes. */
  async function run<K extends BlsJobKind>(prepare: () => BlsJob<K> | undefined): Promise<BlsJobResult<K>> {
    return orOver(await runner.run<K>(() => (isOver() ? undefined : prepare())));
  }
  const hashed = run<'hash'>(() => ({ kind: 'hash', message }));
  hashed.catch(() => undefined); // Who needs it awaits it.

  const pending: PendingSignature[] = [];
  const lanes: Lane[] = Array.from({ length: runner.concurrency }, () => ({
    sum: undefined,
    isBusy: false,
    signers: [],
  }));
  let jobs = 0;
  /** Of these, those that have not yet taken their signatures. */
  let jobsQueued = 0;
  const contributions = new Map<number, { readonly slot: number; readonly point: Uint8Array }>();
  /** A removed signature is still in the lanes: from then on sums are made anew. */
  let areLanesStale = false;
  let last: (Aggregate & { readonly signers: readonly number[]; verdict?: AggregateVerdict }) | undefined;

  function addPending(): void {
    while (jobs < lanes.length && jobsQueued * LEAST_SIGNATURES_PER_JOB < pending.length) {
      jobs += 1;
      jobsQueued += 1;
      void runAddJob().finally(() => {
        jobs -= 1;
        addPending();
      });
    }
  }

  async function runAddJob(): Promise<void> {
    let taken: readonly PendingSignature[] = [];
    const lane = lanes.find(({ isBusy }) => !isBusy);
    if (lane === undefined) throw new Error('more jobs than lanes');
    lane.isBusy = true;
    try {
      const result = await runner.run<'add'>(() => {
        jobsQueued -= 1;
        const share = Math.ceil(pending.length / runner.threads);
        taken = pending.splice(0, Math.min(Math.max(share, LEAST_SIGNATURES_PER_JOB), MAX_SIGNATURES_PER_JOB));
        if (isOver() || taken.length === 0) return undefined;
        return {
          kind: 'add',
          keys: keyTable.memory,
          slots: taken.map(({ slot }) => slot),
          signatures: new Uint8Array(concatBytes(...taken.map(({ signature }) => signature))),
          sum: lane.sum,
        };
      });
      if (result !== undefined) lane.sum = result.sum;
      for (const [position, { index, slot, resolve }] of taken.entries()) {
        const problem = result?.malformed.find((each) => each.position === position);
        if (result !== undefined && problem === undefined) {
          const size = result.points.length / taken.length;
          contributions.set(index, { slot, point: result.points.subarray(position * size, (position + 1) * size) });
          lane.signers.push(index);
        }
        if (problem !== undefined) resolve(new ParseError(problem.what, problem.reason));
        else resolve(result === undefined ? 'over' : 'added');
      }
    } catch (error) {
      // Refused before it took any: then it was to take those.
      if (taken.length === 0) jobsQueued -= 1;
      for (const { reject } of taken.length > 0 ? taken : pending.splice(0)) reject(error);
    } finally {
      lane.isBusy = false;
    }
  }

  function orOver<T>(result: T | undefined): T {
    if (result !== undefined) return result;
    signal.throwIfAborted();
    throw new Error('the aggregation is over');
  }

  /** Copied once into memory that all threads see, in the order of `signers`. */
  function shareContributions(signers: readonly number[]): Contributions {
    const all = signers.map((index) => contributions.get(index) as { slot: number; point: Uint8Array });
    const size = all[0]?.point.length ?? 0;
    const points = new Uint8Array(new SharedArrayBuffer(all.length * size));
    for (const [position, { point }] of all.entries()) points.set(point, position * size);
    return { keys: keyTable.memory, slots: all.map(({ slot }) => slot), points };
  }

  async function sums(): Promise<{ readonly signers: readonly number[]; readonly sums: readonly Sum[] }> {
    if (!areLanesStale) {
      return {
        signers: lanes.flatMap((lane) => lane.signers),
        sums: lanes.flatMap(({ sum }) => sum ?? []),
      };
    }
    const signers = [...contributions.keys()];
    return { signers, sums: [await run<'sum'>(() => ({ kind: 'sum', ...shareContributions(signers) }))] };
  }

  return {
    add(signer, signature) {
      const slot = keyTable.slotOf(signer.publicKeyHex, signer.publicKey);
      return new Promise((resolve, reject) => {
        const problem = lengthProblem(signature);
        if (problem !== undefined || isOver()) {
          resolve(problem ?? 'over');
          return;
        }
        pending.push({ index: signer.index, slot, signature, resolve, reject });
        addPending();
      });
    },

    async verifyAlone(signer, signature) {
      if (lengthProblem(signature) !== undefined) return false;
      const slots = [keyTable.slotOf(signer.publicKeyHex, signer.publicKey)];
      const { sum } = await run<'add'>(() => ({
        ...{ kind: 'add', keys: keyTable.memory, slots, signatures: new Uint8Array(signature), sum: undefined },
      }));
      if (sum === undefined) return false;
      const check = { key: sum.key, message: await hashed, signature };
      // Not with those of others: where it is bad, they would all have to be checked again.
      const [verdict] = await run<'verify'>(() => ({ kind: 'verify', checks: [check] }));
      return verdict?.kind === 'valid';
    },

    async aggregate() {
      const { signers, sums: parts } = await sums();
      const made = await run<'aggregate'>(() => ({ kind: 'aggregate', sums: parts }));
      last = { ...made, signers: [...Uint32Array.from(signers).sort()] };
      return { signers: last.signers, signature: made.signature };
    },

    async verify(signed, signedMessage) {
      const isOfLast =
        last?.signers.length === signed.signers.length && last.signers.every((index, i) => index === signed.signers[i]);
      if (last === undefined || !isOfLast || !equalBytes(message, signedMessage)) {
        throw new Error('verified another aggregate than was made last');
      }
      const aggregate = last;
      const { key } = aggregate;
      const check = { key, message: await hashed, signature: signed.signature };
      const verdict = orOver(await verifyAggregate(check, isOver));
      aggregate.verdict = verdict;
      return verdict.kind === 'valid';
    },

    async findBadSigners(searchSignal) {
      if (last?.verdict?.kind !== 'invalid') throw new Error('no aggregate has failed');
      const { signers, verdict } = last;
      const { keys, slots, points } = shareContributions(signers);
      const size = points.length / signers.length;
      const packedMessage = await hashed;
      const part = ({ start, end, error }: FailedPart) => ({
        keys,
        slots: slots.slice(start, end),
        points: points.subarray(start * size, end * size),
        message: packedMessage,
        error,
      });
      const found = await findBadSigners(
        { start: 0, end: signers.length, ...(verdict.error && { error: verdict.error }) },
        {
          async verify(parts) {
            const members = parts.flatMap(({ start, end }) => signers.slice(start, end));
            return run<'verifySum'>(() => ({
              kind: 'verifySum',
              ...shareContributions(members),
              message: packedMessage,
            }));
          },
          async halves(failed, middle) {
            return run<'halves'>(() => ({ kind: 'halves', ...part(failed), middle: middle - failed.start }));
          },
          async locate(failed) {
            const { error, ...rest } = part(failed);
            const position = await runner.run<'locate'>(() => ({
              kind: 'locate',
              ...rest,
              error: error as SignatureError,
            }));
            return position === undefined ? undefined : position + failed.start;
          },
        },
        searchSignal,
      );
      const toIndex = (position: number): number => signers[position] as number;
      return { bad: found.bad.map(toIndex), uncleared: found.uncleared.map(toIndex) };
    },

    remove(index) {
      contributions.delete(index);
      areLanesStale = true;
    },

    [Symbol.dispose]() {
      isDisposed = true;
      for (const { resolve } of pending.splice(0)) resolve('over');
    },
  };
}

function lengthProblem({ length }: Uint8Array): ParseError | undefined {
  if (length === SIGNATURE_BYTES) return undefined;
  return new ParseError('signature', `must have ${SIGNATURE_BYTES} bytes, has ${length}`);
}
