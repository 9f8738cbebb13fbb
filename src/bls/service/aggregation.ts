import { concatBytes, equalBytes } from '../../lib/encoding/bytes.ts';
import { ParseError } from '../../lib/encoding/parse-error.ts';
import { BLS_SIGNATURE_LENGTH, BLS_UNCOMPRESSED_PUBLIC_KEY_LENGTH } from '../../warp/bls-lengths.ts';
import type { BlsBackend } from '../backends/bls-backend.ts';
import { findBadSigners, type Part } from '../pairing/find-bad-signers.ts';
import { Arithmetic } from './arithmetic.ts';
import type { Aggregate, BlsJob, BlsJobKind, BlsJobResult, SignedVerdict } from './bls-jobs.ts';
import type { JobRunner } from './job-runner.ts';
import { type AddOutcome, SignatureLanes } from './signature-lanes.ts';
import { type AuditOptions, createVerdictAudit, type Verdict } from './verdict-audit.ts';

export type BlsService = ReturnType<typeof createBlsService>;
/** Judges signed messages that others have made. */
export type BlsVerifier = Pick<BlsService, 'verifySigned'>;

export interface SignedByOthers {
  readonly signers: readonly Signer[];
  readonly message: Uint8Array;
  /** 96 bytes, compressed. */
  readonly signature: Uint8Array;
}

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

export type BlsAggregation = ReturnType<typeof createAggregation>;

/** @param audit of a share of verdicts by plain noble; undefined for none */
export function createBlsService(
  runner: JobRunner,
  backend: Pick<BlsBackend, 'packedPublicKeyBytes'>,
  audit?: AuditOptions,
) {
  let arithmetic = new Arithmetic(runner, backend);
  const consider = audit === undefined ? () => undefined : startAudit(audit);

  function startAudit(options: AuditOptions) {
    const plain = new Arithmetic(runner, { packedPublicKeyBytes: BLS_UNCOMPRESSED_PUBLIC_KEY_LENGTH, isPlain: true });
    return createVerdictAudit(plain, options, () => {
      arithmetic.end();
      arithmetic = plain;
    });
  }

  return {
    /**
     * Costs nothing yet. The message is hashed to the curve when its first signature comes, while others are still on their way: one
     * without a signature is never hashed.
     *
     * @param signal aborted when the aggregate is no longer needed: jobs that have not begun are dropped, and callers that wait for one get
     *   the signal's reason
     */
    startAggregation: (message: Uint8Array, signal: AbortSignal): BlsAggregation =>
      createAggregation(arithmetic, consider, message, signal),
    /**
     * Whether a signature verifies, from its encoding on, with the keys of just these signers; at least one.
     *
     * @throws {JobsOverloaded}, or the signal's reason
     */
    async verifySigned({ signers, message, signature }: SignedByOthers, signal: AbortSignal): Promise<SignedVerdict> {
      signal.throwIfAborted();
      const table = arithmetic.openTable();
      const slots = signers.map(({ publicKeyHex, publicKey }) => table.slotOf(publicKeyHex, publicKey));
      const verdict = await arithmetic.run<'verifySigned'>(() =>
        signal.aborted ? undefined : { kind: 'verifySigned', keys: table.memory, slots, message, signature },
      );
      if (verdict !== undefined) {
        consider({ signers, message, signature, isValid: verdict === 'valid' });
        return verdict;
      }
      signal.throwIfAborted();
      throw new Error('a check was left out that somebody waits for');
    },
  };
}

/** The sum of the signatures of one message, which arrive one by one. Disposing of it drops the jobs that have not begun. */
function createAggregation(
  arithmetic: Arithmetic,
  consider: (verdict: Verdict) => void,
  message: Uint8Array,
  signal: AbortSignal,
) {
  const { checks } = arithmetic;
  const keyTable = arithmetic.openTable();
  let isDisposed = false;
  const isOver = (): boolean => isDisposed || signal.aborted;
  const lanes = new SignatureLanes(arithmetic, { keys: keyTable.memory, isOver, onMalformed: considerBad });
  /** For audits. */
  const given = new Map<number, { readonly signer: Signer; readonly signature: Uint8Array }>();
  let hashing: Promise<Uint8Array> | undefined;
  let last: (Aggregate & { readonly signers: readonly number[]; isValid?: boolean }) | undefined;

  /** A job that is left out if the aggregation is over when its turn comes. */
  async function run<K extends BlsJobKind>(prepare: () => BlsJob<K> | undefined): Promise<BlsJobResult<K>> {
    return unlessOver(await arithmetic.run<K>(() => (isOver() ? undefined : prepare())));
  }

  function unlessOver<T>(result: T | undefined): T {
    if (result !== undefined) return result;
    signal.throwIfAborted();
    throw new Error('the aggregation is over');
  }

  function hash(): Promise<Uint8Array> {
    if (hashing === undefined) {
      hashing = run<'hash'>(() => ({ kind: 'hash', message }));
      hashing.catch(() => undefined); // Awaited where it is needed.
    }
    return hashing;
  }

  function considerBad(index: number): void {
    const its = given.get(index);
    if (its !== undefined) consider({ signers: [its.signer], message, signature: its.signature, isValid: false });
  }

  return {
    /**
     * Decodes a signature and adds it to the sum.
     *
     * @returns a {@link ParseError} if the signature or the key is not a point
     */
    add(signer: Signer, signature: Uint8Array): Promise<AddOutcome> {
      const slot = keyTable.slotOf(signer.publicKeyHex, signer.publicKey);
      const problem = lengthProblem(signature) ?? (isOver() ? 'over' : undefined);
      if (problem !== undefined) return Promise.resolve(problem);
      void hash();
      given.set(signer.index, { signer, signature });
      return lanes.add(signer.index, slot, signature);
    },

    /** Whether a signature verifies on its own, which proves it. Adds nothing. */
    async verifyAlone(signer: Signer, signature: Uint8Array): Promise<boolean> {
      if (lengthProblem(signature) !== undefined) return false;
      const slots = [keyTable.slotOf(signer.publicKeyHex, signer.publicKey)];
      const keys = keyTable.memory;
      const verdict = await run<'verifySigned'>(() => ({ kind: 'verifySigned', keys, slots, message, signature }));
      const isValid = verdict === 'valid';
      consider({ signers: [signer], message, signature, isValid });
      return isValid;
    },

    /** The sum of all signatures that are added and not removed; at least one. */
    async aggregate(): Promise<SignedAggregate> {
      const { signers, ...parts } = lanes.partialSums();
      const toVerify = await hash();
      const made = await run<'aggregate'>(() => ({
        kind: 'aggregate',
        ...parts,
        // Where others wait for the thread, checks are better made together.
        ...(!arithmetic.isBusy && { message: toVerify }),
      }));
      last = { ...made, signers: ascending(signers) };
      return { signers: last.signers, signature: made.signature };
    },

    /**
     * Whether what `aggregate` returned verifies, from its encoded signature on: with the keys of just those signers, and as a signature of
     * just this message.
     *
     * @throws {Error} for any other message or signers than those of the last `aggregate`
     */
    async verify(signed: SignedAggregate, signedMessage: Uint8Array): Promise<boolean> {
      const isOfLast =
        last?.signers.length === signed.signers.length && last.signers.every((index, i) => index === signed.signers[i]);
      if (last === undefined || !isOfLast || !equalBytes(message, signedMessage)) {
        throw new Error('asked to verify another aggregate than the one made last');
      }
      const aggregate = last;
      if (aggregate.isValid === undefined || !equalBytes(aggregate.signature, signed.signature)) {
        const check = { key: aggregate.key, message: await hash(), signature: signed.signature };
        aggregate.isValid = unlessOver(await checks.run(() => (isOver() ? undefined : check)));
      }
      const { isValid } = aggregate;
      const signers = signed.signers.flatMap((index) => given.get(index)?.signer ?? []);
      consider({ signers, message, signature: signed.signature, isValid });
      return isValid;
    },

    /**
     * The indices of those who spoil the aggregate that failed last; see {@link findBadSigners}.
     *
     * @throws {Error} if the last aggregate has not failed
     */
    async findBadSigners(searchSignal: AbortSignal) {
      if (last?.isValid !== false) throw new Error('no aggregate has failed');
      const { signers } = last;
      const { keys, slots, points: packed } = lanes.contributionsOf(signers);
      const points = await run<'repack'>(() => ({ kind: 'repack', points: packed, count: signers.length }));
      const [size, toVerify] = [points.length / signers.length, await hash()];
      const verifySum = (parts: readonly Part[]): Promise<boolean> =>
        run<'verifySum'>(() => ({
          kind: 'verifySum',
          keys,
          message: toVerify,
          slots: parts.flatMap(({ start, end }) => slots.slice(start, end)),
          points: concatBytes(...parts.map(({ start, end }) => points.subarray(start * size, end * size))),
        }));
      const found = await findBadSigners({ start: 0, end: signers.length }, verifySum, searchSignal);
      const toIndex = (position: number): number => signers[position] as number;
      const bad = found.bad.map(toIndex);
      for (const index of bad) considerBad(index);
      return { bad, uncleared: found.uncleared.map(toIndex) };
    },

    /** Leaves a signer's signature out of the next `aggregate`. */
    remove: (index: number): void => lanes.remove(index),

    [Symbol.dispose]() {
      isDisposed = true;
      lanes.dropPending();
    },
  };
}

function ascending(indices: readonly number[]): readonly number[] {
  return [...Uint32Array.from(indices).sort()];
}

function lengthProblem({ length }: Uint8Array): ParseError | undefined {
  if (length === BLS_SIGNATURE_LENGTH) return undefined;
  return new ParseError('signature', `must have ${BLS_SIGNATURE_LENGTH} bytes, has ${length}`);
}
