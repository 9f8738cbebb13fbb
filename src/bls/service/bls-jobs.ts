import { concatBytes } from '../../lib/encoding/bytes.ts';
import { ParseError } from '../../lib/encoding/parse-error.ts';
import { BLS_PUBLIC_KEY_LENGTH } from '../../warp/bls-lengths.ts';
import type { BlsBackend, HashedMessage, PublicKey, Signature, SignatureCheck } from '../backends/bls-backend.ts';
import { openPackedKeys, openPublicKeys } from '../backends/public-key-table.ts';
import { addUp, NO_POINTS, type PointSum, type Points, packSum, type Sum } from '../curve/add-points.ts';
import { type DecodedSignatures, decodeSignatures } from '../curve/decode-signatures.ts';

/**
 * The work that is done off the event loop. Jobs and their results go from thread to thread, so everything in them is bytes:
 * points are packed, and public keys are slots of a table in shared memory.
 */
export interface BlsJobs {
  /** Hashes a message to the curve and packs it. */
  readonly hash: { readonly input: { readonly message: Uint8Array }; readonly output: Uint8Array };
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
    readonly output: Aggregate & { readonly isValid?: boolean };
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
    readonly output: readonly boolean[];
  };
  /** A signature of a client, from its bytes on, by the keys of those who are said to have signed. */
  readonly verifySigned: {
    readonly input: KeySlots & {
      readonly message: Uint8Array;
      readonly signature: Uint8Array;
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
    readonly output: boolean;
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

/** Signatures, packed one after the other in as many bytes each, with their signers' slots. */
export interface Contributions extends KeySlots {
  readonly points: Uint8Array;
}

export function runBlsJob<K extends BlsJobKind>(backend: BlsBackend, job: BlsJob<K>): BlsJobResult<K> {
  return run(backend, job as BlsJob) as BlsJobResult<K>;
}

function run(backend: BlsBackend, job: BlsJob): BlsJobResult<BlsJobKind> {
  switch (job.kind) {
    case 'hash':
      return backend.packMessage(backend.hashToCurve(job.message));
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
    return { ...output, made: { ...output.made, isValid: verdicts.next().value === true } };
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
  return { ...made, isValid: parsed !== undefined && backend.verify(key, backend.unpackMessage(message), parsed) };
}

/** Verifies from the encoded signatures on. Where they fail together, each is verified on its own. */
function verify(backend: BlsBackend, checks: readonly AggregateCheck[]): boolean[] {
  const parsed = checks.map((check) => parseCheck(backend, check));
  if (parsed.length > 1 && parsed.every((check) => check !== undefined) && backend.verifyBatch(parsed)) {
    return parsed.map(() => true);
  }
  return parsed.map((check) => check !== undefined && backend.verify(check.key, check.message, check.signature));
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

function verifySigned(backend: BlsBackend, job: BlsJobs['verifySigned']['input']): SignedVerdict {
  return verifyParsed(backend, job, () => job.slots.map(openPublicKeys(backend, job.keys)));
}

function verifyParsed(
  backend: BlsBackend,
  { message, signature }: Pick<BlsJobs['verifySigned']['input'], 'message' | 'signature'>,
  readKeys: () => readonly PublicKey[],
): SignedVerdict {
  try {
    const parsed = backend.parseSignature(signature);
    const key = backend.aggregatePublicKeys(readKeys());
    return backend.verify(key, backend.hashToCurve(message), parsed) ? 'valid' : 'wrong signature';
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

function verifySum(backend: BlsBackend, { keys, signatures }: Points, message: HashedMessage): boolean {
  return backend.verify(backend.aggregatePublicKeys(keys), message, backend.aggregateSignatures(signatures));
}

function readContributions(backend: BlsBackend, { keys, slots, points }: Contributions): Points {
  const size = points.length / slots.length;
  return {
    keys: slots.map(openPublicKeys(backend, keys)),
    signatures: slots.map((_, index) => backend.unpackSignature(points.slice(index * size, (index + 1) * size))),
  };
}
