import { type Clock, nextTurn } from '../../lib/concurrency/clock.ts';
import { SignatureSlots } from './signature-slots.ts';
import { emptySlotList, type SlotList, SlotOrder } from './slot-order.ts';

/**
 * Signatures received earlier, by message and signer. They are points on the curve that a validator sent, but unverified: callers must
 * verify the aggregate.
 */
export interface SignatureStore {
  getMany(signatureKey: string, publicKeys: readonly string[]): Promise<ReadonlyMap<string, Uint8Array>>;
  /** Stores signatures of 96 bytes by public key, and replaces earlier ones of the same signers. */
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

/** The slots of one message's signatures by public key. */
interface MessageSlots {
  readonly signatureKey: string;
  readonly slots: Map<string, number>;
}

interface SignerSlots {
  readonly publicKey: string;
  readonly list: SlotList;
}

/** A signature takes about 2 µs; after so many, the event loop runs other work. */
const YIELD_EVERY = 256;

/** Keeps signatures in memory. Evicts the least recently used one, or one of the same signer if its share is full. */
export function createMemorySignatureStore(options: MemorySignatureStoreOptions): SignatureStore {
  const { clock, maxSignatures, maxPerSigner } = options;
  const slots = new SignatureSlots(maxSignatures);
  const all = emptySlotList();
  const orderOfAll = new SlotOrder();
  const orderOfSigners = new SlotOrder();
  /** Signatures by message, so that a new message needs no lookup for each of thousands of signers. */
  const signedOf = new Map<string, MessageSlots>();
  const signerOf = new Map<string, SignerSlots>();
  // Indexed by slot.
  const signedIn: (MessageSlots | undefined)[] = [];
  const signerIn: (SignerSlots | undefined)[] = [];

  function append(slot: number, { list }: SignerSlots): void {
    orderOfAll.append(all, slot);
    orderOfSigners.append(list, slot);
  }

  function remove(slot: number, { list }: SignerSlots): void {
    orderOfAll.remove(all, slot);
    orderOfSigners.remove(list, slot);
  }

  function touch(slot: number): void {
    const signer = signerIn[slot];
    if (signer === undefined) return;
    remove(slot, signer);
    append(slot, signer);
  }

  function drop(slot: number): void {
    const signed = signedIn[slot];
    const signer = signerIn[slot];
    if (signed === undefined || signer === undefined) return;
    signedIn[slot] = undefined;
    signerIn[slot] = undefined;
    remove(slot, signer);
    if (signer.list.size === 0) signerOf.delete(signer.publicKey);
    signed.slots.delete(signer.publicKey);
    if (signed.slots.size === 0) signedOf.delete(signed.signatureKey);
    slots.free(slot);
  }

  function put(signatureKey: string, publicKey: string, signature: Uint8Array): void {
    const known = signedOf.get(signatureKey)?.slots.get(publicKey);
    if (known !== undefined) {
      slots.replace(known, signature);
      touch(known);
      return;
    }
    const own = signerOf.get(publicKey)?.list;
    if (own !== undefined && own.size >= maxPerSigner) drop(own.first);
    if (all.size >= maxSignatures) drop(all.first);
    const slot = slots.add(signature);
    let signed = signedOf.get(signatureKey);
    if (signed === undefined) signedOf.set(signatureKey, (signed = { signatureKey, slots: new Map() }));
    let signer = signerOf.get(publicKey);
    if (signer === undefined) signerOf.set(publicKey, (signer = { publicKey, list: emptySlotList() }));
    signedIn[slot] = signed;
    signerIn[slot] = signer;
    // The signer's string, because an equal copy would take memory.
    signed.slots.set(signer.publicKey, slot);
    append(slot, signer);
  }

  return {
    async getMany(signatureKey, publicKeys) {
      const found = new Map<string, Uint8Array>();
      const signed = signedOf.get(signatureKey);
      if (signed === undefined) return found;
      for (const publicKey of publicKeys) {
        const slot = signed.slots.get(publicKey);
        if (slot === undefined) continue;
        found.set(publicKey, slots.read(slot));
        touch(slot);
      }
      return found;
    },
    async putMany(signatureKey, signatures) {
      let count = 0;
      for (const [publicKey, signature] of signatures) {
        put(signatureKey, publicKey, signature);
        count += 1;
        if (count % YIELD_EVERY === 0) await nextTurn(clock);
      }
    },
    async delete(signatureKey, publicKey) {
      const slot = signedOf.get(signatureKey)?.slots.get(publicKey);
      if (slot !== undefined) drop(slot);
    },
  };
}
