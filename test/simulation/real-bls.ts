import { hash } from 'node:crypto';
import { bls12_381 } from '@noble/curves/bls12-381.js';
import type { BlsBackend } from '../../src/bls/backends/bls-backend.ts';
import { SIGNATURE_DST } from '../../src/bls/backends/bls-backend.ts';
import type { BlsScheme } from './bls-scheme.ts';

const { longSignatures, G2 } = bls12_381;
const { Signature } = longSignatures;
const { Fp, Fr, Fp2 } = bls12_381.fields;

/** The first point of the curve that is not in the subgroup; y² = x³ + 4 (1 + i). */
function findOffSubgroup(): InstanceType<typeof G2.Point> {
  for (let c0 = 1n; c0 < 100n; c0 += 1n) {
    const x = Fp2.create({ c0, c1: 0n });
    const square = Fp2.add(Fp2.mul(Fp2.sqr(x), x), Fp2.create({ c0: 4n, c1: 4n }));
    try {
      const point = G2.Point.fromAffine({ x, y: Fp2.sqrt(square) });
      if (!point.isTorsionFree()) return point;
    } catch {
      // No point of the curve has this x.
    }
  }
  throw new Error('no point off the subgroup');
}

const secrets = new Map<number, Uint8Array>();
const signatures = new Map<string, InstanceType<typeof G2.Point>>();

function secretOf(key: number): Uint8Array {
  let secret = secrets.get(key);
  if (secret === undefined) {
    secret = Fr.toBytes(Fr.create(BigInt(`0x${hash('sha256', `real key ${key}`)}`)));
    secrets.set(key, secret);
  }
  return secret;
}

/** Kept, as each costs some milliseconds. */
function signed(key: number, message: Uint8Array): InstanceType<typeof G2.Point> {
  const name = `${key}/${Buffer.from(message).toString('latin1')}`;
  let signature = signatures.get(name);
  if (signature === undefined) {
    if (signatures.size > 1_000) signatures.clear();
    signature = longSignatures.sign(longSignatures.hash(message, SIGNATURE_DST), secretOf(key));
    signatures.set(name, signature);
  }
  return signature;
}

/** The curve itself: signed and judged by noble alone, verified by the service with the backend given. */
export function createRealScheme(backend: BlsBackend): BlsScheme {
  const publicKeys = new Map<number, Uint8Array>();
  const offSubgroup = findOffSubgroup();
  return {
    backend,
    publicKey(key) {
      const known = publicKeys.get(key) ?? longSignatures.getPublicKey(secretOf(key)).toBytes();
      publicKeys.set(key, known);
      return known;
    },
    sign: (key, message) => Signature.toBytes(signed(key, message)),
    signOffBy: (key, message, error) => Signature.toBytes(signed(key, message).add(multiple(G2.Point.BASE, error))),
    signOffSubgroup: (key, message, part) => encode(signed(key, message).add(multiple(offSubgroup, part))),
    infinity: Uint8Array.of(0xc0, ...new Uint8Array(95)),
    isSignedBy(keys, message, signature) {
      const sum = keys.map((key) => signed(key, message)).reduce((total, point) => total.add(point));
      return Buffer.from(Signature.toBytes(sum)).equals(signature);
    },
  };
}

/** Compressed, as noble does it, which refuses to for points off the subgroup. */
function encode(point: InstanceType<typeof G2.Point>): Uint8Array {
  const { x, y } = point.toAffine();
  const isLargerY = 2n * (y.c1 === 0n ? y.c0 : y.c1) > Fp.ORDER;
  const digits = [x.c1, x.c0].map((part) => part.toString(16).padStart(96, '0')).join('');
  const bytes = Uint8Array.from(Buffer.from(digits, 'hex'));
  bytes[0] = (bytes[0] ?? 0) | (isLargerY ? 0xa0 : 0x80);
  return bytes;
}

function multiple(point: InstanceType<typeof G2.Point>, factor: number): InstanceType<typeof G2.Point> {
  const times = point.multiplyUnsafe(BigInt(Math.abs(factor)));
  return factor < 0 ? times.negate() : times;
}
