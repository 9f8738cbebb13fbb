import { startDeadline } from '../../lib/concurrency/deadline.ts';
import type { WarpValidator } from '../../validators/warp-set.ts';
import type { AttemptFailure } from '../validators/validator-outcome.ts';
import type { CollectionContext } from './collection-context.ts';
import type { StoredSignatures, ValidatorSignature } from './stored-signatures.ts';

/** Keeps invalid signatures out of the sum of one collection, and remembers which ones were verified alone. */
export interface InvalidSignatures {
  /** Verifies a signature alone. The signer of an invalid one is remembered (`InvalidSigners`). */
  verifyAlone(validator: WarpValidator, signature: Uint8Array): Promise<boolean>;
  /**
   * Searches a sum that did not verify, and excludes the invalid signatures. If time is up, there is no other search, and those that were
   * not cleared are left out, too.
   */
  exclude(isTimeUp: boolean): Promise<void>;
}

export const NOT_ITS_SIGNATURE = 'is not its signature of this message';

/**
 * Least time of a search for invalid signatures, enough for a few hundred checks; one invalid signer among 1,000 takes about 20.
 * Before the deadline a search gets half of the time left, so that the other half remains for verifying alone. At the deadline
 * it gets only this, so that many invalid signers cannot keep the service busy for minutes.
 */
const MIN_SEARCH_MS = 2_000;

export function createInvalidSignatures(
  context: CollectionContext & { readonly stored: StoredSignatures },
): InvalidSignatures {
  const { sum, tally, apply, stored, invalidSigners, changes, times, clock, metrics, countOutcome, over, signal } =
    context;
  const proven = new Set<number>();

  async function verifyAlone(validator: WarpValidator, signature: Uint8Array): Promise<boolean> {
    const isValid = await sum.verifyAlone(validator, signature);
    if (isValid) proven.add(validator.index);
    else remember(validator);
    return isValid;
  }

  async function exclude(isTimeUp: boolean): Promise<void> {
    const { bad, uncleared } = await search();
    for (const index of bad) {
      const validator = validatorAt(index);
      if (!stored.isTaken(index)) remember(validator);
      await leaveOut(validator);
    }
    // Most of the others are valid, and the next search has fewer to check.
    if (bad.length > 0 && !isTimeUp) return;
    const held = await holdBack(isTimeUp ? uncleared : uncleared.filter((index) => !proven.has(index)));
    if (isTimeUp) return;
    returnValid(held).catch((error: unknown) => changes.fail(error));
  }

  async function search() {
    const searchMs = Math.max((times.deadlineMs() - clock.monotonicMs()) / 2, MIN_SEARCH_MS);
    using searching = startDeadline(clock, searchMs, 'finding invalid signers', signal);
    return await sum.findBadSigners(searching.signal);
  }

  /** Removes signatures from the sum that may be valid, to be verified alone in the order of asking. */
  async function holdBack(uncleared: readonly number[]): Promise<readonly ValidatorSignature[]> {
    const indices = new Set(uncleared);
    const held: ValidatorSignature[] = [];
    for (const validator of tally.askingOrder) {
      const { index } = validator;
      const state = tally.states[index];
      if (!indices.has(index) || state?.kind !== 'signed') continue;
      if (stored.isTaken(index)) {
        await leaveOut(validator);
        continue;
      }
      sum.remove(index);
      apply(index, { kind: 'answered' });
      held.push({ validator, signature: state.signature });
    }
    return held;
  }

  /** Verifies each signature alone, and adds the valid ones to the sum again. */
  async function returnValid(held: readonly ValidatorSignature[]): Promise<void> {
    const isOver = (): boolean => over.aborted || signal.aborted;
    for (const { validator, signature } of held) {
      if (isOver()) return;
      try {
        const isValid = await verifyAlone(validator, signature);
        if (isValid) await sum.add(validator, signature);
        if (isOver()) return;
        if (isValid) apply(validator.index, { kind: 'signed', signature });
        else await leaveOut(validator);
      } catch (error) {
        // Jobs of an ended collection are dropped.
        if (isOver()) return;
        throw error;
      }
      changes.wake();
    }
  }

  /** Leaves a signature out for good. One from the store need not be the validator's own: it is asked itself. */
  async function leaveOut(validator: WarpValidator): Promise<void> {
    const { index } = validator;
    sum.remove(index);
    if (stored.isTaken(index)) {
      apply(index, { kind: 'forgotten' });
    } else {
      const failure: AttemptFailure = { kind: 'invalid_signature', reason: NOT_ITS_SIGNATURE };
      countOutcome(validator, failure);
      apply(index, { kind: 'failed', failure, nowMs: clock.monotonicMs() });
    }
    await stored.delete(validator);
  }

  function remember({ publicKeyHex }: WarpValidator): void {
    metrics.badSigners.inc();
    invalidSigners.add(publicKeyHex);
  }

  function validatorAt(index: number): WarpValidator {
    const validator = tally.warpSet.validators[index];
    if (validator === undefined) throw new RangeError(`no validator ${index}`);
    return validator;
  }

  return { verifyAlone, exclude };
}
