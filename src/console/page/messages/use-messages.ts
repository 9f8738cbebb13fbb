import { useRef } from 'preact/hooks';
import type { FeedMessageRecord, MessagePageBody } from '../../../api/feed/feed-records.ts';
import { failureOf } from '../console-api.ts';
import { useSession } from '../session.ts';
import { type Polled, usePolled } from '../ui/polled.tsx';

/** The newest messages are listed; older ones have left the list. */
const LISTED = 200;
const EVERY_MS = 2_000;

export interface MessageFilter {
  readonly status: string;
  readonly sourceBlockchainId: string;
  readonly sender: string;
  readonly destinationBlockchainId: string;
}

export interface MessageList {
  /** The newest first. */
  readonly messages: readonly FeedMessageRecord[];
  readonly chains: MessagePageBody['chains'];
}

/** Reads the last messages, and then goes on by the cursor. */
export function useMessages(filter: MessageFilter): Polled<MessageList> {
  const { api, network } = useSession();
  const key = JSON.stringify([network, filter]);
  const read = useRef({ key, cursor: RECENT, found: new Map<string, FeedMessageRecord>() });
  if (read.current.key !== key) read.current = { key, cursor: RECENT, found: new Map() };

  return usePolled(
    async (signal) => {
      const state = read.current;
      try {
        const page = await api.messages(network, { ...filter, after: state.cursor, limit: LISTED }, signal);
        state.cursor = page.nextCursor;
        state.found = new Map(newestOf(state.found, page.messages).map((message) => [keyOf(message), message]));
        return { messages: [...state.found.values()], chains: page.chains };
      } catch (error) {
        if (failureOf(error).code === 'cursor_expired') state.cursor = RECENT;
        throw error;
      }
    },
    EVERY_MS,
    [key],
  );
}

const RECENT = 'recent';

/** Merges new records into those that are listed. A message comes again when its status has changed. */
function newestOf(
  listed: ReadonlyMap<string, FeedMessageRecord>,
  messages: readonly FeedMessageRecord[],
): readonly FeedMessageRecord[] {
  const merged = new Map([...listed, ...messages.map((message) => [keyOf(message), message] as const)]);
  return [...merged.values()]
    .toSorted((a, b) => b.blockTime - a.blockTime || b.blockNumber - a.blockNumber || b.logIndex - a.logIndex)
    .slice(0, LISTED);
}

export function keyOf({ sourceBlockchainId, blockNumber, logIndex }: FeedMessageRecord): string {
  return `${sourceBlockchainId} ${blockNumber} ${logIndex}`;
}
