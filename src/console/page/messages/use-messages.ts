import type { FeedMessageRecord, MessagePageBody } from '../../../api/feed/feed-records.ts';
import { useSession } from '../session.ts';
import { type Polled, usePolled } from '../ui/polled.tsx';

/** Messages of a page: as many as a table shows at once. */
const LISTED = 100;
const EVERY_MS = 3_000;

export interface MessageFilter {
  readonly status: string;
  readonly sourceBlockchainId: string;
  readonly sender: string;
  readonly destinationBlockchainId: string;
}

/** Stands for the cursor of the newest messages. */
export const RECENT = 'recent';

/** A page of messages, the newest first, as they are now. @param before {@link RECENT}, or `nextCursor` of the page before */
export function useMessages(filter: MessageFilter, before: string): Polled<MessagePageBody> {
  const { api, network } = useSession();
  return usePolled((signal) => api.messages(network, { ...filter, before, limit: LISTED }, signal), EVERY_MS, [
    network,
    before,
    JSON.stringify(filter),
  ]);
}

export function keyOf({ sourceBlockchainId, blockNumber, logIndex }: FeedMessageRecord): string {
  return `${sourceBlockchainId} ${blockNumber} ${logIndex}`;
}
