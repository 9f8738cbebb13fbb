import { concatBytes } from '../../lib/encoding/bytes.ts';
import { attempt, ParseError, tryParse } from '../../lib/encoding/parse-error.ts';
import type { BlsBackend, PublicKey, Signature, SignatureCheck } from '../backends/bls-backend.ts';
import { openPackedKeys, openPublicKeys } from '../backends/public-key-table.ts';
import { type DecodedSignatures, decodeSignatures } from './decode-signatures.ts';

/** `malformed`: not a point of the curve, or the encoding of infinity. */
export type SignedVerdict = 'valid' | 'malformed signature' | 'wrong signature';

export interface KeySlots {
  readonly keys: SharedArrayBuffer;
  readonly slots: readonly number[];
}

/** Packed sums of signatures and of their signers' keys. */
export interface Sum {
  readonly key: Uint8Array;
  readonly signature: Uint8Array;
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
}

export interface AddOutput extends DecodedSignatures {
  readonly sum: Sum | undefined;
}

interface AggregateInput {
  readonly sums: readonly Sum[];
  /** Further signatures, decoded before. */
  readonly contributions?: Contributions;
  /** Verifies the aggregate too, which saves another job. */
  readonly message?: Uint8Array;
}

/** Has its verdict if there was a message. */
export interface MadeAggregate extends Aggregate {
  readonly isValid?: boolean;
}

interface SignedByKeys extends KeySlots {
  readonly message: Uint8Array;
  readonly signature: Uint8Array;
}

/**
 * Work of the threads. Jobs and results are passed between threads as bytes: points are packed, and public keys are slots of a table in
 * shared memory.
 */
const JOBS = {
  /** Hashes a message to the curve and packs it. */
  hash: (backend: BlsBackend, { message }: { readonly message: Uint8Array }): Uint8Array =>
    backend.packMessage(backend.hashToCurve(message)),
  add,
  aggregate,
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

/** Decodes signatures and adds those that are points, with their signers' keys, to a sum. */
function add(backend: BlsBackend, { keys, slots, signatures, sum }: AddInput): AddOutput {
  const decoded = decodeSignatures(backend, slots, openPackedKeys(backend, keys), signatures);
  const { points, malformed } = decoded;
  if (decoded.keys.length === 0) return { points, malformed, sum };
  const { key, signature } = addUp(backend, decoded, sum ? [sum] : []);
  return { points, malformed, sum: { key: backend.packPublicKey(key), signature: backend.packSignature(signature) } };
}

/** Repacks points into the form that is the fastest to unpack. */
function repack(
  backend: BlsBackend,
  { points, count }: { readonly points: Uint8Array; readonly count: number },
): Uint8Array {
  const all = piecesOf(points, points.length / count);
  return concatBytes(...all.map((point) => backend.packSignature(backend.unpackSignature(point))));
}

/** Adds up and encodes the aggregate, and verifies it from its encoding if there is a message. */
function aggregate(backend: BlsBackend, { sums, contributions, message }: AggregateInput): MadeAggregate {
  const sum = addUp(backend, readContributions(backend, contributions), sums);
  const made = { key: backend.packPublicKey(sum.key), signature: backend.encodeSignature(sum.signature) };
  if (message === undefined) return made;
  const [isValid = false] = verify(backend, { checks: [{ ...made, message }] });
  return { ...made, isValid };
}

/** Verifies encoded signatures together, and each alone if the batch fails. */
function verify(backend: BlsBackend, { checks }: { readonly checks: readonly AggregateCheck[] }): boolean[] {
  const parsed = checks.map((check) => parseCheck(backend, check));
  if (parsed.length > 1 && parsed.every((check) => check !== undefined) && backend.verifyBatch(parsed)) {
    return parsed.map(() => true);
  }
  return parsed.map((check) => check !== undefined && backend.verify(check.key, check.message, check.signature));
}

/** Undefined for an aggregate at infinity, which does not parse. */
function parseCheck(backend: BlsBackend, { key, message, signature }: AggregateCheck): SignatureCheck | undefined {
  const parsed = tryParse(() => backend.parseSignature(signature));
  return parsed && { key: backend.unpackPublicKey(key), message: backend.unpackMessage(message), signature: parsed };
}

/** Verifies the signature of a message that a client sent, with the keys of the named signers. */
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

interface Points {
  readonly keys: readonly PublicKey[];
  readonly signatures: readonly Signature[];
}

/** Adds up points and sums, at least one of either. */
function addUp(backend: BlsBackend, { keys, signatures }: Points, sums: readonly Sum[] = []) {
  const allKeys = [...keys, ...sums.map(({ key }) => backend.unpackPublicKey(key))];
  const all = [...signatures, ...sums.map(({ signature }) => backend.unpackSignature(signature))];
  return {
    key: onlyOf(allKeys) ?? backend.aggregatePublicKeys(allKeys),
    signature: onlyOf(all) ?? backend.aggregateSignatures(all),
  };
}

function onlyOf<T>(values: readonly T[]): T | undefined {
  return values.length === 1 ? values[0] : undefined;
}

function readContributions(backend: BlsBackend, contributions: Contributions | undefined): Points {
  if (contributions === undefined) return { keys: [], signatures: [] };
  const { keys, slots, points } = contributions;
  return {
    keys: slots.map(openPublicKeys(backend, keys)),
    signatures: piecesOf(points, points.length / slots.length).map((point) => backend.unpackSignature(point)),
  };
}
