import { startDeadline } from '../../lib/concurrency/deadline.ts';
import type { EventLoopScheduler } from '../../lib/concurrency/event-loop-scheduler.ts';
import { ParseError } from '../../lib/encoding/parse-error.ts';
import { checkSigners } from '../../validators/verify-signed-message.ts';
import type { WarpSet, WarpValidator } from '../../validators/warp-set.ts';
import { encodeSignedMessage } from '../../warp/signed-message.ts';
import type { DelaySignal } from '../admission/admission.ts';
import type { AttemptFailure } from '../validators/validator-outcome.ts';
import type { CollectionContext } from './collection-context.ts';
import type { VerifiedMessage } from './job.ts';

export type CollectedSignatures = ReturnType<typeof createCollectedSignatures>;

/** Signatures of one collection: adds them up, stores those of a verified message, and excludes invalid ones. */
export function createCollectedSignatures(options: CollectionContext) {
  const { tally, apply, sum, store, signatureKey, invalidSigners, plan } = options;
  const { avoided, message, quorumNum } = plan;
  const { clock, observeDelay, metrics, countOutcome, progress, changes, times, signal, over } = options;
  const fromStore = new Set<number>();
  const proven = new Set<number>();

  async function takeKnown(): Promise<void> {
    const { validators } = tally.warpSet;
    const known = await store.getMany(
      signatureKey,
      validators.map(({ publicKeyHex }) => publicKeyHex),
    );
    metrics.signatureCacheHits.inc(known.size);
    metrics.signatureCacheMisses.inc(validators.length - known.size);
    let weight = 0n;
    const taking: Promise<unknown>[] = [];
    for (const validator of tally.askingOrder) {
      // Decoding costs as much as a round trip, so no more are added than needed.
      if (weight >= tally.targetWeight) break;
      const signature = known.get(validator.publicKeyHex);
      // Avoided validators and invalid signers come last, with or without a stored signature.
      if (signature === undefined || avoided.has(validator.index) || invalidSigners.has(validator.publicKeyHex))
        continue;
      weight += validator.weight;
      taking.push(takeStored(validator, signature));
    }
    await Promise.all(taking);
  }

  async function takeStored(validator: WarpValidator, signature: Uint8Array): Promise<void> {
    fromStore.add(validator.index);
    const problem = await take(validator, signature);
    if (problem === undefined) return;
    fromStore.delete(validator.index);
    await store.delete(signatureKey, validator.publicKeyHex);
  }

  /** Adds a signature to the sum and the tally. Returns what is wrong with it, if anything. */
  async function take(validator: WarpValidator, signature: Uint8Array): Promise<string | undefined> {
    if (invalidSigners.has(validator.publicKeyHex)) {
      const isGood = await sum.verifyAlone(validator, signature);
      if (isGood) invalidSigners.clear(validator.publicKeyHex);
      else remember(validator);
      over.throwIfAborted();
      if (!isGood) return NOT_ITS_SIGNATURE;
      proven.add(validator.index);
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

  /** Undefined if invalid signatures were excluded. If time is up, there is one search, and uncleared ones are left out. */
  async function verify(isTimeUp: boolean): Promise<VerifiedMessage | undefined> {
    progress.verifying();
    const aggregate = await timed('bls_aggregate', sum.aggregate());
    await yieldForLargeSet(tally.warpSet, options);
    const signedMessage = encodeSignedMessage({ unsignedMessage: message, signature: aggregate });
    const { networkID } = message;
    const check = checkSigners(signedMessage, { networkID, warpSet: tally.warpSet, quorumNum });
    // The bytes were just encoded, so only a signature can be invalid.
    if (check.kind === 'invalid') throw new Error(`the signed message just made is refused: ${check.reason}`);
    const { validators: signers, signedWeight } = check;
    if (!(await sum.verify(check, check.unsignedMessage.bytes))) {
      await putBadAside(isTimeUp);
      progress.resumed();
      return undefined;
    }
    // Not awaited: the answer does not depend on it.
    void keep(signers);
    return { signedMessage, signedWeight, signers };
  }

  async function timed<T>(delaySignal: DelaySignal, work: Promise<T>): Promise<T> {
    const startMs = clock.monotonicMs();
    const result = await work;
    observeDelay(delaySignal, clock.monotonicMs() - startMs);
    return result;
  }

  async function putBadAside(isTimeUp: boolean): Promise<void> {
    const searchMs = Math.max((times.deadlineMs() - clock.monotonicMs()) / 2, MIN_SEARCH_MS);
    using searching = startDeadline(clock, searchMs, 'finding invalid signers', signal);
    const { bad, uncleared } = await sum.findBadSigners(searching.signal);
    for (const index of bad) {
      // A signature from the store need not be the validator's own.
      if (!fromStore.has(index)) remember(validatorAt(index));
      await putAside(index, NOT_ITS_SIGNATURE);
    }
    // Most of the others are valid, and the next search has fewer to check.
    if (bad.length > 0 && !isTimeUp) return;
    // At the deadline there is no other search.
    const held = await holdBack(isTimeUp ? uncleared : uncleared.filter((index) => !proven.has(index)));
    if (isTimeUp) return;
    clear(held).catch((error: unknown) => changes.fail(error));
  }

  /** Removes signatures from the sum that may be valid, to be verified alone in the order of asking. */
  async function holdBack(uncleared: readonly number[]): Promise<readonly HeldSignature[]> {
    const indices = new Set(uncleared);
    const held: HeldSignature[] = [];
    for (const validator of tally.askingOrder) {
      const { index } = validator;
      const state = tally.states[index];
      if (!indices.has(index) || state?.kind !== 'signed') continue;
      if (fromStore.has(index)) {
        await askItself(index);
        continue;
      }
      sum.remove(index);
      apply(index, { kind: 'answered' });
      held.push({ validator, signature: state.signature });
    }
    return held;
  }

  async function clear(held: readonly HeldSignature[]): Promise<void> {
    const isOver = (): boolean => over.aborted || signal.aborted;
    for (const { validator, signature } of held) {
      if (isOver()) return;
      try {
        const isGood = await sum.verifyAlone(validator, signature);
        if (isGood) await sum.add(validator, signature);
        else remember(validator);
        if (isOver()) return;
        if (isGood) {
          proven.add(validator.index);
          apply(validator.index, { kind: 'signed', signature });
        } else await putAside(validator.index, NOT_ITS_SIGNATURE);
      } catch (error) {
        // Jobs of an ended collection are dropped.
        if (isOver()) return;
        throw error;
      }
      changes.wake();
    }
  }

  async function putAside(index: number, reason: string): Promise<void> {
    if (fromStore.has(index)) return askItself(index);
    sum.remove(index);
    const failure: AttemptFailure = { kind: 'invalid_signature', reason };
    countOutcome(validatorAt(index), failure);
    apply(index, { kind: 'failed', failure, nowMs: clock.monotonicMs() });
    await store.delete(signatureKey, validatorAt(index).publicKeyHex);
  }

  async function askItself(index: number): Promise<void> {
    fromStore.delete(index);
    sum.remove(index);
    apply(index, { kind: 'forgotten' });
    await store.delete(signatureKey, validatorAt(index).publicKeyHex);
  }

  function remember({ publicKeyHex }: WarpValidator): void {
    metrics.badSigners.inc();
    invalidSigners.add(publicKeyHex);
  }

  async function keep(signers: readonly WarpValidator[]): Promise<void> {
    const signatures = new Map<string, Uint8Array>();
    for (const { index, publicKeyHex } of signers) {
      const state = tally.states[index];
      if (state?.kind === 'signed') signatures.set(publicKeyHex, state.signature);
    }
    await store.putMany(signatureKey, signatures);
  }

  function validatorAt(index: number): WarpValidator {
    const validator = tally.warpSet.validators[index];
    if (validator === undefined) throw new RangeError(`no validator ${index}`);
    return validator;
  }

  return { takeKnown, take, verify };
}

/** Reason of the abort when a collection ends. */
export class CollectionOver extends Error {
  override readonly name = 'CollectionOver';
}

interface HeldSignature {
  readonly validator: WarpValidator;
  readonly signature: Uint8Array;
}

/**
 * Least time of a search for invalid signatures, enough for a few hundred checks; one invalid signer among 1,000 takes about 20.
 * Before the deadline a search gets half of the time left, so that the other half remains for verifying alone. At the deadline
 * it gets only this, so that many invalid signers cannot keep the service busy for minutes.
 */
const MIN_SEARCH_MS = 2_000;

const NOT_ITS_SIGNATURE = 'is not its signature of this message';

/** A pass over this many validators takes some milliseconds. */
const MANY_VALIDATORS = 500;

/** Waits for a separate tick of the event loop before a pass over a large set, fairly over clients. */
export function yieldForLargeSet(
  { validators }: WarpSet,
  { scheduler, client = '' }: { readonly scheduler: EventLoopScheduler; readonly client: string | undefined },
): Promise<void> | undefined {
  if (validators.length <= MANY_VALIDATORS) return undefined;
  return new Promise((resolve) => scheduler.runLater(client, resolve));
}
