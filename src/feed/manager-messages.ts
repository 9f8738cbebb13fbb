import type { ManagerMessage } from '../aggregation/subnets/validation-view.ts';
import type { ManagerMessages, ValidatorManager } from '../aggregation/subnets/validation-views.ts';
import { type Clock, nextTurn } from '../lib/concurrency/clock.ts';
import { prefixedHex } from '../lib/encoding/bytes.ts';
import type { Feed } from './feed.ts';
import { type BlockPosition, LAST_LOG_INDEX } from './feed-message.ts';

/** Messages of one turn of the event loop, and of one search. A manager sends a few for each of its validators. */
const PAGE_SIZE = 200;
const MAX_MESSAGES = 2_000;

/** Reads messages of validator managers from the feed's store. */
export function createManagerMessages(feed: Pick<Feed, 'messages'>, clock: Pick<Clock, 'afterTurn'>): ManagerMessages {
  const chains = () => feed.messages?.progress().map(({ chainID }) => chainID) ?? [];
  const sentBy: ManagerMessages['sentBy'] = async ({ chainID, address }: ValidatorManager) => {
    const { messages } = feed;
    if (messages === undefined || !chains().includes(chainID)) {
      return {
        whyUnknown: `the feed does not watch blockchain ${chainID} of the validator manager: give the transaction as txHash`,
      };
    }
    const found: ManagerMessage[] = [];
    let position: BlockPosition = { blockNumber: -1, logIndex: LAST_LOG_INDEX };
    while (found.length < MAX_MESSAGES) {
      const page = messages.page({
        after: new Map([[chainID, position]]),
        sender: prefixedHex(address),
        limit: PAGE_SIZE,
      });
      found.push(...page.map(({ message, txHash, logIndex }) => ({ message, txHash, logIndex })));
      const last = page.at(-1);
      if (last === undefined || page.length < PAGE_SIZE) return found;
      position = last;
      await nextTurn(clock);
    }
    return {
      whyUnknown: `the feed has more than ${MAX_MESSAGES} messages of the validator manager: give the transaction as txHash`,
    };
  };
  return { chains, sentBy };
}
