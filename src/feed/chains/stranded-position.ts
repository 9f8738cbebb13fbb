import { ChainContradiction, NotYet } from '../blocks/block-reading.ts';
import type { BlockCalls } from '../blocks/block-source.ts';
import { checkpointOf, requireChain } from '../blocks/chain-checks.ts';
import type { ChainReaderOptions } from './chain-reader-options.ts';

/** Time after which a position is given up that no endpoint can continue. */
const GIVE_UP_MS = 300_000;

/** The node is behind the position. */
export class Stranded extends NotYet {}

/**
 * Creates the state that gives up a position that cannot be continued for some minutes, because the endpoints are behind it or have other blocks:
 * an RPC has lied, or was begun anew. The feed goes back to the confirmed position, if they have that.
 */
export function createStrandedPosition({ chainID, store, clock, logger, fromBlock }: ChainReaderOptions) {
  let sinceMs: number | undefined;

  return {
    clear(): void {
      sinceMs = undefined;
    },
    /** Returns whether the position was given up. @param head of the endpoint, if it is known */
    async giveUp(error: unknown, calls: BlockCalls, head: number | undefined, signal: AbortSignal): Promise<boolean> {
      const position = store.checkpoint(chainID);
      const isStranded = error instanceof Stranded || error instanceof ChainContradiction;
      if (!isStranded || position === undefined) return false;
      sinceMs ??= clock.monotonicMs();
      if (clock.monotonicMs() - sinceMs < GIVE_UP_MS) return false;
      const { blockNumber, blockHash } = store.confirmed(chainID) ?? position;
      await requireChain(calls, chainID, signal);
      // A start that was not confirmed may be as wrong: the chain is begun anew.
      const number = blockHash === undefined ? Math.max(0, (fromBlock ?? head ?? 0) - 1) : blockNumber;
      const block = await calls.block(number, signal);
      if (number >= position.blockNumber || block === undefined || block.hash !== (blockHash ?? block.hash))
        return false;
      store.moveChain(chainID, checkpointOf(block));
      sinceMs = undefined;
      logger.warn(
        { chainId: chainID, fromBlock: position.blockNumber, toBlock: number, reason: error.message },
        'the feed goes back to the confirmed block, because its RPC does not have the later ones',
      );
      return true;
    },
  };
}
