import { type Clock, nextTurn } from '../../lib/concurrency/clock.ts';

/**
 * Signatures received earlier, by message and signer. They are points on the curve that a validator sent, but unverified: callers must
 * verify the aggregate.
 */
export interface SignatureStore {
  getMany(signatureKey: string, publicKeys: readonly string[]): Promise<ReadonlyMap<string, Uint8Array>>;
  /** Stores signatures by public key in hex, and replaces earlier ones of the same signers. */
  putMany(signatureKey: string, signatures: ReadonlyMap<string, Uint8Array>): Promise<void>;
  delete(signatureKey: string, publicKey: string): Promise<void>;
}

export interface MemorySignatureStoreOptions {
  readonly clock: Clock;
  /** Limit for all signers together. A signature takes about 300 bytes with its index. */
  readonly maxSignatures: number;
  /** Limit for one signer, so that a flood of messages for one validator set cannot evict the signatures of all others. */
  readonly maxPerSigner: number;
}

/** A signature takes about 2 µs; after so many, the event loop runs other work. */
const YIELD_EVERY = 256;

/** Keeps signatures in memory. Evicts the oldest one of a signer whose share is full, else one of the least recently used message. */
export function createMemorySignatureStore(options: MemorySignatureStoreOptions): SignatureStore {
  const { clock, maxSignatures, maxPerSigner } = options;
  /** The signers of each message, the least recently used message first. */
  const messages = new Map<string, Set<string>>();
  /** The signatures of each signer by message, the oldest first. As text, because a typed array of 96 bytes takes about 300 more. */
  const signed = new Map<string, Map<string, string>>();
  let size = 0;

  function drop(signatureKey: string, publicKey: string): void {
    const signatures = signed.get(publicKey);
    if (signatures?.delete(signatureKey) !== true) return;
    if (signatures.size === 0) signed.delete(publicKey);
    const signers = messages.get(signatureKey);
    signers?.delete(publicKey);
    if (signers?.size === 0) messages.delete(signatureKey);
    size -= 1;
  }

  function touch(signatureKey: string): void {
    const signers = messages.get(signatureKey);
    if (signers === undefined) return;
    messages.delete(signatureKey);
    messages.set(signatureKey, signers);
  }

  function makeRoom(signatures: ReadonlyMap<string, string> | undefined, publicKey: string): void {
    if (signatures !== undefined && signatures.size >= maxPerSigner) {
      const [oldest = ''] = signatures.keys();
      drop(oldest, publicKey);
    }
    if (size < maxSignatures) return;
    for (const [leastUsed, [first = '']] of messages) return drop(leastUsed, first);
  }

  function put(signatureKey: string, publicKey: string, signature: Uint8Array): void {
    drop(signatureKey, publicKey);
    makeRoom(signed.get(publicKey), publicKey);
    const signatures = signed.get(publicKey) ?? new Map<string, string>();
    if (signatures.size === 0) signed.set(publicKey, signatures);
    signatures.set(signatureKey, toText(signature));
    const signers = messages.get(signatureKey) ?? new Set<string>();
    if (signers.size === 0) messages.set(signatureKey, signers);
    signers.add(publicKey);
    size += 1;
  }

  return {
    async getMany(signatureKey, publicKeys) {
      const found = new Map<string, Uint8Array>();
      if (!messages.has(signatureKey)) return found;
      for (const publicKey of publicKeys) {
        const signature = signed.get(publicKey)?.get(signatureKey);
        if (signature !== undefined) found.set(publicKey, toBytes(signature));
      }
      touch(signatureKey);
      return found;
    },
    async putMany(signatureKey, signatures) {
      touch(signatureKey);
      let count = 0;
      for (const [publicKey, signature] of signatures) {
        put(signatureKey, publicKey, signature);
        count += 1;
        if (count % YIELD_EVERY === 0) await nextTurn(clock);
      }
    },
    async delete(signatureKey, publicKey) {
      drop(signatureKey, publicKey);
    },
  };
}

function toText({ buffer, byteOffset, length }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, length).toString('latin1');
}

function toBytes(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length);
  Buffer.from(bytes.buffer).write(text, 'latin1');
  return bytes;
}
