import type { BlsBackend, PublicKey, Signature } from '../backends/bls-backend.ts';

/** Packed sums of signatures and of their signers' keys. */
export interface Sum {
  readonly key: Uint8Array;
  readonly signature: Uint8Array;
}

export interface Points {
  readonly keys: readonly PublicKey[];
  readonly signatures: readonly Signature[];
}

/** One of each. */
export interface PointSum {
  readonly key: PublicKey;
  readonly signature: Signature;
}

/** Points and sums, at least one of either. */
export function addUp(backend: BlsBackend, { keys, signatures }: Points, sums: readonly Sum[] = []): PointSum {
  const allKeys = [...keys, ...sums.map(({ key }) => backend.unpackPublicKey(key))];
  const all = [...signatures, ...sums.map(({ signature }) => backend.unpackSignature(signature))];
  const [key, signature] = [onlyOf(allKeys), onlyOf(all)];
  return {
    key: key ?? backend.aggregatePublicKeys(allKeys),
    signature: signature ?? backend.aggregateSignatures(all),
  };
}

export function packSum(backend: BlsBackend, { key, signature }: PointSum): Sum {
  return { key: backend.packPublicKey(key), signature: backend.packSignature(signature) };
}

function onlyOf<T>(values: readonly T[]): T | undefined {
  return values.length === 1 ? values[0] : undefined;
}
