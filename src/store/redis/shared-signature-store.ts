import { bytesToHex, concatBytes, copyBytes, parseHex } from '../../lib/encoding/bytes.ts';
import { BLS_PUBLIC_KEY_LENGTH, BLS_SIGNATURE_LENGTH } from '../../warp/bls-lengths.ts';
import type { SignatureStore } from '../local/signature-store.ts';
import type { Seal } from './seal.ts';
import type { SharedValues } from './shared-values.ts';

/**
 * Covers repeated requests with another quorum or a changed validator set. Signatures are the largest shared values: 100 KB a message for
 * 700 signers.
 */
const LIFETIME_MS = 2 * 60_000;
/** About 7,000 signers. Larger values are not shared. */
const MAX_VALUE_BYTES = 1024 * 1024;
const ENTRY_BYTES = BLS_PUBLIC_KEY_LENGTH + BLS_SIGNATURE_LENGTH;

/**
 * Looks in the local store first, then in the shared one, where the signatures of a message are one value. Like those of any signature
 * store they are unverified: the aggregate is verified.
 */
export function createSharedSignatureStore(own: SignatureStore, values: SharedValues, seal: Seal): SignatureStore {
  const keyOf = (signatureKey: string): string => `signatures:${signatureKey}`;

  async function read(signatureKey: string): Promise<ReadonlyMap<string, Uint8Array>> {
    const key = keyOf(signatureKey);
    const sealed = await values.get(key, MAX_VALUE_BYTES);
    const value = sealed && seal.open(key, sealed);
    return value === undefined ? new Map() : decode(value);
  }

  /** Concurrent writes of two replicas may lose signatures; the validators are then asked again. */
  async function add(signatureKey: string, signatures: ReadonlyMap<string, Uint8Array>): Promise<void> {
    const key = keyOf(signatureKey);
    const before = await read(signatureKey);
    if ([...signatures.keys()].every((publicKey) => before.has(publicKey))) return;
    const value = seal.seal(key, encode(new Map([...before, ...signatures])));
    if (value.length <= MAX_VALUE_BYTES) await values.set(key, value, LIFETIME_MS);
  }

  return {
    async getMany(signatureKey, publicKeys) {
      const found = await own.getMany(signatureKey, publicKeys);
      if (found.size === publicKeys.length) return found;
      const shared = await read(signatureKey);
      const all = new Map(found);
      for (const publicKey of publicKeys) {
        const signature = found.get(publicKey) ?? shared.get(publicKey);
        if (signature !== undefined) all.set(publicKey, signature);
      }
      return all;
    },
    async putMany(signatureKey, signatures) {
      await own.putMany(signatureKey, signatures);
      // Not awaited: the client's response must not wait for the shared store.
      void add(signatureKey, signatures);
    },
    async delete(signatureKey, publicKey) {
      await own.delete(signatureKey, publicKey);
      // If one is invalid, the others may come from the same forged value.
      void values.delete(keyOf(signatureKey));
    },
  };
}

/** Encodes pairs of compressed public key and signature. */
function encode(signatures: ReadonlyMap<string, Uint8Array>): Uint8Array {
  return concatBytes(
    ...[...signatures].flatMap(([publicKey, signature]) => [parseHex(publicKey, 'public key'), signature]),
  );
}

function decode(value: Uint8Array): ReadonlyMap<string, Uint8Array> {
  const signatures = new Map<string, Uint8Array>();
  for (let offset = 0; offset + ENTRY_BYTES <= value.length; offset += ENTRY_BYTES) {
    const publicKey = bytesToHex(value.subarray(offset, offset + BLS_PUBLIC_KEY_LENGTH));
    signatures.set(publicKey, copyBytes(value.subarray(offset + BLS_PUBLIC_KEY_LENGTH, offset + ENTRY_BYTES)));
  }
  return signatures;
}
