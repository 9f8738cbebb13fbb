import type { Clock } from '../../lib/concurrency/clock.ts';
import type { Span } from '../../telemetry/spans.ts';
import type { Place } from '../admission/admission.ts';
import type { ProgressListener } from '../collection/progress.ts';
import type { AggregationPhase } from '../phase-timer.ts';
import type { AggregationRequest, AggregationResult } from '../request/aggregation-request.ts';
import { type DeliveryAdvice, deliveryAdvice } from '../signers/delivery-advice.ts';
import type { SigningPlan } from '../signers/signing-plan.ts';
import type { SigningResolver } from '../signers/signing-resolver.ts';

/** Who asks for a signed message: its signal, client, span, times, charges and events. */
export interface Caller {
  /** Ends only this caller's request. Ignored if the answer is cached. */
  readonly signal: AbortSignal;
  /** Client ID for fair queueing; undefined for internal requests. */
  readonly client?: string | undefined;
  readonly span?: Span;
  /** Whether no client has asked for it: the metrics of requests leave it out, so that their alerts concern requests alone. */
  readonly isBackground?: boolean | undefined;
  /** Time in which the transaction may be accepted and executed, before the time for signatures begins; 0 by default. */
  readonly waitMs?: number | undefined;
  /** Time in which the signers may become known: the network opens, a new L1 has validators, an API answers. `waitMs` by default. */
  readonly signersWaitMs?: number | undefined;
  /** Ends these times early, because the service stops. */
  readonly waitEnds?: AbortSignal | undefined;
  /** Called and awaited before any work for an answer that is not cached. An error that it throws refuses the request. */
  readonly onCacheMiss?: (() => Promise<void>) | undefined;
  /** Called and awaited with the number of validators that may be asked, and the bytes of the message. */
  readonly onSigners?: ((validators: number, messageBytes: number) => Promise<void>) | undefined;
  /** Receives the state of the collection, then each event; nothing if no validator is asked. */
  readonly onProgress?: ProgressListener | undefined;
  /** Called once the validator set is known; not for a cached result, which has the same facts. */
  onResolved?(plan: SigningPlan): void;
  /** Called before the result of each request that names a destination, or that a warning concerns. */
  onAdvice?(advice: DeliveryAdvice): void;
  /** Called at the end of each phase, or when this caller's request ends; a phase may occur several times. */
  onPhase?(phase: AggregationPhase, durationMs: number): void;
}

/** What a client asks for. */
export interface AskedCall {
  readonly request: AggregationRequest;
  readonly caller: Caller;
  readonly wait: Wait;
}

/** One caller, who knows what has to be signed. */
export interface PlannedCall {
  readonly plan: SigningPlan;
  readonly caller: Caller;
  readonly wait: Wait;
  readonly place: Place;
}

/** The times in which a caller's transaction may be accepted and executed, and its signers may become known. */
export interface Wait extends Disposable {
  /** End of the first, in monotonic ms: an earlier one once `ends` has aborted. */
  readonly untilMs: number;
  /** End of the second, likewise. */
  readonly signersUntilMs: number;
  readonly ends: AbortSignal | undefined;
  /** Time spent in these waits, which is no slowness. */
  spentMs: number;
}

export interface AdviceOptions {
  readonly resolver: Pick<SigningResolver, 'knownTarget'>;
  readonly clock: Clock;
}

/** Gives a caller the advice on its result, if there is any. */
export function advise(
  caller: Caller,
  plan: SigningPlan,
  result: AggregationResult,
  { resolver, clock }: AdviceOptions,
): void {
  if (caller.onAdvice === undefined) return;
  const advice = deliveryAdvice(plan, result, resolver, clock.now());
  if (advice !== undefined) caller.onAdvice(advice);
}

/** Reports to a caller the end of a phase. */
export function reportPhase(
  { caller, wait }: Pick<AskedCall, 'caller' | 'wait'>,
  phase: AggregationPhase,
  durationMs: number,
): void {
  if (phase === 'execution') wait.spentMs += durationMs;
  caller.onPhase?.(phase, durationMs);
}

/**
 * A proposed height is cached for a second: with one more, the last attempt to find the signers reads a height from after the wait. The
 * height reaches a conversion 30 s after its block, which is the longest wait.
 */
const LAST_ATTEMPT_MS = 1_000;

export function startWait(
  clock: Clock,
  { waitMs = 0, signersWaitMs = waitMs, waitEnds }: Pick<Caller, 'waitMs' | 'signersWaitMs' | 'waitEnds'>,
): Wait {
  const startMs = clock.monotonicMs();
  const ends = waitMs > 0 || signersWaitMs > 0 ? waitEnds : undefined;
  let endedMs = ends?.aborted === true ? startMs : Number.POSITIVE_INFINITY;
  const end = (): void => {
    endedMs = Math.min(endedMs, clock.monotonicMs());
  };
  ends?.addEventListener('abort', end, { once: true });
  return {
    get untilMs() {
      return Math.min(endedMs, startMs + waitMs);
    },
    get signersUntilMs() {
      return Math.min(endedMs, signersWaitMs > 0 ? startMs + signersWaitMs + LAST_ATTEMPT_MS : startMs);
    },
    ends,
    spentMs: 0,
    [Symbol.dispose]: () => ends?.removeEventListener('abort', end),
  };
}
