import type { AggregationLimits } from '../aggregation-limits.ts';
import type { AttemptFailure, AttemptOutcome } from '../validators/validator-outcome.ts';
import { judgeRefusal, type RefusedMessage } from './refusal-verdict.ts';

/** What one collection knows of a validator. */
export type ValidatorState = Asked &
  (
    | {
        /** May be asked from `notBeforeMs` on; `failure` is that of its last attempt. */
        readonly kind: 'waiting';
        readonly notBeforeMs: number;
        readonly failure?: AttemptFailure | undefined;
      }
    /** Waits for a permit to be asked. */
    | { readonly kind: 'queued' }
    /** Late from `lateAtMs` on: no longer counted on. */
    | { readonly kind: 'asking'; readonly lateAtMs: number }
    /** Its signature is being decoded, or verified alone. */
    | { readonly kind: 'answered' }
    | { readonly kind: 'signed'; readonly signature: Uint8Array }
    | {
        readonly kind: 'failed';
        readonly failure: AttemptFailure;
        /** Whether it refused, and no later block changes that, or none before the registration's expiry. */
        readonly isForGood: boolean;
      }
  );

interface Asked {
  readonly attempts: number;
  readonly timeouts: number;
  /** Its refusal, if it has answered nothing else since. A timeout or a lost connection is no answer. */
  readonly refusal?: AttemptFailure | undefined;
}

export type ValidatorEvent =
  /** It is to be asked, as soon as there is a permit. */
  | { readonly kind: 'queued' }
  | { readonly kind: 'asked'; readonly lateAtMs: number }
  | { readonly kind: 'answered' }
  | { readonly kind: 'signed'; readonly signature: Uint8Array }
  | { readonly kind: 'failed'; readonly failure: AttemptFailure; readonly nowMs: number }
  /** Its signature from the store was not its own: it is to be asked itself. */
  | { readonly kind: 'forgotten' };

export const UNTRIED: ValidatorState = { kind: 'waiting', notBeforeMs: 0, attempts: 0, timeouts: 0 };

/** What decides over the state after a failure. */
export interface FailureRules extends RefusedMessage {
  /** Nodes of the validator. All are tried. */
  readonly nodeCount: number;
  readonly limits: Pick<AggregationLimits, 'refusalDelaysMs' | 'unreachableDelaysMs'>;
}

export function transition(before: ValidatorState, event: ValidatorEvent, rules: FailureRules): ValidatorState {
  const { attempts, timeouts, refusal } = before;
  const asked = { attempts, timeouts, refusal };
  switch (event.kind) {
    case 'queued':
      return { ...asked, kind: 'queued', attempts: attempts + 1 };
    case 'asked':
      return { ...asked, kind: 'asking', lateAtMs: event.lateAtMs };
    case 'answered':
      return { attempts, timeouts, kind: 'answered' };
    case 'signed':
      return { attempts, timeouts, kind: 'signed', signature: event.signature };
    case 'forgotten':
      return UNTRIED;
    case 'failed':
      return afterFailure(before, event, rules);
  }
}

function afterFailure(
  before: Asked,
  { failure, nowMs }: Extract<ValidatorEvent, { kind: 'failed' }>,
  { nodeCount, limits, ...message }: FailureRules,
): ValidatorState {
  const { attempts } = before;
  const timeouts = before.timeouts + (failure.kind === 'timed_out' ? 1 : 0);
  const waiting = (delayMs: number, refusal = before.refusal): ValidatorState => ({
    kind: 'waiting',
    notBeforeMs: nowMs + delayMs,
    attempts,
    timeouts,
    failure,
    refusal,
  });
  const failed = (refusal = before.refusal, isForGood = false): ValidatorState => ({
    kind: 'failed',
    attempts,
    timeouts,
    failure,
    refusal,
    isForGood,
  });
  switch (failure.kind) {
    case 'timed_out':
      // Once more than it has nodes, if the quorum needs it.
      return timeouts <= nodeCount ? waiting(0) : failed();
    case 'unreachable':
    case 'not_asked': {
      if (attempts < nodeCount) return waiting(0);
      // A connection needs time to come back, and a full queue to drain.
      const delayMs = limits.unreachableDelaysMs[attempts - nodeCount];
      return delayMs === undefined ? failed() : waiting(delayMs);
    }
    case 'refused': {
      const verdict = judgeRefusal(failure.code, message);
      if (verdict === 'may pass') return waiting(refusalDelayMs(limits, attempts - 1), failure);
      return failed(failure, verdict !== 'final for now');
    }
    case 'invalid_signature':
      return { kind: 'failed', attempts, timeouts, failure, isForGood: false };
  }
}

/** @param repeats number of earlier repetitions */
export function refusalDelayMs(
  { refusalDelaysMs }: Pick<AggregationLimits, 'refusalDelaysMs'>,
  repeats: number,
): number {
  return refusalDelaysMs[repeats] ?? refusalDelaysMs.at(-1) ?? 0;
}

/** The last known answer of a validator, or why there is none. */
export function knownOutcome(state: ValidatorState): AttemptOutcome | undefined {
  if (state.kind === 'signed') return state;
  return state.refusal ?? failureOf(state);
}

export function failureOf(state: ValidatorState): AttemptFailure | undefined {
  return state.kind === 'failed' || state.kind === 'waiting' ? state.failure : undefined;
}
