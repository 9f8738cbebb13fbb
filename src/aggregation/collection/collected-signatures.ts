import { startDeadline } from '../../lib/concurrency/deadline.ts';
import type { EventLoopScheduler } from '../../lib/concurrency/event-loop-scheduler.ts';
import { ParseError } from '../../lib/encoding/parse-error.ts';
import { checkSigners } from '../../validators/verify-signed-message.ts';
import type { WarpSet, WarpValidator } from '../../validators/warp-set.ts';
import { encodeSignedMessage } from '../../warp/signed-message.ts';
import type { DelaySignal } from '../admission/admission.ts';
import type { SignatureFailure } from '../validators/validator-outcome.ts';
import type { CollectionContext } from './collection-job.ts';

export interface VerifiedMessage {
  readonly signedMessage: Uint8Array;
  readonly signedWeight: bigint;
  readonly signers: readonly WarpValidator[];
}

/** Signatures of one collection: adds them up, stores those of a verified message, and excludes invalid ones. */
export class CollectedSignatures {
  readonly #options: CollectionContext;
  readonly #fromStore = new Set<number>();
  readonly #proven = new Set<number>();
  #weightComing = 0n;

  constructor(options: CollectionContext) {
    this.#options = options;
  }

  async takeKnown(): Promise<void> {
    const { store, signatureKey, tally, metrics, avoided, invalidSigners } = this.#options;
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
      taking.push(this.#takeStored(validator, signature));
    }
    await Promise.all(taking);
  }

  async #takeStored(validator: WarpValidator, signature: Uint8Array): Promise<void> {
    const { store, signatureKey } = this.#options;
    this.#fromStore.add(validator.index);
    const problem = await this.take(validator, signature);
    if (problem === undefined) return;
    this.#fromStore.delete(validator.index);
    await store.delete(signatureKey, validator.publicKeyHex);
  }

  /** Adds a signature to the sum and the tally. Returns what is wrong with it, if anything. */
  async take(validator: WarpValidator, signature: Uint8Array): Promise<string | undefined> {
    const { invalidSigners, sum, tally, over, signal } = this.#options;
    if (invalidSigners.has(validator.publicKeyHex)) {
      const isGood = await sum.verifyAlone(validator, signature);
      if (isGood) invalidSigners.clear(validator.publicKeyHex);
      else this.#remember(validator);
      over.throwIfAborted();
      if (!isGood) return NOT_ITS_SIGNATURE;
      this.#proven.add(validator.index);
    }
    this.#weightComing += validator.weight;
    const isLast = tally.signedWeight + this.#weightComing >= tally.targetWeight;
    let outcome: Awaited<ReturnType<typeof sum.add>>;
    try {
      outcome = await this.#timed('bls_add', sum.add(validator, signature, isLast));
    } finally {
      this.#weightComing -= validator.weight;
    }
    over.throwIfAborted();
    if (outcome instanceof ParseError) return outcome.reason;
    if (outcome === 'over') {
      signal.throwIfAborted();
      throw new CollectionOver();
    }
    tally.set(validator.index, { kind: 'signed', signature });
    return undefined;
  }

  /** Undefined if invalid signatures were excluded. If time is up, there is one search, and uncleared ones are left out. */
  async verify(isTimeUp: boolean): Promise<VerifiedMessage | undefined> {
    const { message, tally, sum, quorumNum, progress } = this.#options;
    progress.verifying();
    const aggregate = await this.#timed('bls_aggregate', sum.aggregate());
    await yieldForLargeSet(tally.warpSet, this.#options);
    const signedMessage = encodeSignedMessage({ unsignedMessage: message, signature: aggregate });
    const { networkID } = message;
    const check = checkSigners(signedMessage, { networkID, warpSet: tally.warpSet, quorumNum });
    // The bytes were just encoded, so only a signature can be invalid.
    if (check.kind === 'invalid') throw new Error(`the signed message just made is refused: ${check.reason}`);
    const { validators: signers, signedWeight } = check;
    if (!(await sum.verify(check, check.unsignedMessage.bytes))) {
      await this.#putBadAside(isTimeUp);
      progress.resumed();
      return undefined;
    }
    // Not awaited: the answer does not depend on it.
    void this.#keep(signers);
    return { signedMessage, signedWeight, signers };
  }

  async #timed<T>(signal: DelaySignal, work: Promise<T>): Promise<T> {
    const { clock, observeDelay } = this.#options;
    const startMs = clock.monotonicMs();
    const result = await work;
    observeDelay(signal, clock.monotonicMs() - startMs);
    return result;
  }

  async #putBadAside(isTimeUp: boolean): Promise<void> {
    const { clock, signal, sum, deadlineMs } = this.#options;
    const searchMs = Math.max((deadlineMs - clock.monotonicMs()) / 2, MIN_SEARCH_MS);
    using searching = startDeadline(clock, searchMs, 'finding invalid signers', signal);
    const { bad, uncleared } = await sum.findBadSigners(searching.signal);
    for (const index of bad) {
      // A signature from the store need not be the validator's own.
      if (!this.#fromStore.has(index)) this.#remember(this.#validatorAt(index));
      await this.#putAside(index, NOT_ITS_SIGNATURE);
    }
    // Most of the others are valid, and the next search has fewer to check.
    if (bad.length > 0 && !isTimeUp) return;
    // At the deadline there is no other search.
    const held = await this.#holdBack(isTimeUp ? uncleared : uncleared.filter((index) => !this.#proven.has(index)));
    if (isTimeUp) return;
    this.#clear(held).catch((error: unknown) => this.#options.changes.fail(error));
  }

  /** Removes signatures from the sum that may be valid, to be verified alone in the order of asking. */
  async #holdBack(uncleared: readonly number[]): Promise<readonly HeldSignature[]> {
    const { sum, tally } = this.#options;
    const indices = new Set(uncleared);
    const held: HeldSignature[] = [];
    for (const validator of tally.askingOrder) {
      const { index } = validator;
      const state = tally.states[index];
      if (!indices.has(index) || state?.kind !== 'signed') continue;
      if (this.#fromStore.has(index)) {
        await this.#askItself(index);
        continue;
      }
      sum.remove(index);
      tally.set(index, { kind: 'answered' });
      held.push({ validator, signature: state.signature });
    }
    return held;
  }

  async #clear(held: readonly HeldSignature[]): Promise<void> {
    const { sum, tally, changes, signal, over } = this.#options;
    const isOver = (): boolean => over.aborted || signal.aborted;
    for (const { validator, signature } of held) {
      if (isOver()) return;
      try {
        const isGood = await sum.verifyAlone(validator, signature);
        if (isGood) await sum.add(validator, signature);
        else this.#remember(validator);
        if (isOver()) return;
        if (isGood) {
          this.#proven.add(validator.index);
          tally.set(validator.index, { kind: 'signed', signature });
        } else await this.#putAside(validator.index, NOT_ITS_SIGNATURE);
      } catch (error) {
        // Jobs of an ended collection are dropped.
        if (isOver()) return;
        throw error;
      }
      changes.wake();
    }
  }

  async #putAside(index: number, reason: string): Promise<void> {
    const { sum, tally, store, signatureKey, countOutcome } = this.#options;
    if (this.#fromStore.has(index)) return this.#askItself(index);
    sum.remove(index);
    const failure: SignatureFailure = { kind: 'invalid_signature', reason };
    countOutcome(this.#validatorAt(index), failure);
    tally.set(index, { kind: 'failed', failure });
    await store.delete(signatureKey, this.#validatorAt(index).publicKeyHex);
  }

  async #askItself(index: number): Promise<void> {
    const { sum, tally, store, signatureKey } = this.#options;
    this.#fromStore.delete(index);
    sum.remove(index);
    tally.set(index, { kind: 'waiting', notBeforeMs: 0, attempts: 0 });
    await store.delete(signatureKey, this.#validatorAt(index).publicKeyHex);
  }

  #remember({ publicKeyHex }: WarpValidator): void {
    this.#options.metrics.badSigners.inc();
    this.#options.invalidSigners.add(publicKeyHex);
  }

  async #keep(signers: readonly WarpValidator[]): Promise<void> {
    const { tally, store, signatureKey } = this.#options;
    const signatures = new Map<string, Uint8Array>();
    for (const { index, publicKeyHex } of signers) {
      const state = tally.states[index];
      if (state?.kind === 'signed') signatures.set(publicKeyHex, state.signature);
    }
    await store.putMany(signatureKey, signatures);
  }

  #validatorAt(index: number): WarpValidator {
    const validator = this.#options.tally.warpSet.validators[index];
    if (validator === undefined) throw new RangeError(`no validator ${index}`);
    return validator;
  }
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
 * Least time of a search for invalid signatures, enough for some hundred checks; one invalid signer among 1,000 takes about 20.
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
