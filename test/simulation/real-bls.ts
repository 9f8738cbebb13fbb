import { hash } from 'node:crypto';
import { bls12_381 } from '@noble/curves/bls12-381.js';
import type { BlsBackend } from '../../src/bls/backends/bls-backend.ts';
import { SIGNATURE_DST } from '../../src/bls/backends/bls-backend.ts';
import { INFINITY, OFF_SUBGROUP } from '../devnet/signing-faults.ts';
import type { BlsScheme } from './bls-scheme.ts';

const { longSignatures, G1, G2 } = bls12_381;
const { Signature } = longSignatures;
const { Fr } = bls12_381.fields;

const signatures = new Map<string, InstanceType<typeof G2.Point>>();

function secretOf(key: number): Uint8Array {
  return Fr.toBytes(Fr.create(BigInt(`0x${hash('sha256', `real key ${key}`)}`)));
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

/** Verifies an aggregate with noble alone. */
export function isSignedBy(publicKeys: readonly Uint8Array[], message: Uint8Array, signature: Uint8Array): boolean {
  const key = publicKeys.map((bytes) => G1.Point.fromBytes(bytes)).reduce((sum, point) => sum.add(point));
  return longSignatures.verify(signature, longSignatures.hash(message, SIGNATURE_DST), key);
}

/** The curve itself: signed and judged by noble alone, verified by the service with the backend given. */
export function createRealScheme(backend: BlsBackend): BlsScheme {
  const publicKeys = new Map<number, Uint8Array>();
  return {
    backend,
    publicKey(key) {
      const known = publicKeys.get(key) ?? longSignatures.getPublicKey(secretOf(key)).toBytes();
      publicKeys.set(key, known);
      return known;
    },
    sign: (key, message) => Signature.toBytes(signed(key, message)),
    signOffBy(key, message, error) {
      const offset = G2.Point.BASE.multiply(BigInt(Math.abs(error)));
      return Signature.toBytes(signed(key, message).add(error < 0 ? offset.negate() : offset));
    },
    signOffSubgroup: () => OFF_SUBGROUP,
    infinity: INFINITY,
    isSignedBy,
  };
}
