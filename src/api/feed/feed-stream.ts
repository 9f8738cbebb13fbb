import type { FastifyReply } from 'fastify';
import type { FeedMessage, MessageReader } from '../../feed/feed-message.ts';
import type { RequestContext } from '../../http/request/request-context.ts';
import { FEED_ACCESS } from '../../http/request/route-access.ts';
import { EventStream, encodeEvent, encodeEventText } from '../../http/server/event-stream.ts';
import { type Clock, repeat } from '../../lib/concurrency/clock.ts';
import type { Included } from '../aggregation/signed-message-record.ts';
import { type Cursor, encodeCursor } from './cursor.ts';
import { type FeedQuery, textOfQuery } from './feed-query.ts';
import { FeedReader } from './feed-reader.ts';
import { presentChain, presentEventMessage } from './feed-records.ts';

/** Time after its execution in which a pending message is not sent, since it is mostly signed by then. */
const DELAY_MS = 10_000;
const WATERMARK_EVERY_MS = 3_000;
const WATERMARKS_PER_MINUTE = 60_000 / WATERMARK_EVERY_MS;
/** Events that are written at once: the memory of a reader, besides one message. */
const WRITE_BYTES = 64 * 1024;
/** Messages of one turn of the event loop: each takes some 20 µs. */
const EXAMINED_AT_ONCE = 256;
/** A client that has not read the last events after this time is told so, and has the same time to read that. */
export const SLOW_AFTER_MS = 30_000;

export const CLOSE_REASONS = ['client', 'lagging', 'expired', 'error', 'shutdown', 'displaced'] as const;
export type CloseReason = (typeof CLOSE_REASONS)[number];

export interface FeedStreamOptions {
  readonly context: RequestContext;
  readonly clock: Clock;
  readonly store: MessageReader;
  readonly query: FeedQuery;
  readonly cursor: Cursor;
  readonly included: Included;
  readonly stopping: AbortSignal;
  /** Aborts when the stream has to end in favour of another client's. */
  readonly displaced: AbortSignal;
}

/**
 * Answers with the messages of a query as server-sent events, until the client disconnects. Nothing is queued for a client: messages are read
 * from the store when the socket has room.
 *
 * @returns the reason for the end; rejects with {@link ClientGone}, or an error of the store
 */
export async function streamFeed(reply: FastifyReply, options: FeedStreamOptions): Promise<CloseReason> {
  const { context, clock } = options;
  const startedMs = clock.monotonicMs();
  const stream = new FeedStream(reply, options);
  try {
    return await stream.ended;
  } finally {
    stream.close();
    // The time of a stream is no duration of an answer.
    context.addWait(clock.monotonicMs() - startedMs);
  }
}

class FeedStream {
  readonly #reply: FastifyReply;
  readonly #options: FeedStreamOptions;
  readonly #reader: FeedReader;
  readonly #stream: EventStream;
  readonly #query: string;
  readonly #ending = Promise.withResolvers<CloseReason>();
  readonly #over = new AbortController();
  #isWatermarkDue = true;
  #cancelDelayed: (() => void) | undefined;

  constructor(reply: FastifyReply, options: FeedStreamOptions) {
    const { context, clock, store, query, stopping, displaced } = options;
    this.#reply = reply;
    this.#options = options;
    this.#query = textOfQuery(query);
    this.#reader = new FeedReader({ ...options, delayMs: DELAY_MS });
    const slow = { afterMs: SLOW_AFTER_MS, act: () => this.#lag() };
    this.#stream = new EventStream(reply, clock, () => this.#take(), { slow });
    context.answerAsStream(this.#stream);
    const { signal } = this.#over;
    signal.addEventListener(
      'abort',
      store.onChange(() => this.#stream.wake()),
    );
    listen(context.signal, signal, () => this.#ending.reject(context.signal.reason));
    listen(stopping, signal, () => this.#end('shutdown', this.#watermarkEvent()));
    listen(displaced, signal, () => this.#end('displaced', this.#watermarkEvent()));
    let ticks = 0;
    repeat(clock, signal, async () => {
      this.#isWatermarkDue = true;
      this.#stream.wake();
      if (ticks > 0 && ticks % WATERMARKS_PER_MINUTE === 0) {
        await context.chargeAfterwards(FEED_ACCESS.stream.unitsPerMinute);
      }
      ticks += 1;
      return WATERMARK_EVERY_MS;
    }).catch(this.#ending.reject);
  }

  get ended(): Promise<CloseReason> {
    return this.#ending.promise;
  }

  close(): void {
    this.#over.abort();
    this.#cancelDelayed?.();
  }

  /** Takes the next events. An error of the store ends the stream. */
  #take(): string[] {
    if (this.#over.signal.aborted) return [];
    try {
      return this.#read();
    } catch (error) {
      this.#ending.reject(error);
      return [];
    }
  }

  #read(): string[] {
    const oldest = this.#reader.oldestIfExpired();
    if (oldest !== undefined) {
      // After this write.
      this.#options.clock.afterTurn(() => this.#end('expired', ''));
      return [this.#expiredEvent(oldest)];
    }
    const events: string[] = [];
    const { clock } = this.#options;
    const messages = this.#reader.read(clock.now(), EXAMINED_AT_ONCE);
    let length = 0;
    let isCaughtUp = false;
    while (length < WRITE_BYTES) {
      const next = messages.next();
      if (next.done === true) {
        isCaughtUp = next.value === 'caught up';
        break;
      }
      const text = textOf(next.value, clock.now(), this.#options.included);
      const event = encodeEventText('message', text, this.#cursorText());
      events.push(event);
      length += event.length;
    }
    if (isCaughtUp) {
      this.#awaitDelayed();
      if (this.#isWatermarkDue) events.push(this.#watermarkEvent());
    } else {
      // After this write: it may fill the socket.
      clock.afterTurn(() => this.#stream.wake());
    }
    return events;
  }

  #awaitDelayed(): void {
    this.#cancelDelayed?.();
    const { delayedUntilMs } = this.#reader;
    const { clock } = this.#options;
    if (!Number.isFinite(delayedUntilMs)) return;
    this.#cancelDelayed = clock.after(Math.max(0, delayedUntilMs - clock.now()), () => this.#stream.wake());
  }

  #watermarkEvent(): string {
    this.#isWatermarkDue = false;
    const data = { chains: this.#reader.caughtUp.map(presentChain) };
    return encodeEventText('watermark', encodeLines(data), this.#cursorText());
  }

  #expiredEvent(oldest: Cursor): string {
    const data = { message: EXPIRED_TEXT, oldestCursor: this.#cursorText(oldest) };
    return encodeEvent({ event: 'expired', data });
  }

  /** Ends the stream of a client that reads too slowly. It has some time to read the end. */
  #lag(): void {
    if (this.#over.signal.aborted) return;
    const { raw } = this.#reply;
    const message = `the client has not read its last events within ${SLOW_AFTER_MS / 1_000} s`;
    const cancel = this.#options.clock.after(SLOW_AFTER_MS, () => raw.destroy());
    raw.once('close', cancel);
    this.#end('lagging', encodeEvent({ event: 'lagging', data: { message }, id: this.#cursorText() }));
  }

  #end(reason: CloseReason, last: string): void {
    if (this.#over.signal.aborted) return;
    this.close();
    this.#stream.end(last);
    this.#ending.resolve(reason);
  }

  #cursorText(cursor: Cursor = this.#reader.cursor): string {
    return encodeCursor(cursor, this.#query);
  }
}

export const EXPIRED_TEXT =
  'messages after the cursor were removed, or never stored by a service that has restarted without store.path, or the cursor is of an earlier version';

/** Readers of the same messages share their JSON, without and with access lists. */
const texts = [new WeakMap<FeedMessage, string>(), new WeakMap<FeedMessage, string>()] as const;

function textOf(message: FeedMessage, nowMs: number, included: Included): string {
  const known = texts[included.accessList === true ? 1 : 0];
  let text = known.get(message);
  if (text === undefined) {
    text = encodeLines(presentEventMessage(message, nowMs, included));
    known.set(message, text);
  }
  return text;
}

/** Encodes JSON with a line for each field: lines of 64 KiB are more than Go's bufio.Scanner reads. */
function encodeLines(value: unknown): string {
  return JSON.stringify(value, undefined, 1);
}

/** Calls `act` when the signal aborts, unless `over` aborts before. */
function listen(signal: AbortSignal, over: AbortSignal, act: () => void): void {
  if (signal.aborted) act();
  else signal.addEventListener('abort', act, { once: true, signal: over });
}
