import type { Static } from 'typebox';
import { bytesOf, type MessageReader } from '../../feed/feed-message.ts';
import { HttpError } from '../../http/errors/http-error.ts';
import { type Clock, nextTurn } from '../../lib/concurrency/clock.ts';
import type { Included } from '../aggregation/signed-message-record.ts';
import { type Cursor, encodeCursor } from './cursor.ts';
import { type FeedQuery, textOfQuery } from './feed-query.ts';
import { FeedReader } from './feed-reader.ts';
import { type FeedMessageRecord, type MessagePage, presentChain, presentFeedMessage } from './feed-records.ts';
import { EXPIRED_TEXT } from './feed-stream.ts';

/** Bytes of unsigned and signed messages after which a page ends. Their JSON has some six times as many. */
export const MAX_BYTES = 1024 * 1024;
/** Messages that a page looks at, most of which its query may not select. */
const MAX_EXAMINED = 2_000;
/** Messages of one turn of the event loop. */
export const EXAMINED_AT_ONCE = 200;

/** @throws {HttpError} `cursor_expired` */
export async function readPage(
  store: MessageReader,
  query: FeedQuery,
  cursor: Cursor,
  { limit, included }: { readonly limit: number; readonly included: Included },
  clock: Pick<Clock, 'now' | 'afterTurn'>,
): Promise<Static<typeof MessagePage>> {
  const reader = new FeedReader({ store, query, cursor });
  const text = textOfQuery(query);
  const messages: FeedMessageRecord[] = [];
  let bytes = 0;
  let hasMore = true;
  const isFull = (): boolean => messages.length >= limit || bytes >= MAX_BYTES;
  for (let examined = 0; examined < MAX_EXAMINED && hasMore && !isFull(); examined += EXAMINED_AT_ONCE) {
    if (examined > 0) await nextTurn(clock);
    const oldest = reader.oldestIfExpired();
    if (oldest !== undefined) {
      throw new HttpError('cursor_expired', EXPIRED_TEXT, { details: { oldestCursor: encodeCursor(oldest, text) } });
    }
    const found = reader.read(Number.POSITIVE_INFINITY, EXAMINED_AT_ONCE);
    while (!isFull()) {
      const next = found.next();
      if (next.done === true) {
        hasMore = next.value === 'more';
        break;
      }
      messages.push(presentFeedMessage(next.value, clock.now(), included));
      bytes += bytesOf(next.value);
    }
  }
  return {
    messages,
    nextCursor: encodeCursor(reader.cursor, text),
    hasMore,
    chains: reader.chains.map(presentChain),
  };
}
