import type { EvmBlock, LoggedMessage } from '../pchain/codec/evm-block.ts';
import { ApiError } from '../pchain/rpc/api-error.ts';
import type { EvmApi, EvmChainID } from '../pchain/rpc/evm-api.ts';
import type { BlockchainID } from '../warp/ids.ts';

/** Blocks of one chain. Methods reject with {@link ApiError}, or the signal's reason. Simulations replace it. */
export interface BlockSource {
  /** Returns the ID of the chain for which the RPC answers. */
  chainID(signal: AbortSignal): Promise<BlockchainID>;
  headBlock(signal: AbortSignal): Promise<number>;
  /** Returns undefined for a block that the node does not have yet. */
  block(number: number, signal: AbortSignal): Promise<EvmBlock | undefined>;
  /** Returns the messages of a block; undefined while the node has not executed it. */
  messagesOf(block: EvmBlock, signal: AbortSignal): Promise<readonly LoggedMessage[] | undefined>;
  /**
   * Returns the messages of blocks, the last one included; undefined while the node has not executed them.
   *
   * @param laterTx hash of a transaction in the last block or a later one
   */
  messagesIn(
    first: number,
    last: number,
    laterTx: string,
    signal: AbortSignal,
  ): Promise<readonly LoggedMessage[] | undefined>;
}

type BlockApi = Pick<
  EvmApi,
  'getBlockchainID' | 'getBlockNumber' | 'getBlock' | 'getBlockMessages' | 'getLoggedMessages'
>;

export function createBlockSource(evm: BlockApi, chain: EvmChainID, chainID: BlockchainID): BlockSource {
  return {
    chainID: (signal) => evm.getBlockchainID(chain, signal),
    headBlock: (signal) => evm.getBlockNumber(chain, signal),
    block: (number, signal) => evm.getBlock(chain, number, signal),
    async messagesOf(block, signal) {
      const lastTx = block.txHashes.at(-1);
      if (lastTx === undefined) return [];
      try {
        return await evm.getBlockMessages(chain, block, chainID, signal);
      } catch (error) {
        // The RPC does not serve receipts of blocks, or those of this block are too long.
        const isUnserved = error instanceof ApiError && ['method_refused', 'invalid_response'].includes(error.kind);
        if (!isUnserved) throw error;
        const range = { first: block.number, last: block.number, hash: block.hash };
        return await evm.getLoggedMessages(chain, range, lastTx, chainID, signal);
      }
    },
    messagesIn: (first, last, laterTx, signal) =>
      evm.getLoggedMessages(chain, { first, last }, laterTx, chainID, signal),
  };
}
