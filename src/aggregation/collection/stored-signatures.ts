import type { WarpValidator } from '../../validators/warp-set.ts';
import type { CollectionContext } from './collection-context.ts';

/** The signatures in the store of one collection's message, and which of them the collection has taken. */
export interface StoredSignatures {
  /** Takes signatures until their weight is that of the target, in the order of asking. */
  take(): Promise<readonly ValidatorSignature[]>;
  /** Whether the validator's signature was taken from the store. It need not be its own: the store may be shared. */
  isTaken(index: number): boolean;
  /** Deletes a signature that is not its validator's. */
  delete(validator: WarpValidator): Promise<void>;
  /** Stores the signatures of a verified message. */
  keep(signers: readonly WarpValidator[]): Promise<void>;
}

export interface ValidatorSignature {
  readonly validator: WarpValidator;
  readonly signature: Uint8Array;
}

export function createStoredSignatures({
  store,
  signatureKey,
  tally,
  invalidSigners,
  metrics,
  plan: { avoided },
}: Pick<
  CollectionContext,
  'store' | 'signatureKey' | 'tally' | 'invalidSigners' | 'metrics' | 'plan'
>): StoredSignatures {
  const taken = new Set<number>();
  return {
    async take() {
      const { validators } = tally.warpSet;
      const known = await store.getMany(
        signatureKey,
        validators.map(({ publicKeyHex }) => publicKeyHex),
      );
      metrics.signatureCacheHits.inc(known.size);
      metrics.signatureCacheMisses.inc(validators.length - known.size);
      const found: ValidatorSignature[] = [];
      let weight = 0n;
      for (const validator of tally.askingOrder) {
        // Decoding costs as much as a round trip, so no more are added than needed.
        if (weight >= tally.targetWeight) break;
        const signature = known.get(validator.publicKeyHex);
        // Avoided validators and invalid signers come last, with or without a stored signature.
        if (signature === undefined || avoided.has(validator.index) || invalidSigners.has(validator.publicKeyHex))
          continue;
        weight += validator.weight;
        taken.add(validator.index);
        found.push({ validator, signature });
      }
      return found;
    },

    isTaken: (index) => taken.has(index),

    async delete({ index, publicKeyHex }) {
      taken.delete(index);
      await store.delete(signatureKey, publicKeyHex);
    },

    async keep(signers) {
      const signatures = new Map<string, Uint8Array>();
      for (const { index, publicKeyHex } of signers) {
        const state = tally.states[index];
        if (state?.kind === 'signed') signatures.set(publicKeyHex, state.signature);
      }
      await store.putMany(signatureKey, signatures);
    },
  };
}
