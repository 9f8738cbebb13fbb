import { encodeCursor, parseCursor, START } from '../../src/api/feed/cursor.ts';
import { type FeedQuery, textOfQuery } from '../../src/api/feed/feed-query.ts';
import { FeedReader } from '../../src/api/feed/feed-reader.ts';
import type { FeedMessage, MessagePosition, MessageReader, MessageStatus } from '../../src/feed/feed-message.ts';
import type { Clock } from '../../src/lib/concurrency/clock.ts';
import type { Draws } from './draws.ts';

export interface FeedClientOptions {
  readonly name: string;
  readonly query: FeedQuery;
  /** Reads one page after the other, rather than a stream. */
  readonly isPaged: boolean;
  readonly clock: Pick<Clock, 'now'>;
  readonly draws: Draws;
  readonly violate: (what: string) => void;
}

const DELAY_MS = 10_000;
const MAX_EXAMINED = 300;

export function keyOf({ chainID, blockNumber, logIndex }: MessagePosition): string {
  return `${chainID.slice(0, 6)} ${blockNumber}.${logIndex}`;
}

/** A client of the feed, which keeps its cursor as text, and judges the number of what it receives. */
export class FeedClient {
  readonly #options: FeedClientOptions;
  readonly #last = new Map<string, MessageStatus>();
  #cursors: string[] = [];
  #connection: { readonly store: MessageReader; readonly reader: FeedReader; readonly close: () => void } | undefined;
  #sinceResumption = new Set<string>();

  constructor(options: FeedClientOptions) {
    this.#options = options;
  }

  get options(): FeedClientOptions {
    return this.#options;
  }

  /** The status in which a message was received last. */
  statusOf(position: MessagePosition): MessageStatus | undefined {
    return this.#last.get(keyOf(position));
  }

  /** @param forgets how many of the last events it has not kept, as a client that crashed; infinity for one that begins anew */
  connect(store: MessageReader, forgets = 0): void {
    this.leave();
    if (!Number.isFinite(forgets)) this.#last.clear();
    this.#cursors = this.#cursors.slice(0, Math.max(0, this.#cursors.length - forgets));
    this.#sinceResumption = new Set();
    const reader = this.#resume(store);
    const close = store.onChange(() => {
      if (!this.#options.isPaged) this.read();
    });
    this.#connection = { store, reader, close };
  }

  leave(): void {
    this.#connection?.close();
    this.#connection = undefined;
  }

  /** Receives all that is there. */
  read(): void {
    if (this.#connection === undefined) return;
    const { store, reader } = this.#connection;
    for (let isCaughtUp = false; !isCaughtUp; ) {
      isCaughtUp = this.#take(this.#options.isPaged ? this.#resume(store) : reader) === 'caught up';
    }
  }

  #resume(store: MessageReader): FeedReader {
    const { query, isPaged } = this.#options;
    const last = this.#cursors.at(-1);
    const cursor = (last === undefined ? undefined : parseCursor(last, textOfQuery(query))) ?? START;
    return new FeedReader({ store, query, cursor, delayMs: isPaged ? 0 : DELAY_MS });
  }

  #take(reader: FeedReader): 'caught up' | 'more' {
    const { clock, draws, name, query, violate } = this.#options;
    if (reader.oldestIfExpired() !== undefined) violate(`the cursor of ${name} has expired`);
    const messages = reader.read(clock.now(), draws.int(1, MAX_EXAMINED));
    for (;;) {
      const next = messages.next();
      if (next.done !== true) this.#receive(next.value);
      this.#cursors = [...this.#cursors.slice(-2), encodeCursor(reader.cursor, textOfQuery(query))];
      if (next.done === true) return next.value;
    }
  }

  #receive(message: FeedMessage): void {
    const { name, isPaged, violate } = this.#options;
    const { outcome } = message;
    const key = keyOf(message);
    const event = `${key} ${outcome.status}`;
    // Each page is a resumption.
    if (this.#sinceResumption.has(event) && !isPaged) violate(`${name} received ${event} twice on one connection`);
    this.#sinceResumption.add(event);
    const before = this.#last.get(key);
    if (before === 'signed' && outcome.status !== 'signed') violate(`${name} received ${event} after it was signed`);
    this.#last.set(key, outcome.status);
  }
}
