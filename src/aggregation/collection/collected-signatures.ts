import { ParseError } from '../../lib/encoding/parse-error.ts';
import { checkSigners } from '../../validators/verify-signed-message.ts';
import type { WarpValidator } from '../../validators/warp-set.ts';
import { encodeSignedMessage } from '../../warp/signed-message.ts';
import type { DelaySignal } from '../admission/admission.ts';
import { type CollectionContext, CollectionOver, yieldForLargeSet } from './collection-context.ts';
import { createInvalidSignatures, NOT_ITS_SIGNATURE } from './invalid-signatures.ts';
import type { VerifiedMessage } from './job.ts';
import { createStoredSignatures } from './stored-signatures.ts';

/** The sum of the signatures of one collection. */
export interface CollectedSignatures {
  /** Takes signatures from the store, as many as the target weight needs. */
  takeStored(): Promise<void>;
  /** Adds a signature to the sum and the tally. Returns what is wrong with it, if anything. */
  take(validator: WarpValidator, signature: Uint8Array): Promise<string | undefined>;
  /**
   * Makes the signed message, and stores its signatures. Returns undefined if the sum does not verify: the invalid signatures are excluded
   * then. If time is up, there is one search, and those that it has not cleared are left out, too.
   */
  verify(isTimeUp: boolean): Promise<VerifiedMessage | undefined>;
}

export function createCollectedSignatures(context: CollectionContext): CollectedSignatures {
  const { sum, tally, apply, plan, invalidSigners, progress, clock, observeDelay, signal, over } = context;
  const stored = createStoredSignatures(context);
  const invalid = createInvalidSignatures({ ...context, stored });

  async function takeStored(): Promise<void> {
    const found = await stored.take();
    await Promise.all(
      found.map(async ({ validator, signature }) => {
        if ((await take(validator, signature)) !== undefined) await stored.delete(validator);
      }),
    );
  }

  async function take(validator: WarpValidator, signature: Uint8Array): Promise<string | undefined> {
    const { publicKeyHex } = validator;
    if (invalidSigners.has(publicKeyHex)) {
      const isValid = await invalid.verifyAlone(validator, signature);
      if (isValid) invalidSigners.clear(publicKeyHex);
      over.throwIfAborted();
      if (!isValid) return NOT_ITS_SIGNATURE;
    }
    const outcome = await timed('bls_add', sum.add(validator, signature));
    over.throwIfAborted();
    if (outcome instanceof ParseError) return outcome.reason;
    if (outcome === 'over') {
      signal.throwIfAborted();
      throw new CollectionOver();
    }
    apply(validator.index, { kind: 'signed', signature });
    return undefined;
  }

  async function verify(isTimeUp: boolean): Promise<VerifiedMessage | undefined> {
    progress.verifying();
    const signature = await timed('bls_aggregate', sum.aggregate());
    await yieldForLargeSet(tally.warpSet, context);
    const { message, quorumNum } = plan;
    const signedMessage = encodeSignedMessage({ unsignedMessage: message, signature });
    const { networkID } = message;
    const check = checkSigners(signedMessage, { networkID, warpSet: tally.warpSet, quorumNum });
    // The bytes were just encoded, so only a signature can be invalid.
    if (check.kind === 'invalid') throw new Error(`the signed message just made is refused: ${check.reason}`);
    const { validators: signers, signedWeight } = check;
    if (!(await sum.verify(check, check.unsignedMessage.bytes))) {
      await invalid.exclude(isTimeUp);
      progress.resumed();
      return undefined;
    }
    // Not awaited: the answer does not depend on it.
    void stored.keep(signers);
    return { signedMessage, signedWeight, signers };
  }

  async function timed<T>(delaySignal: DelaySignal, work: Promise<T>): Promise<T> {
    const startMs = clock.monotonicMs();
    const result = await work;
    observeDelay(delaySignal, clock.monotonicMs() - startMs);
    return result;
  }

  return { takeStored, take, verify };
}
