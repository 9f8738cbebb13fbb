import type { AggregationEvent, ValidatorRecord } from './progress-records.ts';

export type ValidatorStatus = ValidatorRecord['status'];

export interface ShownValidator {
  readonly index: number;
  readonly nodeIds: readonly string[];
  readonly weight: bigint;
  status: ValidatorStatus;
  /** Code and text of a refusal, or another reason in `text`. */
  code?: number | undefined;
  text?: string | undefined;
  /** When it got this status, in milliseconds since the request began. */
  sinceMs: number;
}

/** Validators to draw; another set is another array. */
export interface ShownSet {
  readonly validators: readonly ShownValidator[];
  readonly totalWeight: bigint;
}

type ResolvedData = Extract<AggregationEvent, { event: 'resolved' }>['data'];

/** State of a signing, folded from its events. The object is mutable, because a set of thousands must not be copied for each answer. */
export class SigningProgress implements ShownSet {
  phase: 'resolving' | 'collecting' | 'verifying' = 'resolving';
  facts: Omit<ResolvedData, 'validators'> | undefined;
  /** In canonical order. */
  validators: readonly ShownValidator[] = [];
  totalWeight = 0n;
  quorumWeight = 0n;
  targetWeight = 0n;
  signedWeight = 0n;

  apply(event: AggregationEvent, nowMs: number): void {
    switch (event.event) {
      case 'resolved':
        this.#begin(event.data);
        return;
      case 'asked':
        this.phase = 'collecting';
        for (const index of event.data.validators) this.#change(index, 'asked', {}, nowMs);
        return;
      case 'answer':
        for (const { index, outcome, ...why } of event.data.answers) this.#change(index, outcome, why, nowMs);
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

  #begin({ validators, ...facts }: ResolvedData): void {
    this.facts = facts;
    this.phase = facts.isVerifying ? 'verifying' : 'collecting';
    this.totalWeight = BigInt(facts.totalWeight);
    this.quorumWeight = BigInt(facts.quorumWeight);
    this.targetWeight = BigInt(facts.targetWeight);
    this.signedWeight = BigInt(facts.signedWeight);
    this.validators = validators.map(({ index, nodeIds, weight, status, code, text, reason }) => ({
      index,
      nodeIds,
      weight: BigInt(weight),
      status,
      code,
      text: text ?? reason,
      sinceMs: 0,
    }));
  }

  #change(
    index: number,
    status: ValidatorStatus,
    { code, text, reason }: Pick<ValidatorRecord, 'code' | 'text' | 'reason'>,
    sinceMs: number,
  ): void {
    const validator = this.validators[index];
    if (validator !== undefined) Object.assign(validator, { status, code, text: text ?? reason, sinceMs });
  }
}
