import { bls12_381 } from '@noble/curves/bls12-381.js';
import {
  BLS_PUBLIC_KEY_LENGTH,
  BLS_SIGNATURE_LENGTH,
  BLS_UNCOMPRESSED_PUBLIC_KEY_LENGTH,
  BLS_UNCOMPRESSED_SIGNATURE_LENGTH,
} from '../../warp/bls-lengths.ts';
import { encodeInfinity, parsePoint } from '../curve/point-encoding.ts';
import { type BlsBackend, SIGNATURE_DST } from './bls-backend.ts';

const { longSignatures, G1, G2 } = bls12_381;
type KeyPoint = InstanceType<typeof G1.Point>;
type SignaturePoint = InstanceType<typeof G2.Point>;

/**
 * @noble/curves and nothing else: no arithmetic of ours. It takes some ten times as long as `noble-backend.ts`, which it judges
 * (`verdict-audit.ts`), and whose place it takes if the two ever differ.
 *
 * It is stricter than the contract asks: a single point has to be in its subgroup.
 */
const backend: BlsBackend<KeyPoint, SignaturePoint, SignaturePoint> = {
  name: 'plain noble',
  parsePublicKey: (bytes) =>
    parsePoint(bytes, BLS_PUBLIC_KEY_LENGTH, 'public key', (point) => G1.Point.fromBytes(point)),
  parseSignature: (bytes) => parsePoint(bytes, BLS_SIGNATURE_LENGTH, 'signature', (point) => G2.Point.fromBytes(point)),
  aggregatePublicKeys: (keys) => keys.reduce((sum, key) => sum.add(key), G1.Point.ZERO),
  aggregateSignatures: (signatures) => signatures.reduce((sum, signature) => sum.add(signature), G2.Point.ZERO),
  hashToCurve: (message) => longSignatures.hash(message, SIGNATURE_DST),
  verify: (key, message, signature) => longSignatures.verify(signature, message, key),
  verifyBatch: (checks) => checks.every(({ key, message, signature }) => backend.verify(key, message, signature)),
  // noble encodes only its own constant for infinity, and not each sum that is infinity.
  encodeSignature: (signature) => (signature.is0() ? encodeInfinity(BLS_SIGNATURE_LENGTH) : signature.toBytes(true)),

  packedPublicKeyBytes: BLS_UNCOMPRESSED_PUBLIC_KEY_LENGTH,
  packedSignatureBytes: BLS_UNCOMPRESSED_SIGNATURE_LENGTH,
  packPublicKey: pack,
  unpackPublicKey: (packed) => unpack(G1.Point, packed),
  packSignature: pack,
  unpackSignature: (packed) => unpack(G2.Point, packed),
  packMessage: pack,
  unpackMessage: (packed) => unpack(G2.Point, packed),
};
export const plainBackend = backend as unknown as BlsBackend;

interface Point<P, F> {
  readonly Fp: { readonly BYTES: number; toBytes(element: F): Uint8Array; fromBytes(bytes: Uint8Array): F };
  readonly ZERO: P;
  fromAffine(point: { readonly x: F; readonly y: F }): P;
}

/** Packs x and y, or zeros for infinity. Unpacking neither checks nor reduces them again. */
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
