import type { NodeID, SubnetID } from '../../warp/ids.ts';
import type { AttemptOutcome } from '../validators/validator-outcome.ts';
import type { Tally } from './tally.ts';
import { knownOutcome, type ValidatorState } from './validator-state.ts';

export type ProgressEvent =
  /** The first event of each listener; sent again if invalid signatures are found or the validator set changed. */
  | { readonly kind: 'state'; readonly state: ProgressState }
  /** A validator was asked. One that has refused stays `refused` until it answers something else, and has no such event. */
  | { readonly kind: 'asked'; readonly index: number }
  /** The outcome of a validator, which may be asked again after a failure. `signedWeight` is the sum over all validators. */
  | {
      readonly kind: 'outcome';
      readonly index: number;
      readonly outcome: AttemptOutcome;
      readonly signedWeight: bigint;
    }
  | { readonly kind: 'verifying' };

export type ProgressListener = (event: ProgressEvent) => void;

export interface ProgressState {
  readonly signingSubnetID: SubnetID;
  readonly pChainHeight: bigint;
  readonly totalWeight: bigint;
  readonly neededWeight: bigint;
  readonly targetWeight: bigint;
  readonly signedWeight: bigint;
  /** In canonical order, without validators that have no key. */
  readonly validators: readonly ValidatorProgress[];
  readonly isVerifying: boolean;
}

export interface ValidatorProgress {
  readonly index: number;
  readonly nodeIDs: readonly NodeID[];
  readonly weight: bigint;
  /** At the time of the state: changes of connections have no events. */
  readonly isConnected: boolean;
  /** `asked`: its answer is to come. `not_asked`: also before it is asked. */
  readonly status: 'asked' | AttemptOutcome['kind'];
  readonly outcome?: AttemptOutcome;
}

export interface ProgressFacts {
  readonly signingSubnetID: SubnetID;
  readonly pChainHeight: bigint;
  isConnected(nodeID: NodeID): boolean;
}

/** Publishes the progress of one collection. The tally holds the state, so nothing is recorded for late listeners. */
export class ProgressFeed {
  readonly #facts: ProgressFacts;
  readonly #listeners = new Set<ProgressListener>();
  #tally: Tally | undefined;
  #isVerifying = false;

  constructor(facts: ProgressFacts) {
    this.#facts = facts;
  }

  subscribe(listener: ProgressListener): () => void {
    this.#listeners.add(listener);
    if (this.#tally !== undefined) this.#deliver(listener, { kind: 'state', state: this.#state(this.#tally) });
    return () => void this.#listeners.delete(listener);
  }

  begin(tally: Tally): void {
    this.#tally = tally;
    this.#isVerifying = false;
    this.#emitState();
  }

  changed(index: number, state: ValidatorState): void {
    if (this.#listeners.size === 0 || this.#tally === undefined) return;
    const outcome = knownOutcome(state);
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

  /** The aggregate did not verify, and the collection continues without the invalid signatures. */
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
    // A copy: a listener added during the event gets it with the state.
    for (const listener of Array.from(this.#listeners)) this.#deliver(listener, event);
  }

  #deliver(listener: ProgressListener, event: ProgressEvent): void {
    try {
      listener(event);
    } catch {
      // A listener may fail, for example because its client has disconnected; the others continue.
      this.#listeners.delete(listener);
    }
  }

  #state(tally: Tally): ProgressState {
    const { warpSet, states, neededWeight, targetWeight, signedWeight } = tally;
    const { signingSubnetID, pChainHeight } = this.#facts;
    return {
      signingSubnetID,
      pChainHeight,
      totalWeight: warpSet.totalWeight,
      neededWeight,
      targetWeight,
      signedWeight,
      isVerifying: this.#isVerifying,
      validators: warpSet.validators.map(({ index, nodeIDs, weight }): ValidatorProgress => {
        const state = states[index] as ValidatorState;
        const outcome = knownOutcome(state);
        const isAsked = state.kind === 'asking' || state.kind === 'answered';
        return {
          index,
          nodeIDs,
          weight,
          isConnected: nodeIDs.some((nodeID) => this.#facts.isConnected(nodeID)),
          status: outcome?.kind ?? (isAsked ? 'asked' : 'not_asked'),
          ...(outcome && { outcome }),
        };
      }),
    };
  }
}
