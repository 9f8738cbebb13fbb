import type { OutgoingHttpHeaders } from 'node:http';
import type { FastifyReply } from 'fastify';
import type { Clock } from '../../lib/concurrency/clock.ts';
import type { DrainingServer } from './draining-server.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Where the answer is to be a stream of events. */
    eventStream: EventStream | undefined;
  }
}

/** A part of the stream: whole events. */
export type EventBytes = string | Uint8Array;

/** Beside those that every answer has. Proxies are told to pass on each event at once, and as it is. */
const HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-store, no-transform',
  'x-accel-buffering': 'no',
};
/** What happens within this time is sent together: an eye sees no more, and each write costs some 30 µs. */
const GATHER_MS = 20;
/** Proxies give up connections over which nothing has come for 30 or 60 seconds. */
const HEARTBEAT_MS = 10_000;
/** A comment, which clients skip. */
const HEARTBEAT = ':\n\n';

/** One event, in the form of `text/event-stream`. JSON has no line breaks outside texts, and escapes those inside. */
export function encodeEvent({ event, data }: { readonly event: string; readonly data: unknown }): string {
  return `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}

/**
 * An answer that is a stream of events, begun with the first of them. Nothing is queued for a client that reads slowly: what there is
 * to send is asked for when there is room. So it holds what it has asked for once, which the connection counts among its unread bytes.
 */
export class EventStream {
  readonly #reply: FastifyReply;
  readonly #clock: Clock;
  readonly #take: () => readonly EventBytes[];
  #hasBegun = false;
  #isOver = false;
  /** The client has not taken what was written last. */
  #isFull = false;
  /** There may be something to take. */
  #isDue = false;
  #writtenMs = Number.NEGATIVE_INFINITY;
  #cancelWrite: (() => void) | undefined;
  #cancelHeartbeat: (() => void) | undefined;

  /** @param take all that is to be sent now, to be forgotten by whoever gives it */
  constructor(reply: FastifyReply, clock: Clock, take: () => readonly EventBytes[]) {
    this.#reply = reply;
    this.#clock = clock;
    this.#take = take;
    reply.raw.once('close', () => this.stop());
    this.#awaitHeartbeat();
  }

  /** Whether it is too late for any other answer. */
  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /** There is something to take. */
  wake(): void {
    this.#isDue = true;
    if (this.#isOver || this.#isFull || this.#cancelWrite !== undefined) return;
    const waitMs = this.#writtenMs + GATHER_MS - this.#clock.monotonicMs();
    this.#cancelWrite = this.#clock.after(Math.max(0, waitMs), () => {
      this.#cancelWrite = undefined;
      this.#write();
    });
  }

  /** The last event. Where the client has not read what was there before, what has happened since is left out. */
  end(last: EventBytes): void {
    if (this.#isOver) return;
    if (!this.#isFull) this.#write();
    this.#begin();
    this.stop();
    // The routes' own sending is over.
    this.#reply.hijack();
    this.#reply.raw.end(last);
  }

  /** Sends nothing more, and begins nothing. */
  stop(): void {
    this.#isOver = true;
    this.#cancelWrite?.();
    this.#cancelHeartbeat?.();
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
    if (!this.#isFull) return;
    raw.once('drain', () => {
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
