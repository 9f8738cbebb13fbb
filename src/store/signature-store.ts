import type { LRUCache } from 'lru-cache';
import { type Clock, nextTurn } from '../primitives/clock.ts';
import { createLru } from '../primitives/lru.ts';

/**
 * Signatures received before, by what was signed and by whom. A port, as replicas may share one. All that is known of a value is
 * that a validator sent it and that it is a point on the curve: whoever uses one must verify the aggregate that it becomes part of.
 */
export interface SignatureStore {
  /** Those signatures of these signers that are known, by public key in hex. */
  getMany(signatureKey: string, publicKeys: readonly string[]): Promise<ReadonlyMap<string, Uint8Array>>;
  /** By public key. Each takes the place of an earlier one of its signer. */
  putMany(signatureKey: string, signatures: ReadonlyMap<string, Uint8Array>): Promise<void>;
  delete(signatureKey: string, publicKey: string): Promise<void>;
}

export interface MemorySignatureStoreOptions {
  readonly clock: Clock;
  /** Of all signers together. A signature takes some 400 bytes with its keys. */
  readonly maxSignatures: number;
  /** Of one signer, so that a flood of messages for one validator set cannot push out the signatures of all others. */
  readonly maxPerSigner: number;
}

interface Entry {
  readonly signatureKey: string;
  readonly publicKey: string;
  readonly signature: Uint8Array;
}

/** A signature takes some 10 µs: after so many, others have their turn of the event loop. */
const MAX_PUT_A_TURN = 64;

/** In memory. The least recently used signature goes first; if a signer's share is full, one of its own. */
export function createMemorySignatureStore(options: MemorySignatureStoreOptions): SignatureStore {
  const { clock, maxSignatures, maxPerSigner } = options;
  /** By signer, the least recently used first. */
  const keysOf = new Map<string, Set<string>>();
  /** How many there are by what was signed: of a new message none, and thousands of signers need not be looked up to know it. */
  const countOf = new Map<string, number>();
  const entries = createLru<string, Entry>(maxSignatures, (entry, key, reason) => {
    if (reason === 'set') return;
    const left = (countOf.get(entry.signatureKey) ?? 0) - 1;
    if (left > 0) countOf.set(entry.signatureKey, left);
    else countOf.delete(entry.signatureKey);
    const keys = keysOf.get(entry.publicKey);
    keys?.delete(key);
    if (keys?.size === 0) keysOf.delete(entry.publicKey);
  });

  function touch(publicKey: string, key: string): void {
    let keys = keysOf.get(publicKey);
    if (keys === undefined) keysOf.set(publicKey, (keys = new Set()));
    keys.delete(key);
    keys.add(key);
  }

  function put(signatureKey: string, publicKey: string, signature: Uint8Array): void {
    const key = entryKey(signatureKey, publicKey);
    const keys = keysOf.get(publicKey);
    if (keys !== undefined && keys.size >= maxPerSigner && !keys.has(key)) {
      const [oldest] = keys;
      if (oldest !== undefined) entries.delete(oldest);
    }
    touch(publicKey, key);
    const status: LRUCache.Status<string, Entry> = {};
    entries.set(key, { signatureKey, publicKey, signature }, { status });
    if (status.set === 'add') countOf.set(signatureKey, (countOf.get(signatureKey) ?? 0) + 1);
  }

  return {
    async getMany(signatureKey, publicKeys) {
      const found = new Map<string, Uint8Array>();
      if (!countOf.has(signatureKey)) return found;
      for (const publicKey of publicKeys) {
        const key = entryKey(signatureKey, publicKey);
        const entry = entries.get(key);
        if (entry === undefined) continue;
        found.set(publicKey, entry.signature);
        touch(publicKey, key);
      }
      return found;
    },
    async putMany(signatureKey, signatures) {
      let count = 0;
      for (const [publicKey, signature] of signatures) {
        put(signatureKey, publicKey, signature);
        count += 1;
        if (count % MAX_PUT_A_TURN === 0) await nextTurn(clock);
      }
    },
    async delete(signatureKey, publicKey) {
      entries.delete(entryKey(signatureKey, publicKey));
    },
  };
}

function entryKey(signatureKey: string, publicKey: string): string {
  return `${signatureKey}|${publicKey}`;
}
