import { ParseError } from '../primitives/parse-error.ts';
import type { BlsBackend, HashedMessage, PublicKey, Signature, SignatureCheck, SignatureError } from './bls-backend.ts';
import { openPublicKeys } from './public-key-table.ts';

/**
 * What is done off the event loop. Jobs and results go between threads: everything is bytes, points are packed, and public
 * keys are slots of a table in shared memory.
 */
export interface BlsJobs {
  /** The packed message. */
  readonly hash: { readonly input: { readonly message: Uint8Array }; readonly output: Uint8Array };
  /** Decodes signatures and adds those that are points, with their signers' keys, to a sum. */
  readonly add: {
    /** Signatures of 96 bytes, one after the other, in memory of their own: they move to the thread. */
    readonly input: KeySlots & { readonly signatures: Uint8Array<ArrayBuffer>; readonly sum: Sum | undefined };
    readonly output: DecodedSignatures & { readonly sum: Sum | undefined };
  };
  readonly aggregate: { readonly input: { readonly sums: readonly Sum[] }; readonly output: Aggregate };
  /** The aggregate of signatures decoded before. */
  readonly sum: { readonly input: Contributions; readonly output: Sum };
  readonly verify: {
    readonly input: { readonly checks: readonly AggregateCheck[] };
    readonly output: readonly AggregateVerdict[];
  };
  /** Whether the sum of contributions verifies. */
  readonly verifySum: {
    readonly input: Contributions & { readonly message: Uint8Array };
    readonly output: AggregateVerdict;
  };
  /** The first half of contributions whose sum fails, and what follows for the second. */
  readonly halves: {
    readonly input: FailedContributions & { readonly middle: number };
    readonly output: readonly [AggregateVerdict, AggregateVerdict | undefined];
  };
  /** The only bad one of contributions whose sum fails with a known error; undefined where there are more. */
  readonly locate: {
    readonly input: FailedContributions & { readonly error: SignatureError };
    readonly output: number | undefined;
  };
}
export type BlsJobKind = keyof BlsJobs;
export type BlsJob<K extends BlsJobKind = BlsJobKind> = {
  [Kind in K]: { readonly kind: Kind } & BlsJobs[Kind]['input'];
}[K];
export type BlsJobResult<K extends BlsJobKind> = BlsJobs[K]['output'];

export interface KeySlots {
  readonly keys: SharedArrayBuffer;
  readonly slots: readonly number[];
}

/** Packed sums of signatures and of their signers' keys. */
export interface Sum {
  readonly key: Uint8Array;
  readonly signature: Uint8Array;
}

/** Points packed one after the other; in place of what was none there is nothing of use. */
export interface DecodedSignatures {
  readonly points: Uint8Array<ArrayBuffer>;
  readonly malformed: readonly { readonly position: number; readonly what: string; readonly reason: string }[];
}

export interface Aggregate {
  /** Packed. */
  readonly key: Uint8Array;
  /** 96 bytes, compressed. */
  readonly signature: Uint8Array;
}

export interface AggregateCheck extends Aggregate {
  /** Packed. */
  readonly message: Uint8Array;
}

export type AggregateVerdict =
  | { readonly kind: 'valid' }
  /** With its error, where the backend can tell it. */
  | { readonly kind: 'invalid'; readonly error?: SignatureError };

/** Signatures, packed one after the other, with their signers' slots. */
export interface Contributions extends KeySlots {
  readonly points: Uint8Array;
}

export interface FailedContributions extends Contributions {
  /** Packed. */
  readonly message: Uint8Array;
  readonly error?: SignatureError | undefined;
}

const SIGNATURE_BYTES = 96;
const VALID: AggregateVerdict = { kind: 'valid' };

export function runBlsJob<K extends BlsJobKind>(backend: BlsBackend, job: BlsJob<K>): BlsJobResult<K> {
  return run(backend, job as BlsJob) as BlsJobResult<K>;
}

function run(backend: BlsBackend, job: BlsJob): BlsJobResult<BlsJobKind> {
  switch (job.kind) {
    case 'hash':
      return backend.packMessage(backend.hashToCurve(job.message));
    case 'add':
      return add(backend, job);
    case 'aggregate':
      return {
        key: packedKeySum(
          backend,
          job.sums.map(({ key }) => backend.unpackPublicKey(key)),
        ),
        signature: backend.encodeSignature(
          backend.aggregateSignatures(job.sums.map(({ signature }) => backend.unpackSignature(signature))),
        ),
      };
    case 'sum': {
      const { keys, signatures } = readContributions(backend, job);
      return sumOf(backend, keys, signatures);
    }
    case 'verify':
      return verify(backend, job.checks);
    case 'verifySum':
      return verifySum(backend, readContributions(backend, job), backend.unpackMessage(job.message));
    case 'halves':
      return verifyHalves(backend, job);
    case 'locate':
      return locate(backend, job);
  }
}

function add(backend: BlsBackend, { keys, slots, signatures, sum }: BlsJobs['add']['input']): BlsJobs['add']['output'] {
  const keySum = sum ? [backend.unpackPublicKey(sum.key)] : [];
  const signatureSum = sum ? [backend.unpackSignature(sum.signature)] : [];
  const { packedSignatureBytes } = backend;
  const points = new Uint8Array(slots.length * packedSignatureBytes);
  const readKey = openPublicKeys(backend, keys);
  const malformed: DecodedSignatures['malformed'][number][] = [];
  for (const [position, slot] of slots.entries()) {
    try {
      const key = readKey(slot);
      const bytes = signatures.subarray(position * SIGNATURE_BYTES, (position + 1) * SIGNATURE_BYTES);
      const signature = backend.parseSignature(bytes);
      keySum.push(key);
      signatureSum.push(signature);
      points.set(backend.packSignature(signature), position * packedSignatureBytes);
    } catch (error) {
      if (!(error instanceof ParseError)) throw error;
      malformed.push({ position, what: error.what, reason: error.reason });
    }
  }
  return { points, malformed, sum: keySum.length === 0 ? undefined : sumOf(backend, keySum, signatureSum) };
}

/** From the encoded signatures on; one that fails with others is verified on its own. */
function verify(backend: BlsBackend, checks: readonly AggregateCheck[]): AggregateVerdict[] {
  const parsed = checks.map((check) => parseCheck(backend, check));
  if (parsed.length > 1 && parsed.every((check) => check !== undefined) && backend.verifyBatch(parsed)) {
    return parsed.map(() => VALID);
  }
  return parsed.map((check) => (check === undefined ? { kind: 'invalid' } : verifyOne(backend, check)));
}

function parseCheck(backend: BlsBackend, { key, message, signature }: AggregateCheck): SignatureCheck | undefined {
  try {
    return {
      key: backend.unpackPublicKey(key),
      message: backend.unpackMessage(message),
      signature: backend.parseSignature(signature),
    };
  } catch (error) {
    // An aggregate at infinity does not parse.
    if (error instanceof ParseError) return undefined;
    throw error;
  }
}

function verifyOne(backend: BlsBackend, check: SignatureCheck): AggregateVerdict {
  if (backend.errors === undefined) {
    return backend.verify(check.key, check.message, check.signature) ? VALID : { kind: 'invalid' };
  }
  const error = backend.errors.errorOf(check);
  return error === undefined ? { kind: 'invalid' } : verdictOf(backend, error);
}

function verdictOf({ errors }: BlsBackend, error: SignatureError): AggregateVerdict {
  return errors?.isNone(error) ? VALID : { kind: 'invalid', error };
}

function verifyHalves(
  backend: BlsBackend,
  job: BlsJobs['halves']['input'],
): readonly [AggregateVerdict, AggregateVerdict | undefined] {
  const { keys, slots, points, middle } = job;
  const left = verifySum(
    backend,
    readContributions(backend, {
      keys,
      slots: slots.slice(0, middle),
      points: points.subarray(0, middle * backend.packedSignatureBytes),
    }),
    backend.unpackMessage(job.message),
  );
  // Where the left half is good, the error of the whole is that of the right one.
  if (left.kind === 'valid') return [left, { kind: 'invalid', ...(job.error && { error: job.error }) }];
  // Errors multiply, so the right one's is the whole's over the left one's.
  if (backend.errors !== undefined && job.error !== undefined && left.error !== undefined) {
    return [left, verdictOf(backend, backend.errors.divide(job.error, left.error))];
  }
  return [left, undefined];
}

function verifySum(
  backend: BlsBackend,
  { keys, signatures }: DecodedContributions,
  message: HashedMessage,
): AggregateVerdict {
  return verifyOne(backend, {
    key: backend.aggregatePublicKeys(keys),
    signature: backend.aggregateSignatures(signatures),
    message,
  });
}

/**
 * Where one signature alone is bad, at place n (from 1), the sum in which every signature counts as often as its place says
 * has the error of the plain sum to the power of n: two pairings tell n. Colluders can make that point at somebody else, so
 * the signature found must have the whole error on its own.
 */
function locate(backend: BlsBackend, job: BlsJobs['locate']['input']): number | undefined {
  if (backend.errors === undefined) return undefined;
  const { keys, signatures } = readContributions(backend, job);
  const message = backend.unpackMessage(job.message);
  const weighted = backend.errors.errorOf({
    key: sumByPlace(keys, (terms) => backend.aggregatePublicKeys(terms)),
    signature: sumByPlace(signatures, (terms) => backend.aggregateSignatures(terms)),
    message,
  });
  if (weighted === undefined) return undefined;
  const place = backend.errors.logarithm(weighted, job.error, signatures.length);
  if (place === undefined) return undefined;
  const [key, signature] = [keys[place - 1], signatures[place - 1]];
  if (key === undefined || signature === undefined) return undefined;
  const own = backend.errors.errorOf({ key, message, signature });
  return own !== undefined && backend.errors.areEqual(own, job.error) ? place - 1 : undefined;
}

/** 1 · first + 2 · second + …: the sum of the sums of all tails, in two additions a term. */
function sumByPlace<T>(terms: readonly T[], add: (terms: readonly T[]) => T): T {
  let tail: T | undefined;
  let total: T | undefined;
  for (const term of terms.toReversed()) {
    tail = tail === undefined ? term : add([tail, term]);
    total = total === undefined ? tail : add([total, tail]);
  }
  if (total === undefined) throw new RangeError('no terms');
  return total;
}

interface DecodedContributions {
  readonly keys: readonly PublicKey[];
  readonly signatures: readonly Signature[];
}

function readContributions(backend: BlsBackend, { keys, slots, points }: Contributions): DecodedContributions {
  const size = backend.packedSignatureBytes;
  return {
    keys: slots.map(openPublicKeys(backend, keys)),
    signatures: slots.map((_, index) => backend.unpackSignature(points.slice(index * size, (index + 1) * size))),
  };
}

function sumOf(backend: BlsBackend, keys: readonly PublicKey[], signatures: readonly Signature[]): Sum {
  return {
    key: packedKeySum(backend, keys),
    signature: backend.packSignature(backend.aggregateSignatures(signatures)),
  };
}

function packedKeySum(backend: BlsBackend, keys: readonly PublicKey[]): Uint8Array {
  return backend.packPublicKey(backend.aggregatePublicKeys(keys));
}
