import { concatBytes } from '../../lib/encoding/bytes.ts';
import { attempt, ParseError, tryParse } from '../../lib/encoding/parse-error.ts';
import type { BlsBackend, Signature, SignatureCheck } from '../backends/bls-backend.ts';
import { openPackedKeys, openPublicKeys } from '../backends/public-key-table.ts';
import { addUp, type PointSum, type Points, packSum, type Sum } from '../curve/add-points.ts';
import { type DecodedSignatures, decodeSignatures } from '../curve/decode-signatures.ts';

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

/** Points are packed, so that jobs and their results are bytes alone. */
export interface AddInput extends KeySlots {
  /** 96 bytes each, one after the other. */
  readonly signatures: Uint8Array;
  readonly sum: Sum | undefined;
  /** Where these are the last ones: the sums of the other lanes. */
  readonly last?: AggregateInput;
}

export interface AddOutput extends DecodedSignatures {
  /** Undefined beside the aggregate too: after a removal, the other signatures are added up again. */
  readonly sum: Sum | undefined;
  readonly made?: MadeAggregate;
}

interface AggregateInput {
  readonly sums: readonly Sum[];
  /** Further signatures, decoded before. */
  readonly contributions?: Contributions;
  /** Verifies the aggregate too: one way to the thread and back less. */
  readonly message?: Uint8Array;
}

/** Has its verdict where there was a message. */
export interface MadeAggregate extends Aggregate {
  readonly isValid?: boolean;
}

interface SignedByKeys extends KeySlots {
  readonly message: Uint8Array;
  readonly signature: Uint8Array;
}

/**
 * The work that is done off the event loop. Jobs and their results go from thread to thread, so everything in them is bytes:
 * points are packed, and public keys are slots of a table in shared memory.
 */
const JOBS = {
  /** Hashes a message to the curve and packs it. */
  hash: (backend: BlsBackend, { message }: { readonly message: Uint8Array }): Uint8Array =>
    backend.packMessage(backend.hashToCurve(message)),
  add,
  addAll,
  aggregate: (backend: BlsBackend, { sums, contributions, message }: AggregateInput): MadeAggregate =>
    makeAggregate(backend, addUp(backend, readContributions(backend, contributions), sums), message),
  repack,
  verify,
  verifySigned,
  /** Decodes keys in their table. A malformed one is refused when it is used. */
  decodeKeys: (backend: BlsBackend, { keys, slots }: KeySlots): void =>
    void tryParse(() => slots.map(openPackedKeys(backend, keys))),
  verifySum,
};
type Jobs = typeof JOBS;
export type BlsJobKind = keyof Jobs;
export type BlsJob<K extends BlsJobKind = BlsJobKind> = {
  /** `isPlain`: for `plain-backend.ts`, whatever the backend of the thread is. */
  [Kind in K]: { readonly kind: Kind; readonly isPlain?: boolean | undefined } & Parameters<Jobs[Kind]>[1];
}[K];
export type BlsJobResult<K extends BlsJobKind> = ReturnType<Jobs[K]>;

export function runBlsJob<K extends BlsJobKind>(backend: BlsBackend, job: BlsJob<K>): BlsJobResult<K> {
  const run = JOBS[job.kind] as unknown as (backend: BlsBackend, job: BlsJob<K>) => BlsJobResult<K>;
  return run(backend, job);
}

/**
 * Decodes signatures and adds those that are points, with their signers' keys, to a sum. Where these are the last ones, and all of
 * them are points, it makes the aggregate as well.
 */
function add(backend: BlsBackend, { keys, slots, signatures, sum, last }: AddInput): AddOutput {
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

/** Several aggregations, with one check for all that are to be verified. */
function addAll(backend: BlsBackend, { adds }: { readonly adds: readonly AddInput[] }): readonly AddOutput[] {
  const added = adds.map(({ last, ...rest }) => ({
    message: last?.message,
    output: add(backend, { ...rest, ...(last && { last: { sums: last.sums } }) }),
  }));
  const checks = added.flatMap(({ message, output: { made } }) => (made && message ? [{ ...made, message }] : []));
  const verdicts = verify(backend, { checks }).values();
  return added.map(({ message, output }) => {
    if (output.made === undefined || message === undefined) return output;
    return { ...output, made: { ...output.made, isValid: verdicts.next().value === true } };
  });
}

/** Packs points that may be packed in any way in the way that is the quickest to unpack. */
function repack(
  backend: BlsBackend,
  { points, count }: { readonly points: Uint8Array; readonly count: number },
): Uint8Array {
  const all = piecesOf(points, points.length / count);
  return concatBytes(...all.map((point) => backend.packSignature(backend.unpackSignature(point))));
}

/** Verifies, where there is a message, what the encoded signature is the encoding of. */
function makeAggregate(
  backend: BlsBackend,
  { key, signature: sum }: PointSum,
  message: Uint8Array | undefined,
): MadeAggregate {
  const signature = backend.encodeSignature(sum);
  const made = { key: backend.packPublicKey(key), signature };
  if (message === undefined) return made;
  const parsed = backend.isEncodingOf?.(signature, sum) ? sum : parseEncoded(backend, signature);
  return { ...made, isValid: parsed !== undefined && backend.verify(key, backend.unpackMessage(message), parsed) };
}

/** Verifies from the encoded signatures on. Where they fail together, each is verified on its own. */
function verify(backend: BlsBackend, { checks }: { readonly checks: readonly AggregateCheck[] }): boolean[] {
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

/** Undefined for an aggregate at infinity, which does not parse. */
function parseEncoded(backend: BlsBackend, signature: Uint8Array): Signature | undefined {
  return tryParse(() => backend.parseSignature(signature));
}

/** A signature of a client, from its bytes on, by the keys of those who are said to have signed. */
function verifySigned(backend: BlsBackend, { keys, slots, message, signature }: SignedByKeys): SignedVerdict {
  const isValid = attempt(() => {
    const parsed = backend.parseSignature(signature);
    const key = backend.aggregatePublicKeys(slots.map(openPublicKeys(backend, keys)));
    return backend.verify(key, backend.hashToCurve(message), parsed);
  });
  if (isValid instanceof ParseError) return 'malformed signature';
  return isValid ? 'valid' : 'wrong signature';
}

function piecesOf(bytes: Uint8Array, size: number): readonly Uint8Array[] {
  return Array.from({ length: bytes.length / size }, (_, n) => bytes.slice(n * size, (n + 1) * size));
}

/** Whether the sum of contributions verifies. */
function verifySum(backend: BlsBackend, job: Contributions & { readonly message: Uint8Array }): boolean {
  const { key, signature } = addUp(backend, readContributions(backend, job));
  return backend.verify(key, backend.unpackMessage(job.message), signature);
}

function readContributions(backend: BlsBackend, contributions: Contributions | undefined): Points {
  if (contributions === undefined) return { keys: [], signatures: [] };
  const { keys, slots, points } = contributions;
  return {
    keys: slots.map(openPublicKeys(backend, keys)),
    signatures: piecesOf(points, points.length / slots.length).map((point) => backend.unpackSignature(point)),
  };
}
