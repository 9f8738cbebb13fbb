import type { MessageInBlock } from '../blocks/block-reading.ts';
import type { EmittedMessage } from '../feed-message.ts';
import { withDestination } from '../message-filter.ts';
import type { ChainReaderOptions } from './chain-reader-options.ts';

/** Messages of older blocks were executed long before they were read. */
const RECENT_MS = 60_000;

/** Returns the wanted messages of blocks that are read now. */
export function emittedFrom(
  messages: readonly MessageInBlock[],
  { chainID, clock, accepts }: Pick<ChainReaderOptions, 'chainID' | 'clock' | 'accepts'>,
): EmittedMessage[] {
  const nowMs = clock.now();
  return messages
    .map(({ logged, block: { timeMs } }) => {
      const executedMs = nowMs - timeMs < RECENT_MS ? nowMs : timeMs;
      return { ...withDestination(logged), chainID, blockTimeMs: timeMs, executedMs };
    })
    .filter(accepts);
}
