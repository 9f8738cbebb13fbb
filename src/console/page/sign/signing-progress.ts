import type { AggregationEvent, AnswerOutcome, ValidatorRecord } from '../../../api/aggregation/progress-records.ts';

export type ValidatorStatus = ValidatorRecord['status'];

export interface ShownValidator {
  readonly index: number;
  readonly nodeIds: readonly string[];
  readonly weight: bigint;
  readonly isConnected: boolean;
  status: ValidatorStatus;
  /** The code and words of one that refused, or another reason. */
  code: number | undefined;
  text: string | undefined;
  /** When it came to this status, in milliseconds since the request; 0 where it was so before. */
  sinceMs: number;
}

export interface StatusSum {
  count: number;
  weight: bigint;
}

/** Where a signing stands, folded from its events. One object that changes: a set of thousands is not copied for each answer. */
export class SigningProgress {
  phase: 'resolving' | 'collecting' | 'verifying' = 'resolving';
  facts: Omit<Extract<AggregationEvent, { event: 'resolved' }>['data'], 'validators'> | undefined;
  /** By canonical index. */
  validators: ShownValidator[] = [];
  totalWeight = 0n;
  quorumWeight = 0n;
  targetWeight = 0n;
  signedWeight = 0n;
  readonly sums = new Map<ValidatorStatus, StatusSum>();
  /** Counts the sets: what was laid out for another one is of no use. */
  generation = 0;
  /** Counts changes of any kind. */
  version = 0;
  /** Indices whose status has changed since somebody last took them. */
  #changed = new Set<number>();

  apply(event: AggregationEvent, nowMs: number): void {
    this.version++;
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

  /** The indices that changed since the last call. */
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
    this.sums.clear();
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
    const sum = this.sums.get(status) ?? { count: 0, weight: 0n };
    sum.count += sign;
    sum.weight += sign === 1 ? weight : -weight;
    this.sums.set(status, sum);
  }
}

/** In words, as they stand beside counts. */
export const STATUS_WORDS: Readonly<Record<ValidatorStatus, string>> = {
  signed: 'signed',
  asked: 'asked',
  refused: 'refused',
  timed_out: 'timed out',
  unreachable: 'unreachable',
  invalid_signature: 'bad signature',
  not_asked: 'not asked',
} satisfies Record<AnswerOutcome | 'asked', string>;

/** In this order they are listed: what went wrong first, as that is what people look for. */
export const STATUS_ORDER: readonly ValidatorStatus[] = [
  'signed',
  'asked',
  'refused',
  'timed_out',
  'unreachable',
  'invalid_signature',
  'not_asked',
];
