import { type Clock, nextTurn } from '../../lib/concurrency/clock.ts';
import { SignatureSlots } from './signature-slots.ts';
import { emptySlotList, type SlotList, SlotOrder } from './slot-order.ts';

/**
 * Signatures received before, by what was signed and by whom. A port, as replicas may share one. All that is known of a value is
 * that a validator sent it and that it is a point on the curve: whoever uses one must verify the aggregate that it becomes part of.
 */
export interface SignatureStore {
  /** Those signatures of these signers that are known, by public key in hex. */
  getMany(signatureKey: string, publicKeys: readonly string[]): Promise<ReadonlyMap<string, Uint8Array>>;
  /** By public key, 96 bytes each. Each takes the place of an earlier one of its signer. */
  putMany(signatureKey: string, signatures: ReadonlyMap<string, Uint8Array>): Promise<void>;
  delete(signatureKey: string, publicKey: string): Promise<void>;
}

export interface MemorySignatureStoreOptions {
  readonly clock: Clock;
  /** Of all signers together. A signature takes some 300 bytes with what finds it. */
  readonly maxSignatures: number;
  /** Of one signer, so that a flood of messages for one validator set cannot push out the signatures of all others. */
  readonly maxPerSigner: number;
}

/** By public key, the slots that the signatures of one message are in. */
interface Signed {
  readonly signatureKey: string;
  readonly slots: Map<string, number>;
}

interface Signer {
  readonly publicKey: string;
  readonly list: SlotList;
}

/** A signature takes some 2 µs: after so many, others have their turn of the event loop. */
const MAX_PUT_A_TURN = 256;

/** In memory. The least recently used signature goes first; if a signer's share is full, one of its own. */
export function createMemorySignatureStore(options: MemorySignatureStoreOptions): SignatureStore {
  const { clock, maxSignatures, maxPerSigner } = options;
  const slots = new SignatureSlots();
  const all = emptySlotList();
  const orderOfAll = new SlotOrder();
  const orderOfSigners = new SlotOrder();
  /** By what was signed: of a new message there are none, and thousands of signers need not be looked up to know it. */
  const signedOf = new Map<string, Signed>();
  const signerOf = new Map<string, Signer>();
  /** By slot. */
  const signedIn: (Signed | undefined)[] = [];
  const signerIn: (Signer | undefined)[] = [];

  function append(slot: number, { list }: Signer): void {
    orderOfAll.append(all, slot);
    orderOfSigners.append(list, slot);
  }

  function remove(slot: number, { list }: Signer): void {
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
    // The signer's own string: one that is equal would be kept beside it.
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
        if (count % MAX_PUT_A_TURN === 0) await nextTurn(clock);
      }
    },
    async delete(signatureKey, publicKey) {
      const slot = signedOf.get(signatureKey)?.slots.get(publicKey);
      if (slot !== undefined) drop(slot);
    },
  };
}
