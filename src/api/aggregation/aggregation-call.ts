import type { AggregationStage } from '../../aggregation/aggregator-metrics.ts';
import type { AggregateOptions, DeliveryAdvice } from '../../aggregation/request/aggregate.ts';
import type { AggregationRequest, AggregationResult } from '../../aggregation/request/aggregation-request.ts';
import type { CompleteRequest } from '../../aggregation/request/complete-request.ts';
import type { Signing } from '../../aggregation/request/signing-resolver.ts';
import type { AggregationFacts, RequestContext, ResolvedRequest } from '../../http/request/request-context.ts';
import { AGGREGATION_ACCESS, MESSAGE_AGGREGATION_ACCESS, unitsForSigners } from '../../http/request/route-access.ts';
import type { Span } from '../../telemetry/spans.ts';

/** The call of an aggregator for an HTTP request: its signal, its client, its charges, and the facts for its record. */
export class AggregationCall implements AggregateOptions, AggregationFacts {
  readonly network: string;
  readonly asked: AggregationRequest;
  readonly #context: RequestContext;
  onProgress: AggregateOptions['onProgress'];
  waitMs: number | undefined;
  waitEnds: AbortSignal | undefined;
  readonly stages: Partial<Record<AggregationStage, number>> = {};
  onSigning: ((signing: Signing) => void) | undefined;
  resolved: ResolvedRequest | undefined;
  result: AggregationResult | undefined;
  advice: DeliveryAdvice | undefined;

  constructor(context: RequestContext, network: string, asked: AggregationRequest) {
    this.#context = context;
    this.network = network;
    this.asked = asked;
    context.aggregate(this);
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

  onResolved({ message, destination }: CompleteRequest, signing: Signing): void {
    const { signingSubnetID, pChainHeight, quorumNum } = signing;
    const { id: messageID, sourceChainID } = message;
    const destinationChainID = destination?.chainID;
    this.resolved = { messageID, sourceChainID, destinationChainID, signingSubnetID, pChainHeight, quorumNum };
    this.onSigning?.(signing);
  }

  onAdvice(advice: DeliveryAdvice): void {
    this.advice = advice;
  }

  onStage(stage: AggregationStage, durationMs: number): void {
    this.stages[stage] = (this.stages[stage] ?? 0) + durationMs;
    if (stage === 'execution') this.#context.addWait(durationMs);
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
