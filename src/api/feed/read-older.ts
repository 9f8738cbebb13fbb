import type { Static } from 'typebox';
import { type BlockPosition, bytesOf, type MessageReader } from '../../feed/feed-message.ts';
import { type Clock, nextTurn } from '../../lib/concurrency/clock.ts';
import type { BlockchainID } from '../../warp/ids.ts';
import type { Included } from '../aggregation/signed-message-record.ts';
import { encodeBefore, type FeedQuery } from './feed-query.ts';
import { type FeedMessageRecord, type MessagePage, presentChain, presentFeedMessage } from './feed-records.ts';
import { EXAMINED_AT_ONCE, MAX_BYTES } from './read-page.ts';

/**
 * Reads backwards, the newest first.
 *
 * @param before the position before which each chain is read
 */
export async function readOlder(
  store: MessageReader,
  query: FeedQuery,
  before: ReadonlyMap<BlockchainID, BlockPosition>,
  { limit, included }: { readonly limit: number; readonly included: Included },
  clock: Pick<Clock, 'now' | 'afterTurn'>,
): Promise<Static<typeof MessagePage>> {
  const positions = new Map(before);
  const messages: FeedMessageRecord[] = [];
  let bytes = 0;
  let hasMore = true;
  const isFull = (): boolean => messages.length >= limit || bytes >= MAX_BYTES;
  while (hasMore && !isFull()) {
    if (messages.length > 0) await nextTurn(clock);
    const wanted = Math.min(EXAMINED_AT_ONCE, limit - messages.length);
    const found = store.page({ ...query, after: positions, order: 'newest_first', limit: wanted });
    hasMore = found.length === wanted;
    for (const message of found) {
      if (isFull()) {
        hasMore = true;
        break;
      }
      messages.push(presentFeedMessage(message, clock.now(), included));
      bytes += bytesOf(message);
      positions.set(message.chainID, message);
    }
  }
  const chains = store.progress().filter(({ chainID }) => before.has(chainID));
  return { messages, nextCursor: encodeBefore(positions, query), hasMore, chains: chains.map(presentChain) };
}
