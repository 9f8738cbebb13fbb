import { SignatureAggregatorError } from './client-error.ts';
import type { StreamEvent } from './event-stream.ts';
import type { ExpiredEvent, FeedMessage, ListMessagesQuery, MessagePage } from './gen/api.ts';
import { type Caller, pause, queryOf, SilentStream } from './http-call.ts';
import { repetitionDelay } from './repetition.ts';
import { unsignedMessageOf } from './warp-messages.ts';

/** A message of a watched chain, and the cursor with which a later call goes on after it. */
export interface ReceivedMessage {
  readonly message: FeedMessage & { readonly unsignedMessage: string };
  readonly cursor: string;
}

export interface MessagesOptions extends Omit<ListMessagesQuery, 'limit'> {
  /** Ends the iteration. */
  readonly signal?: AbortSignal | undefined;
}

/** Pause before a stream that the service ended is opened again. */
const RESUMPTION_MS = 500;
const MAX_SILENT_STREAMS = 2;
/** Pause between pages, if no more messages are stored. */
const PAGE_EVERY_MS = 2_000;

/**
 * Iterates over the messages after a cursor, and then over each new one. A stream that ends or breaks off is resumed after the last event. After two
 * streams without an event it reads pages.
 *
 * @throws {SignatureAggregatorError} `cursor_expired` if messages after the cursor are no longer stored, or an error that no repetition helps
 */
export async function* receiveMessages(
  caller: Caller,
  path: string,
  { signal, ...query }: MessagesOptions,
): AsyncGenerator<ReceivedMessage> {
  let { after } = query;
  let silentStreams = 0;
  for (let failures = 0; signal?.aborted !== true; ) {
    let delayMs = RESUMPTION_MS;
    try {
      if (silentStreams < MAX_SILENT_STREAMS) {
        for await (const event of caller.events({ path: `${path}${queryOf({ ...query, after })}`, signal })) {
          failures = silentStreams = 0;
          after = event.id ?? after;
          if (event.event === 'expired') throw expired(event);
          if (event.event === 'message') yield { message: whole(event.data as FeedMessage), cursor: after ?? '' };
        }
      } else {
        // Before its last message a page has no cursor but the one that it began with.
        const limit = isCursor(after) ? undefined : 1;
        const call = { path: `${path}${queryOf({ ...query, after, limit })}`, signal };
        const { messages, nextCursor, hasMore } = await caller.json<MessagePage>(call);
        failures = 0;
        for (const [index, message] of messages.entries()) {
          if (signal?.aborted) return;
          yield { message: whole(message), cursor: index === messages.length - 1 ? nextCursor : (after ?? nextCursor) };
        }
        after = nextCursor;
        delayMs = hasMore ? 0 : PAGE_EVERY_MS;
      }
    } catch (error) {
      if (signal?.aborted) return;
      if (error instanceof SilentStream && ++silentStreams === MAX_SILENT_STREAMS) {
        caller.warn(
          'The feed is read by pages, since its streams bring nothing: a proxy holds them back, or fetch has no response.body.',
        );
      }
      const wait = repetitionDelay(error as SignatureAggregatorError, ++failures, Math.random());
      if (wait === undefined) throw error;
      delayMs = wait;
    }
    await pause(delayMs, signal).catch(() => undefined);
  }
}

/** Adds the unsigned message, which events of signed messages leave out. */
function whole(message: FeedMessage): ReceivedMessage['message'] {
  const { signedMessage = '', unsignedMessage = unsignedMessageOf(signedMessage) } = message;
  return { ...message, unsignedMessage };
}

function isCursor(after: string | undefined): boolean {
  return after !== undefined && after !== 'recent';
}

function expired({ data }: StreamEvent): SignatureAggregatorError {
  const { message, oldestCursor } = data as ExpiredEvent;
  return new SignatureAggregatorError(message, { code: 'cursor_expired', details: { oldestCursor } });
}
