import type { FastifyReply } from 'fastify';
import type { ProgressEvent } from '../../aggregation/collection/progress.ts';
import {
  type AggregationRequest,
  type AggregationResult,
  settingsOf,
} from '../../aggregation/request/aggregation-request.ts';
import type { DeliveryAdvice } from '../../aggregation/signers/delivery-advice.ts';
import type { SigningPlan } from '../../aggregation/signers/signing-plan.ts';
import { type EventBytes, EventStream, encodeEvent } from '../../http/server/event-stream.ts';
import type { Clock } from '../../lib/concurrency/clock.ts';
import { DEFAULT_QUORUM_NUM } from '../../validators/quorum.ts';
import { MergedProgress } from './merged-progress.ts';
import type { AggregationEvent } from './progress-records.ts';
import { type Included, presentSigned } from './signed-message-record.ts';

/**
 * Answers an aggregation with server-sent events: its progress and its result. The error handler sends an error.
 *
 * @throws {AggregatorError} if the settings of the request are contradictory
 */
export function streamAggregation(reply: FastifyReply, clock: Clock, network: string, asked: AggregationRequest) {
  const { quorumNum = DEFAULT_QUORUM_NUM, quorumBuffer } = settingsOf(asked);
  const progress = new MergedProgress({
    network,
    quorumPercentage: Number(quorumNum),
    quorumPercentageBuffer: Number(quorumBuffer),
  });
  const stream = new EventStream(reply, clock, () => progress.take().map(encodeShared));
  reply.request.context.answerAsStream(stream);
  return {
    onProgress: (event: ProgressEvent): void => {
      progress.add(event);
      stream.wake();
    },
    /** The quorum may be the destination's. */
    onResolved: (plan: Pick<SigningPlan, 'quorumNum'>): void => {
      progress.quorumPercentage = Number(plan.quorumNum);
    },
    end(result: AggregationResult, advice: DeliveryAdvice | undefined, included: Included): void {
      stream.end(encodeEvent({ event: 'result', data: presentSigned(result, advice, included) }));
    },
  };
}

/** Encoded `resolved` events: all streams of a collection share the bytes. */
const encoded = new WeakMap<object, Uint8Array>();

function encodeShared(event: AggregationEvent): EventBytes {
  if (event.event !== 'resolved') return encodeEvent(event);
  const known = encoded.get(event.data);
  if (known !== undefined) return known;
  const bytes = Buffer.from(encodeEvent(event));
  encoded.set(event.data, bytes);
  return bytes;
}
