import { bls12_381 } from '@noble/curves/bls12-381.js';
import { ParseError } from '../../lib/encoding/parse-error.ts';
import {
  BLS_PUBLIC_KEY_LENGTH,
  BLS_SIGNATURE_LENGTH,
  BLS_UNCOMPRESSED_PUBLIC_KEY_LENGTH,
  BLS_UNCOMPRESSED_SIGNATURE_LENGTH,
} from '../../warp/bls-lengths.ts';
import { type BlsBackend, type HashedMessage, type PublicKey, SIGNATURE_DST, type Signature } from './bls-backend.ts';

const { longSignatures, G1, G2 } = bls12_381;
type KeyPoint = InstanceType<typeof G1.Point>;
type SignaturePoint = InstanceType<typeof G2.Point>;

/**
 * @noble/curves and nothing else: no arithmetic of ours. It takes some ten times as long as `noble-backend.ts`, which it judges
 * (`verdict-audit.ts`), and whose place it takes where the two ever differ.
 *
 * It is stricter than the contract asks: a single point has to be in its subgroup.
 */
export const plainBackend: BlsBackend = {
  name: 'plain noble',
  parsePublicKey: (bytes) =>
    parsePoint(() => G1.Point.fromBytes(bytes), bytes, BLS_PUBLIC_KEY_LENGTH, 'public key') as unknown as PublicKey,
  parseSignature: (bytes) =>
    parsePoint(() => G2.Point.fromBytes(bytes), bytes, BLS_SIGNATURE_LENGTH, 'signature') as unknown as Signature,
  aggregatePublicKeys: (keys) => sum(keys.map(keyPoint), G1.Point.ZERO) as unknown as PublicKey,
  aggregateSignatures: (signatures) => sum(signatures.map(signaturePoint), G2.Point.ZERO) as unknown as Signature,
  hashToCurve: (message) => longSignatures.hash(message, SIGNATURE_DST) as unknown as HashedMessage,
  verify: (key, message, signature) =>
    longSignatures.verify(signaturePoint(signature), signaturePoint(message), keyPoint(key)),
  verifyBatch: (checks) => checks.every(({ key, message, signature }) => plainBackend.verify(key, message, signature)),
  encodeSignature: (signature) => signaturePoint(signature).toBytes(true),

  packedPublicKeyBytes: BLS_UNCOMPRESSED_PUBLIC_KEY_LENGTH,
  packedSignatureBytes: BLS_UNCOMPRESSED_SIGNATURE_LENGTH,
  packPublicKey: (key) => pack(keyPoint(key)),
  unpackPublicKey: (packed) => unpack(G1.Point, packed) as unknown as PublicKey,
  packSignature: (signature) => pack(signaturePoint(signature)),
  unpackSignature: (packed) => unpack(G2.Point, packed) as unknown as Signature,
  packMessage: (message) => pack(signaturePoint(message)),
  unpackMessage: (packed) => unpack(G2.Point, packed) as unknown as HashedMessage,
};

function keyPoint(key: PublicKey): KeyPoint {
  return key as unknown as KeyPoint;
}

function signaturePoint(signature: Signature | HashedMessage): SignaturePoint {
  return signature as unknown as SignaturePoint;
}

function sum<P extends { add(other: P): P }>(points: readonly P[], zero: P): P {
  return points.reduce((total, point) => total.add(point), zero);
}

interface Point<P, F> {
  readonly Fp: { readonly BYTES: number; toBytes(element: F): Uint8Array; fromBytes(bytes: Uint8Array): F };
  readonly ZERO: P;
  fromAffine(point: { readonly x: F; readonly y: F }): P;
}

/** x and y, or nothing but zeros for infinity, which is neither checked nor reduced again. */
function pack<F>(point: {
  is0(): boolean;
  toAffine(): { readonly x: F; readonly y: F };
  readonly constructor: unknown;
}): Uint8Array {
  const { Fp } = point.constructor as Point<unknown, F>;
  if (point.is0()) return new Uint8Array(2 * Fp.BYTES);
  const { x, y } = point.toAffine();
  return Uint8Array.of(...Fp.toBytes(x), ...Fp.toBytes(y));
}

function unpack<P, F>(points: Point<P, F>, packed: Uint8Array): P {
  if (packed.every((byte) => byte === 0)) return points.ZERO;
  const { BYTES } = points.Fp;
  const [x, y] = [packed.slice(0, BYTES), packed.slice(BYTES)].map((bytes) => points.Fp.fromBytes(bytes)) as [F, F];
  return points.fromAffine({ x, y });
}

function parsePoint<P extends { is0(): boolean }>(
  parse: () => P,
  bytes: Uint8Array,
  length: number,
  what: 'public key' | 'signature',
): P {
  if (bytes.length !== length) throw new ParseError(what, `must have ${length} bytes, has ${bytes.length}`);
  let point: P;
  try {
    point = parse();
  } catch (cause) {
    throw new ParseError(what, 'is not a compressed point on the curve', { cause });
  }
  if (point.is0()) throw new ParseError(what, 'is the point at infinity');
  return point;
}
