import { NotYet } from '../blocks/block-reading.ts';
import type { BlockCalls } from '../blocks/block-source.ts';
import { checkpointOf, requireChain } from '../blocks/chain-checks.ts';
import type { Checkpoint } from '../feed-message.ts';
import type { ChainReaderOptions } from './chain-reader-options.ts';

interface Start {
  /** The last block that was read. */
  readonly position: Checkpoint;
  /** Whether it was not stored before. */
  readonly isNew: boolean;
}

/**
 * Returns a function that finds where to read on: at the stored position, or at the first block of the settings if the chain was never watched,
 * or that block is a later one.
 */
export function openStart({ chainID, store, fromBlock, logger }: ChainReaderOptions) {
  return async (calls: BlockCalls, head: number, signal: AbortSignal): Promise<Start> => {
    const stored = store.checkpoint(chainID);
    if (stored !== undefined && (fromBlock ?? 0) - 1 <= stored.blockNumber) return { position: stored, isNew: false };
    const first = fromBlock ?? head;
    const number = Math.max(0, first - 1);
    const block = await calls.block(number, signal);
    if (block === undefined) {
      throw new NotYet(`its node is at block ${head}, and does not have block ${number} yet`, number);
    }
    await requireChain(calls, chainID, signal);
    const position = checkpointOf(block);
    if (stored === undefined) {
      store.addChain(chainID, position);
      logger.info({ chainId: chainID, afterBlock: number }, 'the feed watches a chain');
    } else {
      store.moveChain(chainID, position);
      const skipped = { fromBlock: stored.blockNumber + 1, toBlock: number };
      logger.warn({ chainId: chainID, ...skipped }, 'the feed leaves out blocks, because fromBlock is a later one');
    }
    return { position, isNew: true };
  };
}
