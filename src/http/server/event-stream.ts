import type { OutgoingHttpHeaders } from 'node:http';
import type { FastifyReply } from 'fastify';
import type { Clock } from '../../lib/concurrency/clock.ts';
import type { AnswerStream } from '../request/request-context.ts';
import type { DrainingServer } from './draining-server.ts';

export type EventBytes = string | Uint8Array;

/** Headers in addition to the common ones. They make proxies forward each event unchanged and without delay. */
const HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-store, no-transform',
  'x-accel-buffering': 'no',
};
/** Events within this time are sent together: each write costs some 30 µs. */
const GATHER_MS = 20;
/** Proxies close connections without data for 30 or 60 seconds. */
const HEARTBEAT_MS = 10_000;
const HEARTBEAT = ':\n\n';

export interface ServerSentEvent {
  readonly event: string;
  readonly data: unknown;
  /** Clients that connect again send it as Last-Event-ID. */
  readonly id?: string | undefined;
}

/** Encodes an event for `text/event-stream`. Compact JSON has no line breaks. */
export function encodeEvent({ event, data, id }: ServerSentEvent): string {
  return encodeEventText(event, JSON.stringify(data), id);
}

/** @param json the data, whose lines clients join again */
export function encodeEventText(event: string, json: string, id?: string): string {
  return `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${json.replaceAll('\n', '\ndata: ')}\n\n`;
}

export interface EventStreamOptions {
  /** Called once if the client has not read the last events after this time. */
  readonly slow?: { readonly afterMs: number; readonly act: () => void };
}

/**
 * A stream of events as an answer, begun with the first event. Nothing is queued for a client that reads slowly: events are taken from
 * their source when the socket has room, and the connection counts the bytes that the client has not read.
 */
export class EventStream implements AnswerStream {
  readonly #reply: FastifyReply;
  readonly #clock: Clock;
  readonly #take: () => readonly EventBytes[];
  #hasBegun = false;
  #isOver = false;
  /** The client has not read the last write. */
  #isFull = false;
  /** The source may have events. */
  #isDue = false;
  #writtenMs = Number.NEGATIVE_INFINITY;
  #cancelWrite: (() => void) | undefined;
  #cancelHeartbeat: (() => void) | undefined;
  #cancelSlow: (() => void) | undefined;
  readonly #slow: EventStreamOptions['slow'];

  /** @param take removes events from the source and returns them: all, or if it wakes the stream later, some */
  constructor(reply: FastifyReply, clock: Clock, take: () => readonly EventBytes[], { slow }: EventStreamOptions = {}) {
    this.#reply = reply;
    this.#clock = clock;
    this.#take = take;
    this.#slow = slow;
    reply.raw.once('close', () => this.stop());
    this.#awaitHeartbeat();
  }

  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  wake(): void {
    this.#isDue = true;
    if (this.#isOver || this.#isFull || this.#cancelWrite !== undefined) return;
    const waitMs = this.#writtenMs + GATHER_MS - this.#clock.monotonicMs();
    this.#cancelWrite = this.#clock.after(Math.max(0, waitMs), () => {
      this.#cancelWrite = undefined;
      this.#write();
    });
  }

  /** Sends the last event. Events that the client was too slow to receive before are left out. */
  end(last: EventBytes): void {
    if (this.#isOver) return;
    if (!this.#isFull) this.#write();
    this.#begin();
    this.stop();
    this.#reply.hijack();
    this.#reply.raw.end(last);
  }

  stop(): void {
    this.#isOver = true;
    this.#cancelWrite?.();
    this.#cancelHeartbeat?.();
    this.#cancelSlow?.();
  }

  #write(): void {
    this.#isDue = false;
    this.#send(this.#take());
  }

  #send(parts: readonly EventBytes[]): void {
    if (parts.length === 0) return;
    this.#begin();
    const { raw, request } = this.#reply;
    for (const part of parts) this.#isFull = !raw.write(part);
    this.#writtenMs = this.#clock.monotonicMs();
    this.#awaitHeartbeat();
    if (!this.#isFull || this.#isOver) return;
    const { afterMs, act } = this.#slow ?? {};
    if (afterMs !== undefined && act !== undefined) this.#cancelSlow = this.#clock.after(afterMs, act);
    raw.once('drain', () => {
      this.#cancelSlow?.();
      this.#isFull = false;
      if (this.#isDue) this.wake();
    });
    (request.server.server as DrainingServer).measure(request.raw.socket);
  }

  #begin(): void {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    this.#reply.raw.writeHead(200, this.#reply.headers(HEADERS).getHeaders() as OutgoingHttpHeaders);
  }

  #awaitHeartbeat(): void {
    this.#cancelHeartbeat?.();
    this.#cancelHeartbeat = this.#clock.after(HEARTBEAT_MS, () => {
      if (this.#isFull) this.#awaitHeartbeat();
      else this.#send([HEARTBEAT]);
    });
  }
}
