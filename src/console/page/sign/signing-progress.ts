import type { AggregationEvent, ValidatorRecord } from '../../../api/aggregation/progress-records.ts';
import { type OutcomeSum, sumOutcomes } from './outcomes.ts';

export type ValidatorStatus = ValidatorRecord['status'];

export interface ShownValidator {
  readonly index: number;
  readonly nodeIds: readonly string[];
  readonly weight: bigint;
  readonly isConnected: boolean;
  status: ValidatorStatus;
  /** Code and text of a refusal, or another reason in `text`. */
  code: number | undefined;
  text: string | undefined;
  /** When it got this status, in milliseconds since the request began. */
  sinceMs: number;
}

/** State of a signing, folded from its events. The object is mutable, because a set of thousands must not be copied for each answer. */
export class SigningProgress {
  phase: 'resolving' | 'collecting' | 'verifying' = 'resolving';
  facts: Omit<Extract<AggregationEvent, { event: 'resolved' }>['data'], 'validators'> | undefined;
  /** In canonical order. */
  validators: ShownValidator[] = [];
  totalWeight = 0n;
  quorumWeight = 0n;
  targetWeight = 0n;
  signedWeight = 0n;
  readonly #sums = new Map<ValidatorStatus, { count: number; weight: bigint }>();
  /** Number of validator sets so far. */
  generation = 0;
  /** Indices whose status has changed since {@link takeChanged}. */
  #changed = new Set<number>();

  apply(event: AggregationEvent, nowMs: number): void {
    switch (event.event) {
      case 'resolved':
        this.#begin(event.data);
        return;
      case 'asked':
        for (const index of event.data.validators) this.#change(index, 'asked', undefined, undefined, nowMs);
        return;
      case 'answer':
        for (const { index, outcome, code, text, reason } of event.data.answers)
          this.#change(index, outcome, code, text ?? reason, nowMs);
        return;
      case 'progress':
        this.signedWeight = BigInt(event.data.signedWeight);
        return;
      case 'verifying':
        this.phase = 'verifying';
        return;
      case 'result':
      case 'error':
    }
  }

  /** Outcomes by weight; validators without a key are what the set does not list. */
  outcomes(): OutcomeSum[] {
    const listed = this.validators.reduce((sum, { weight }) => sum + weight, 0n);
    const keyless = { count: 0, weight: this.totalWeight - listed };
    return sumOutcomes((outcome) => (outcome === 'no_key' ? keyless : this.#sums.get(outcome)), this.totalWeight);
  }

  takeChanged(): ReadonlySet<number> {
    const changed = this.#changed;
    this.#changed = new Set();
    return changed;
  }

  #begin({ validators, ...facts }: Extract<AggregationEvent, { event: 'resolved' }>['data']): void {
    this.facts = facts;
    this.phase = facts.isVerifying ? 'verifying' : 'collecting';
    this.totalWeight = BigInt(facts.totalWeight);
    this.quorumWeight = BigInt(facts.quorumWeight);
    this.targetWeight = BigInt(facts.targetWeight);
    this.signedWeight = BigInt(facts.signedWeight);
    this.generation++;
    this.#changed = new Set();
    this.#sums.clear();
    this.validators = validators.map(({ index, nodeIds, weight, isConnected, status, code, text, reason }) => {
      const why = { code, text: text ?? reason };
      const state = { index, nodeIds, weight: BigInt(weight), isConnected, status, ...why, sinceMs: 0 };
      this.#count(state, 1);
      return state;
    });
  }

  #change(
    index: number,
    status: ValidatorStatus,
    code: number | undefined,
    text: string | undefined,
    nowMs: number,
  ): void {
    const validator = this.validators[index];
    if (validator === undefined) return;
    this.#count(validator, -1);
    Object.assign(validator, { status, code, text, sinceMs: nowMs });
    this.#count(validator, 1);
    this.#changed.add(index);
    if (status === 'asked' && this.phase === 'verifying') this.phase = 'collecting';
  }

  #count({ status, weight }: ShownValidator, sign: 1 | -1): void {
    const sum = this.#sums.get(status) ?? { count: 0, weight: 0n };
    sum.count += sign;
    sum.weight += sign === 1 ? weight : -weight;
    this.#sums.set(status, sum);
  }
}
