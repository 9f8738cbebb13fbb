import type { AggregationPhase } from '../../aggregation/phase-timer.ts';
import type { AggregationRequest, AggregationResult } from '../../aggregation/request/aggregation-request.ts';
import type { DeliveryAdvice } from '../../aggregation/signers/delivery-advice.ts';
import type { SigningPlan } from '../../aggregation/signers/signing-plan.ts';
import type { Caller } from '../../aggregation/stages/calls.ts';
import type { RequestContext } from '../../http/request/request-context.ts';
import { AGGREGATION_ACCESS, MESSAGE_AGGREGATION_ACCESS, unitsForSigners } from '../../http/request/route-access.ts';
import type { Span } from '../../telemetry/spans.ts';
import type { BlockchainID, MessageID } from '../../warp/ids.ts';

/** What is known about the aggregation that a request asks for. It grows while the aggregation runs. */
export interface AggregationFacts {
  readonly asked: AggregationRequest;
  readonly resolved: ResolvedRequest | undefined;
  readonly result: AggregationResult | undefined;
  /** Milliseconds. */
  readonly phases: Readonly<Partial<Record<AggregationPhase, number>>>;
}

export interface ResolvedRequest extends Pick<SigningPlan, 'signingSubnetID' | 'pChainHeight' | 'quorumNum'> {
  readonly messageID: MessageID;
  readonly sourceChainID: BlockchainID;
  readonly destinationChainID: BlockchainID | undefined;
}

const calls = new WeakMap<RequestContext, AggregationFacts>();

/** Returns what a request asks for; undefined until its body was parsed, and on routes without aggregation. */
export function aggregationOf(context: RequestContext): AggregationFacts | undefined {
  return calls.get(context);
}

/** The call of an aggregator for an HTTP request: its signal, its client, its charges, and the facts for its record. */
export class AggregationCall implements Caller, AggregationFacts {
  readonly asked: AggregationRequest;
  readonly #context: RequestContext;
  onProgress: Caller['onProgress'];
  waitMs: number | undefined;
  signersWaitMs: number | undefined;
  waitEnds: AbortSignal | undefined;
  readonly phases: Partial<Record<AggregationPhase, number>> = {};
  onSigning: ((plan: SigningPlan) => void) | undefined;
  resolved: ResolvedRequest | undefined;
  result: AggregationResult | undefined;
  advice: DeliveryAdvice | undefined;

  constructor(context: RequestContext, network: string, asked: AggregationRequest) {
    this.#context = context;
    this.asked = asked;
    context.servedBy(network);
    calls.set(context, this);
  }

  get signal(): AbortSignal {
    return this.#context.signal;
  }

  get client(): string {
    return this.#context.client;
  }

  get span(): Span {
    return this.#context.span;
  }

  onCacheMiss(): Promise<void> {
    return this.#context.chargeMore(UNITS_OF_WORK);
  }

  onSigners(validators: number, messageBytes: number): Promise<void> {
    // A body was charged for its size already.
    const ofSize = this.asked.subject.kind === 'transaction' ? unitsForSize(messageBytes) : 0;
    return this.#context.chargeAfterwards(unitsForSigners(AGGREGATION_ACCESS, validators) + ofSize);
  }

  onResolved(plan: SigningPlan): void {
    const { signingSubnetID, pChainHeight, quorumNum } = plan;
    const { id: messageID, sourceChainID } = plan.message;
    const destinationChainID = plan.question.destination?.chainID;
    this.resolved = { messageID, sourceChainID, destinationChainID, signingSubnetID, pChainHeight, quorumNum };
    this.onSigning?.(plan);
  }

  onAdvice(advice: DeliveryAdvice): void {
    this.advice = advice;
  }

  onPhase(phase: AggregationPhase, durationMs: number): void {
    this.phases[phase] = (this.phases[phase] ?? 0) + durationMs;
    if (phase === 'execution') this.#context.addWait(durationMs);
  }
}

/** Units for a result that is not cached, on top of those for a cached one. */
const UNITS_OF_WORK = AGGREGATION_ACCESS.units - AGGREGATION_ACCESS.unitsIfCached;

/** Charges for a long message and justification by their length, before they are parsed. @throws {HttpError} */
export function chargeForSize(
  context: RequestContext,
  { message = '', justification = '' }: { readonly message?: string; readonly justification?: string },
): Promise<void> {
  return context.chargeMore(unitsForSize((message.length + justification.length) / 2));
}

function unitsForSize(bytes: number): number {
  return MESSAGE_AGGREGATION_ACCESS.unitsPerKiB * Math.floor(bytes / 1024);
}
