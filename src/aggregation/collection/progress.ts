import type { NodeID, SubnetID } from '../../warp/ids.ts';
import type { ValidatorOutcome } from '../validators/validator-outcome.ts';
import { knownOutcome, type Tally, type ValidatorState } from './tally.ts';

/** What happens while signatures are collected, for those who follow it. */
export type ProgressEvent =
  /**
   * All there is to know: the first event of every listener, so that one who joins late has what happened before. It comes again
   * where the picture as a whole changes: bad signatures were found, or the validator set changed and collecting starts anew.
   */
  | { readonly kind: 'state'; readonly state: ProgressState }
  /** A validator, by its canonical index, was asked. One that has refused stays refused until it answers something else. */
  | { readonly kind: 'asked'; readonly index: number }
  /** What came of it; `signedWeight` is that of all who have signed by now. A validator that failed may be asked again. */
  | {
      readonly kind: 'outcome';
      readonly index: number;
      readonly outcome: ValidatorOutcome;
      readonly signedWeight: bigint;
    }
  /** Enough have signed, and their aggregate is being verified. */
  | { readonly kind: 'verifying' };

export type ProgressListener = (event: ProgressEvent) => void;

export interface ProgressState {
  readonly signingSubnetID: SubnetID;
  readonly pChainHeight: bigint;
  readonly totalWeight: bigint;
  /** Least weight of the quorum, and of the quorum with its buffer. */
  readonly neededWeight: bigint;
  readonly targetWeight: bigint;
  readonly signedWeight: bigint;
  /** By canonical index; without those that have no key. */
  readonly validators: readonly ValidatorProgress[];
  readonly isVerifying: boolean;
}

export interface ValidatorProgress {
  readonly index: number;
  readonly nodeIDs: readonly NodeID[];
  readonly weight: bigint;
  /** When the state was taken: no event tells of connections alone. */
  readonly isConnected: boolean;
  /** `asked`: its answer is to come; `not_asked` also before it is asked. */
  readonly status: 'asked' | ValidatorOutcome['kind'];
  /** The code, text or reason that belong to the status. */
  readonly outcome?: ValidatorOutcome;
}

export interface ProgressFacts {
  readonly signingSubnetID: SubnetID;
  readonly pChainHeight: bigint;
  isConnected(nodeID: NodeID): boolean;
}

/**
 * Tells listeners how one collection goes. Nothing is recorded: the tally has the whole state, and who joins gets it from there.
 * Without listeners an event costs one comparison and is never made.
 */
export class ProgressFeed {
  readonly #facts: ProgressFacts;
  readonly #listeners = new Set<ProgressListener>();
  #tally: Tally | undefined;
  #isVerifying = false;

  constructor(facts: ProgressFacts) {
    this.#facts = facts;
  }

  /** @returns the unsubscription */
  subscribe(listener: ProgressListener): () => void {
    this.#listeners.add(listener);
    if (this.#tally !== undefined) this.#deliver(listener, { kind: 'state', state: this.#state(this.#tally) });
    return () => void this.#listeners.delete(listener);
  }

  /** Undefined before {@link begin}. */
  get state(): ProgressState | undefined {
    return this.#tally && this.#state(this.#tally);
  }

  begin(tally: Tally): void {
    this.#tally = tally;
    this.#isVerifying = false;
    this.#emitState();
  }

  /** A validator's state in the tally has changed. */
  changed(index: number, state: ValidatorState): void {
    if (this.#listeners.size === 0 || this.#tally === undefined) return;
    const outcome = knownOutcome(this.#tally, index);
    if (outcome === undefined) {
      if (state.kind === 'asking') this.#emit({ kind: 'asked', index });
    } else if (state.kind !== 'queued' && state.kind !== 'asking') {
      this.#emit({ kind: 'outcome', index, outcome, signedWeight: this.#tally.signedWeight });
    }
  }

  verifying(): void {
    if (this.#isVerifying) return;
    this.#isVerifying = true;
    if (this.#listeners.size > 0) this.#emit({ kind: 'verifying' });
  }

  /** The aggregate did not verify: bad signatures are put aside, and collecting goes on. */
  resumed(): void {
    if (!this.#isVerifying) return;
    this.#isVerifying = false;
    this.#emitState();
  }

  #emitState(): void {
    if (this.#listeners.size === 0 || this.#tally === undefined) return;
    this.#emit({ kind: 'state', state: this.#state(this.#tally) });
  }

  #emit(event: ProgressEvent): void {
    // A copy: who subscribes because of this event gets it with the state.
    for (const listener of [...this.#listeners]) this.#deliver(listener, event);
  }

  #deliver(listener: ProgressListener, event: ProgressEvent): void {
    try {
      listener(event);
    } catch {
      // Whoever listens may fail for reasons of its own, such as a client that has gone; the others need the signatures all the same.
      this.#listeners.delete(listener);
    }
  }

  #state(tally: Tally): ProgressState {
    const { warpSet, states, neededWeight, targetWeight, signedWeight } = tally;
    const { signingSubnetID, pChainHeight } = this.#facts;
    return {
      ...{ signingSubnetID, pChainHeight, totalWeight: warpSet.totalWeight, neededWeight, targetWeight, signedWeight },
      isVerifying: this.#isVerifying,
      validators: warpSet.validators.map(({ index, nodeIDs, weight }): ValidatorProgress => {
        const state = states[index];
        const outcome = knownOutcome(tally, index);
        const isAsked = state?.kind === 'asking' || state?.kind === 'answered';
        return {
          ...{ index, nodeIDs, weight },
          isConnected: nodeIDs.some((nodeID) => this.#facts.isConnected(nodeID)),
          status: outcome?.kind ?? (isAsked ? 'asked' : 'not_asked'),
          ...(outcome && { outcome }),
        };
      }),
    };
  }
}
