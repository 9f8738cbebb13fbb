import type { FastifyReply } from 'fastify';
import type { ProgressListener } from '../../aggregation/collection/progress.ts';
import {
  type AggregationRequest,
  type AggregationResult,
  settingsOf,
} from '../../aggregation/request/aggregation-request.ts';
import { type EventBytes, EventStream, encodeEvent } from '../../http/server/event-stream.ts';
import type { Clock } from '../../lib/concurrency/clock.ts';
import { MergedProgress } from './merged-progress.ts';
import type { AggregationEvent } from './progress-records.ts';
import { presentSigned } from './signed-message-record.ts';

export interface AggregationStreamOptions {
  readonly reply: FastifyReply;
  readonly clock: Clock;
  readonly network: string;
  readonly asked: AggregationRequest;
}

/** Answers an aggregation with server-sent events: its progress and its result. The error handler sends an error. */
export class AggregationStream {
  readonly #stream: EventStream;
  readonly #progress: MergedProgress;

  /** @throws {AggregatorError} if the settings of the request are contradictory */
  constructor({ reply, clock, network, asked }: AggregationStreamOptions) {
    const { quorumNum, quorumBuffer } = settingsOf(asked);
    this.#progress = new MergedProgress({
      network,
      quorumPercentage: Number(quorumNum),
      quorumPercentageBuffer: Number(quorumBuffer),
    });
    this.#stream = new EventStream(reply, clock, () => this.#progress.take().map(encodeShared));
    reply.request.eventStream = this.#stream;
  }

  readonly onProgress: ProgressListener = (event) => {
    this.#progress.add(event);
    this.#stream.wake();
  };

  end(result: AggregationResult): void {
    this.#stream.end(encodeShared({ event: 'result', data: presentSigned(result) }));
  }
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
