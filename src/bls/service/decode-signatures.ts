import { attempt, ParseError } from '../../lib/encoding/parse-error.ts';
import { BLS_SIGNATURE_LENGTH } from '../../warp/bls-lengths.ts';
import type { BlsBackend, PublicKey, Signature } from '../backends/bls-backend.ts';

/** The error of a signature, or of its signer's key. */
export interface Malformed {
  readonly position: number;
  readonly what: string;
  readonly reason: string;
}

export interface DecodedSignatures {
  /**
   * Points in the order of their signatures; the bytes of a malformed one are undefined. Undefined if the encodings serve as packed points.
   */
  readonly points: Uint8Array<ArrayBuffer> | undefined;
  readonly malformed: readonly Malformed[];
}

interface Decoded extends DecodedSignatures {
  /** The points that are not malformed, or their sum. */
  readonly keys: readonly PublicKey[];
  /** One signature for each key, or a single sum of them. */
  readonly signatures: readonly Signature[];
}

/**
 * @param slots of the signers
 * @param readKey gives a packed key, and throws a {@link ParseError} if it is malformed
 * @param encoded of each signer, 96 bytes
 */
export function decodeSignatures(
  backend: BlsBackend,
  slots: readonly number[],
  readKey: (slot: number) => Uint8Array,
  encoded: Uint8Array,
): Decoded {
  const pieces = slots.map((_, n) => encoded.subarray(n * BLS_SIGNATURE_LENGTH, (n + 1) * BLS_SIGNATURE_LENGTH));
  return sumTogether(backend, slots, readKey, pieces) ?? decodeEach(backend, slots, readKey, pieces);
}

/** Uses the backend's combined sum, if it has one; undefined if something is malformed. */
function sumTogether(
  { sumEncodedSignatures, sumPackedPublicKeys }: BlsBackend,
  slots: readonly number[],
  readKey: (slot: number) => Uint8Array,
  pieces: readonly Uint8Array[],
): Decoded | undefined {
  if (sumEncodedSignatures === undefined || sumPackedPublicKeys === undefined || pieces.length === 0) return undefined;
  const packedKeys = attempt(() => slots.map(readKey));
  if (packedKeys instanceof ParseError) return undefined;
  const sum = sumEncodedSignatures(pieces);
  if (sum === undefined) return undefined;
  return { points: undefined, malformed: [], keys: [sumPackedPublicKeys(packedKeys)], signatures: [sum] };
}

function decodeEach(
  backend: BlsBackend,
  slots: readonly number[],
  readKey: (slot: number) => Uint8Array,
  pieces: readonly Uint8Array[],
): Decoded {
  const { packedSignatureBytes } = backend;
  const points = new Uint8Array(slots.length * packedSignatureBytes);
  const malformed: Malformed[] = [];
  const keys: PublicKey[] = [];
  const signatures: Signature[] = [];
  const parsed = parseSignatures(backend, pieces);
  for (const [position, slot] of slots.entries()) {
    const key = attempt(() => backend.unpackPublicKey(readKey(slot)));
    const signature = parsed[position] as Signature | ParseError;
    if (key instanceof ParseError || signature instanceof ParseError) {
      const { what, reason } = key instanceof ParseError ? key : (signature as ParseError);
      malformed.push({ position, what, reason });
      continue;
    }
    points.set(backend.packSignature(signature), position * packedSignatureBytes);
    keys.push(key);
    signatures.push(signature);
  }
  return { points, malformed, keys, signatures };
}

function parseSignatures(backend: BlsBackend, signatures: readonly Uint8Array[]): (Signature | ParseError)[] {
  const parsed: (Signature | ParseError)[] = [];
  while (parsed.length < signatures.length) {
    const [first, second] = signatures.slice(parsed.length, parsed.length + 2) as [Uint8Array, Uint8Array | undefined];
    if (second !== undefined && backend.parseTwoSignatures !== undefined) {
      parsed.push(...backend.parseTwoSignatures([first, second]));
    } else {
      parsed.push(attempt(() => backend.parseSignature(first)));
    }
  }
  return parsed;
}
