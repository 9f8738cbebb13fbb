import { bls12_381 } from '@noble/curves/bls12-381.js';
import { ParseError } from '../primitives/parse-error.ts';
import { type BlsBackend, type HashedMessage, type PublicKey, SIGNATURE_DST, type Signature } from './bls-backend.ts';

const { G1, G2, longSignatures } = bls12_381;
type G1Point = typeof G1.Point.BASE;
type G2Point = typeof G2.Point.BASE;

const PUBLIC_KEY_LENGTH = 48;
const SIGNATURE_LENGTH = 96;

/** @noble/curves: audited, no native code, runs everywhere. */
export const nobleBackend: BlsBackend = {
  name: 'noble',
  parsePublicKey: (bytes) =>
    parsePoint((point) => G1.Point.fromBytes(point), bytes, PUBLIC_KEY_LENGTH, 'public key') as unknown as PublicKey,
  parseSignature: (bytes) =>
    parsePoint((point) => G2.Point.fromBytes(point), bytes, SIGNATURE_LENGTH, 'signature') as unknown as Signature,
  aggregatePublicKeys: (keys) => sum(keys.map(g1), G1.Point.ZERO) as unknown as PublicKey,
  aggregateSignatures: (signatures) => sum(signatures.map(g2), G2.Point.ZERO) as unknown as Signature,
  hashToCurve: (message) => longSignatures.hash(message, SIGNATURE_DST) as unknown as HashedMessage,
  verify(key, message, signature) {
    const [publicKey, point] = [g1(key), g2(signature)];
    if (publicKey.is0() || point.is0() || !point.isTorsionFree()) return false;
    // e(-P, H(m)) · e(G, S) = 1, with one final exponentiation for both pairings.
    const product = bls12_381.pairingBatch([
      { g1: publicKey.negate(), g2: g2(message) },
      { g1: G1.Point.BASE, g2: point },
    ]);
    return bls12_381.fields.Fp12.eql(product, bls12_381.fields.Fp12.ONE);
  },
  encodeSignature: (signature) => g2(signature).toBytes(true),
};

function g1(key: PublicKey): G1Point {
  return key as unknown as G1Point;
}

function g2(point: Signature | HashedMessage): G2Point {
  return point as unknown as G2Point;
}

function parsePoint<P extends { is0(): boolean }>(
  fromBytes: (bytes: Uint8Array) => P,
  bytes: Uint8Array,
  length: number,
  what: string,
): P {
  if (bytes.length !== length) throw new ParseError(what, `must have ${length} bytes, has ${bytes.length}`);
  let point: P;
  try {
    point = fromBytes(bytes);
  } catch (cause) {
    throw new ParseError(what, 'is not a compressed point on the curve', { cause });
  }
  if (point.is0()) throw new ParseError(what, 'is the point at infinity');
  return point;
}

function sum<P extends { add(other: P): P }>(points: readonly P[], zero: P): P {
  return points.reduce((total, point) => total.add(point), zero);
}
