import { SignatureAggregatorError } from './client-error.ts';
import type { StreamEvent } from './event-stream.ts';
import type { ExpiredEvent, FeedMessage, ListMessagesQuery } from './gen/api.ts';
import { type Caller, pause, queryOf } from './http-call.ts';
import { repetitionDelay } from './repetition.ts';

/** A message of a watched chain, and the cursor with which a later call goes on after it. */
export interface ReceivedMessage {
  readonly message: FeedMessage;
  readonly cursor: string;
}

export interface MessagesOptions extends Omit<ListMessagesQuery, 'limit'> {
  /** Ends the iteration. */
  readonly signal?: AbortSignal | undefined;
}

/** Pause before a stream that the service ended is opened again. */
const RESUMPTION_MS = 500;

/**
 * Iterates over the messages after a cursor, and then over each new one. A stream that ends or breaks off is resumed after the last event.
 *
 * @throws {SignatureAggregatorError} `cursor_expired` if messages after the cursor are no longer stored, or an error that no repetition helps
 */
export async function* receiveMessages(
  caller: Caller,
  path: string,
  { signal, ...query }: MessagesOptions,
): AsyncGenerator<ReceivedMessage> {
  let { after } = query;
  for (let failures = 0; signal?.aborted !== true; ) {
    let delayMs = RESUMPTION_MS;
    try {
      for await (const event of caller.events({ path: `${path}${queryOf({ ...query, after })}`, signal })) {
        failures = 0;
        after = event.id ?? after;
        if (event.event === 'expired') throw expired(event);
        if (event.event === 'message') yield { message: event.data as FeedMessage, cursor: after ?? '' };
      }
    } catch (error) {
      if (signal?.aborted) return;
      const wait = repetitionDelay(error as SignatureAggregatorError, ++failures, Math.random());
      if (wait === undefined) throw error;
      delayMs = wait;
    }
    await pause(delayMs, signal).catch(() => undefined);
  }
}

function expired({ data }: StreamEvent): SignatureAggregatorError {
  const { message, oldestCursor } = data as ExpiredEvent;
  return new SignatureAggregatorError(message, { code: 'cursor_expired', details: { oldestCursor } });
}
