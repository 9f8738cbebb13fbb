import { concatBytes } from '../../lib/encoding/bytes.ts';
import { ParseError } from '../../lib/encoding/parse-error.ts';
import { BLS_PUBLIC_KEY_LENGTH } from '../../warp/bls-lengths.ts';
import type {
  BlsBackend,
  DefectArithmetic,
  HashedMessage,
  PublicKey,
  Signature,
  SignatureCheck,
  SignatureDefect,
} from '../backends/bls-backend.ts';
import { openPackedKeys, openPublicKeys } from '../backends/public-key-table.ts';
import { addUp, NO_POINTS, type PointSum, type Points, packSum, type Sum } from '../curve/add-points.ts';
import { type DecodedSignatures, decodeSignatures } from '../curve/decode-signatures.ts';
import { hashedFrom, hashInto } from '../curve/hash-ahead.ts';

/**
 * The work that is done off the event loop. Jobs and their results go from thread to thread, so everything in them is bytes:
 * points are packed, and public keys are slots of a table in shared memory.
 */
export interface BlsJobs {
  /** The packed message, which is left in `ahead` too: see `hash-ahead.ts`. */
  readonly hash: {
    readonly input: { readonly message: Uint8Array; readonly ahead?: SharedArrayBuffer };
    readonly output: Uint8Array;
  };
  /**
   * Decodes signatures and adds those that are points, with their signers' keys, to a sum. Where these are the last ones, and all of
   * them are points, it makes the aggregate as well.
   */
  readonly add: {
    /** Signatures of 96 bytes, one after the other. */
    readonly input: KeySlots & {
      readonly signatures: Uint8Array;
      readonly sum: Sum | undefined;
      /** Added to the sums of the other lanes. */
      readonly last?: BlsJobs['aggregate']['input'];
    };
    readonly output: DecodedSignatures & {
      /** Undefined beside the aggregate too: after a removal, the other signatures are added up again. */
      readonly sum: Sum | undefined;
      readonly made?: BlsJobs['aggregate']['output'];
    };
  };
  /** Several aggregations, with one check for all that are to be verified. */
  readonly addAll: {
    readonly input: { readonly adds: readonly BlsJobs['add']['input'][] };
    readonly output: readonly BlsJobs['add']['output'][];
  };
  /** Has its verdict where there is a message to verify it with: one way to the thread and back less. */
  readonly aggregate: {
    readonly input: { readonly sums: readonly Sum[]; readonly message?: Uint8Array };
    readonly output: Aggregate & { readonly verdict?: AggregateVerdict };
  };
  /** Points that may be packed in any way, packed in the way that is the quickest to unpack. */
  readonly repack: {
    readonly input: { readonly points: Uint8Array; readonly count: number };
    readonly output: Uint8Array;
  };
  /** The aggregate of signatures decoded before. */
  readonly sum: { readonly input: Contributions; readonly output: Sum };
  readonly verify: {
    readonly input: { readonly checks: readonly AggregateCheck[] };
    readonly output: readonly AggregateVerdict[];
  };
  /** A signature of a client, from its bytes on, by the keys of those who are said to have signed. */
  readonly verifySigned: {
    readonly input: KeySlots & {
      readonly message: Uint8Array;
      readonly signature: Uint8Array;
      /** Where a thread hashes the message, or has done so. */
      readonly ahead?: SharedArrayBuffer | undefined;
    };
    readonly output: SignedVerdict;
  };
  /** The same by keys that are decoded and packed, one after the other. */
  readonly verifyDecoded: {
    readonly input: { readonly keys: Uint8Array; readonly message: Uint8Array; readonly signature: Uint8Array };
    readonly output: SignedVerdict;
  };
  /** Decodes and packs compressed public keys that stand one after the other. */
  readonly decodeKeys: { readonly input: { readonly publicKeys: Uint8Array }; readonly output: Uint8Array };
  /** Whether the sum of contributions verifies. */
  readonly verifySum: {
    readonly input: Contributions & { readonly message: Uint8Array };
    readonly output: AggregateVerdict;
  };
  /** Whether the first half of contributions whose sum fails verifies, and the second as far as it follows from that. */
  readonly halves: {
    readonly input: FailedContributions & { readonly middle: number };
    readonly output: readonly [AggregateVerdict, AggregateVerdict | undefined];
  };
  /** The only bad one of contributions whose sum fails with a known defect; undefined where more than one is bad. */
  readonly locate: {
    readonly input: FailedContributions & { readonly defect: SignatureDefect };
    readonly output: { readonly position: number | undefined };
  };
}
export type BlsJobKind = keyof BlsJobs;
export type BlsJob<K extends BlsJobKind = BlsJobKind> = {
  [Kind in K]: { readonly kind: Kind; readonly isPlain?: IsPlain } & BlsJobs[Kind]['input'];
}[K];
/** Whether a job is for `plain-backend.ts`, whatever the backend of the thread is. */
type IsPlain = boolean | undefined;
export type BlsJobResult<K extends BlsJobKind> = BlsJobs[K]['output'];

/** `malformed`: not a point of the curve, or the encoding of infinity. */
export type SignedVerdict = 'valid' | 'malformed signature' | 'wrong signature';

export interface KeySlots {
  readonly keys: SharedArrayBuffer;
  readonly slots: readonly number[];
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
  /** Has its defect, if the backend reports it. */
  | { readonly kind: 'invalid'; readonly defect?: SignatureDefect };

/** Signatures, packed one after the other in as many bytes each, with their signers' slots. */
export interface Contributions extends KeySlots {
  readonly points: Uint8Array;
}

export interface FailedContributions extends Contributions {
  /** Packed. */
  readonly message: Uint8Array;
  readonly defect?: SignatureDefect | undefined;
}

const VALID: AggregateVerdict = { kind: 'valid' };

export function runBlsJob<K extends BlsJobKind>(backend: BlsBackend, job: BlsJob<K>): BlsJobResult<K> {
  return run(backend, job as BlsJob) as BlsJobResult<K>;
}

function run(backend: BlsBackend, job: BlsJob): BlsJobResult<BlsJobKind> {
  switch (job.kind) {
    case 'hash':
      return job.ahead === undefined
        ? backend.packMessage(backend.hashToCurve(job.message))
        : hashInto(backend, job.message, job.ahead);
    case 'add':
      return add(backend, job);
    case 'addAll':
      return addAll(backend, job.adds);
    case 'aggregate':
      return aggregate(backend, job);
    case 'repack':
      return repack(backend, job);
    case 'sum': {
      const { keys, signatures } = readContributions(backend, job);
      return packSum(backend, addUp(backend, { keys, signatures }));
    }
    case 'verify':
      return verify(backend, job.checks);
    case 'verifySigned':
      return verifySigned(backend, job);
    case 'verifyDecoded':
      return verifyParsed(backend, job, () => unpackKeys(backend, job.keys));
    case 'decodeKeys':
      return decodeKeys(backend, job.publicKeys);
    case 'verifySum':
      return verifySum(backend, readContributions(backend, job), backend.unpackMessage(job.message));
    case 'halves':
      return verifyHalves(backend, job);
    case 'locate':
      return { position: locate(backend, job) };
  }
}

function add(
  backend: BlsBackend,
  { keys, slots, signatures, sum, last }: BlsJobs['add']['input'],
): BlsJobs['add']['output'] {
  const decoded = decodeSignatures(backend, slots, openPackedKeys(backend, keys), signatures);
  const { points, malformed } = decoded;
  if (decoded.keys.length === 0) return { points, malformed, sum };
  const whole = addUp(backend, decoded, sum ? [sum] : []);
  if (last === undefined || malformed.length > 0) return { points, malformed, sum: packSum(backend, whole) };
  const made = makeAggregate(
    backend,
    last.sums.length === 0 ? whole : addUp(backend, { keys: [whole.key], signatures: [whole.signature] }, last.sums),
    last.message,
  );
  return { points, malformed, sum: undefined, made };
}

function addAll(backend: BlsBackend, adds: BlsJobs['addAll']['input']['adds']): BlsJobs['addAll']['output'] {
  const added = adds.map(({ last, ...rest }) => ({
    message: last?.message,
    output: add(backend, { ...rest, ...(last && { last: { sums: last.sums } }) }),
  }));
  const checks = added.flatMap(({ message, output: { made } }) => (made && message ? [{ ...made, message }] : []));
  const verdicts = verify(backend, checks).values();
  return added.map(({ message, output }) => {
    if (output.made === undefined || message === undefined) return output;
    const verdict = verdicts.next().value as AggregateVerdict;
    return { ...output, made: { ...output.made, verdict } };
  });
}

function repack(backend: BlsBackend, { points, count }: BlsJobs['repack']['input']): Uint8Array {
  const all = piecesOf(points, points.length / count);
  return concatBytes(...all.map((point) => backend.packSignature(backend.unpackSignature(point))));
}

function aggregate(
  backend: BlsBackend,
  { sums, message }: BlsJobs['aggregate']['input'],
): BlsJobs['aggregate']['output'] {
  return makeAggregate(backend, addUp(backend, NO_POINTS, sums), message);
}

/** Verifies, where there is a message, what the encoded signature is the encoding of. */
function makeAggregate(
  backend: BlsBackend,
  { key, signature: sum }: PointSum,
  message: Uint8Array | undefined,
): BlsJobs['aggregate']['output'] {
  const signature = backend.encodeSignature(sum);
  const made = { key: backend.packPublicKey(key), signature };
  if (message === undefined) return made;
  const parsed = backend.isEncodingOf?.(signature, sum) ? sum : parseEncoded(backend, signature);
  if (parsed === undefined) return { ...made, verdict: { kind: 'invalid' } };
  return { ...made, verdict: verifyOne(backend, { key, message: backend.unpackMessage(message), signature: parsed }) };
}

/** Verifies from the encoded signatures on. Where they fail together, each is verified on its own. */
function verify(backend: BlsBackend, checks: readonly AggregateCheck[]): AggregateVerdict[] {
  const parsed = checks.map((check) => parseCheck(backend, check));
  if (parsed.length > 1 && parsed.every((check) => check !== undefined) && backend.verifyBatch(parsed)) {
    return parsed.map(() => VALID);
  }
  return parsed.map((check) => (check === undefined ? { kind: 'invalid' } : verifyOne(backend, check)));
}

function parseCheck(backend: BlsBackend, { key, message, signature }: AggregateCheck): SignatureCheck | undefined {
  const parsed = parseEncoded(backend, signature);
  return parsed && { key: backend.unpackPublicKey(key), message: backend.unpackMessage(message), signature: parsed };
}

function parseEncoded(backend: BlsBackend, signature: Uint8Array): Signature | undefined {
  try {
    return backend.parseSignature(signature);
  } catch (error) {
    // An aggregate at infinity does not parse.
    if (error instanceof ParseError) return undefined;
    throw error;
  }
}

function verifyOne(backend: BlsBackend, check: SignatureCheck): AggregateVerdict {
  if (backend.defects === undefined) {
    return backend.verify(check.key, check.message, check.signature) ? VALID : { kind: 'invalid' };
  }
  const defect = backend.defects.defectOf(check);
  return defect === undefined ? { kind: 'invalid' } : verdictOf(backend.defects, defect);
}

function verifySigned(backend: BlsBackend, job: BlsJobs['verifySigned']['input']): SignedVerdict {
  return verifyParsed(backend, job, () => job.slots.map(openPublicKeys(backend, job.keys)));
}

function verifyParsed(
  backend: BlsBackend,
  { message, signature, ahead }: Pick<BlsJobs['verifySigned']['input'], 'message' | 'signature' | 'ahead'>,
  readKeys: () => readonly PublicKey[],
): SignedVerdict {
  try {
    const parsed = backend.parseSignature(signature);
    const key = backend.aggregatePublicKeys(readKeys());
    const hashed = ahead === undefined ? backend.hashToCurve(message) : hashedFrom(backend, message, ahead);
    return backend.verify(key, hashed, parsed) ? 'valid' : 'wrong signature';
  } catch (error) {
    if (error instanceof ParseError) return 'malformed signature';
    throw error;
  }
}

function decodeKeys(backend: BlsBackend, publicKeys: Uint8Array): Uint8Array {
  const keys = piecesOf(publicKeys, BLS_PUBLIC_KEY_LENGTH);
  return concatBytes(...keys.map((key) => backend.packPublicKey(backend.parsePublicKey(key))));
}

function unpackKeys(backend: BlsBackend, keys: Uint8Array): readonly PublicKey[] {
  return piecesOf(keys, backend.packedPublicKeyBytes).map((key) => backend.unpackPublicKey(key));
}

function piecesOf(bytes: Uint8Array, size: number): readonly Uint8Array[] {
  return Array.from({ length: bytes.length / size }, (_, n) => bytes.slice(n * size, (n + 1) * size));
}

function verdictOf(defects: DefectArithmetic, defect: SignatureDefect): AggregateVerdict {
  return defects.isNone(defect) ? VALID : { kind: 'invalid', defect };
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
  // Where the left half is good, the right one has the whole defect.
  if (left.kind === 'valid') return [left, { kind: 'invalid', ...(job.defect && { defect: job.defect }) }];
  // Defects multiply, so that of the right half is that of the whole divided by that of the left half.
  if (backend.defects !== undefined && job.defect !== undefined && left.defect !== undefined) {
    return [left, verdictOf(backend.defects, backend.defects.divide(job.defect, left.defect))];
  }
  return [left, undefined];
}

function verifySum(backend: BlsBackend, { keys, signatures }: Points, message: HashedMessage): AggregateVerdict {
  return verifyOne(backend, {
    key: backend.aggregatePublicKeys(keys),
    signature: backend.aggregateSignatures(signatures),
    message,
  });
}

/**
 * Take the sum in which the first signature counts once, the second twice, and so on. If one signature alone is bad, the n-th,
 * then the defect of this sum is that of the plain sum to the power of n, so two pairings tell n. Colluders can make n point at
 * somebody else: therefore the signature found must have the whole defect on its own.
 */
function locate(backend: BlsBackend, job: BlsJobs['locate']['input']): number | undefined {
  if (backend.defects === undefined) return undefined;
  const { keys, signatures } = readContributions(backend, job);
  const message = backend.unpackMessage(job.message);
  const weighted = backend.defects.defectOf({
    key: sumByPlace(keys, (terms) => backend.aggregatePublicKeys(terms)),
    signature: sumByPlace(signatures, (terms) => backend.aggregateSignatures(terms)),
    message,
  });
  if (weighted === undefined) return undefined;
  const place = backend.defects.logarithm(weighted, job.defect, signatures.length);
  if (place === undefined) return undefined;
  const [key, signature] = [keys[place - 1], signatures[place - 1]];
  if (key === undefined || signature === undefined) return undefined;
  const own = backend.defects.defectOf({ key, message, signature });
  return own !== undefined && backend.defects.areEqual(own, job.defect) ? place - 1 : undefined;
}

/** 1 · first + 2 · second + …, as the sum of the sums of all tails: two additions for each term. */
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

function readContributions(backend: BlsBackend, { keys, slots, points }: Contributions): Points {
  const size = points.length / slots.length;
  return {
    keys: slots.map(openPublicKeys(backend, keys)),
    signatures: slots.map((_, index) => backend.unpackSignature(points.slice(index * size, (index + 1) * size))),
  };
}
