import type { Clock } from '../../lib/concurrency/clock.ts';
import { DeadlineExceeded, startDeadline } from '../../lib/concurrency/deadline.ts';
import type { EvmBlock, LoggedMessage } from '../../pchain/codec/evm-block.ts';
import { ApiError } from '../../pchain/rpc/api-error.ts';
import type { EvmApi, EvmChainID } from '../../pchain/rpc/evm-api.ts';
import type { BlockchainID } from '../../warp/ids.ts';

/** Blocks of one chain at one endpoint. Methods reject with {@link ApiError}, or the signal's reason. Simulations replace it. */
export interface BlockSource {
  /** Returns the ID of the chain for which the RPC answers. */
  chainID(signal: AbortSignal): Promise<BlockchainID>;
  headBlock(signal: AbortSignal): Promise<number>;
  /** Returns undefined for a block that the node does not have. */
  block(number: number, signal: AbortSignal): Promise<EvmBlock | undefined>;
  /** Returns the messages in the receipts of a block; undefined while the node has not all of them. */
  receiptsOf(block: EvmBlock, signal: AbortSignal): Promise<readonly LoggedMessage[] | undefined>;
  /** Returns the messages in the logs of a block; undefined while the node has not executed it. */
  logsOf(block: EvmBlock, signal: AbortSignal): Promise<readonly LoggedMessage[] | undefined>;
  /** Returns the messages in the logs of a range of blocks, the last of which has transactions; undefined while the node has not executed it. */
  logsIn(first: number, last: EvmBlock, signal: AbortSignal): Promise<readonly LoggedMessage[] | undefined>;
}

type BlockApi = Pick<
  EvmApi,
  'getBlockchainID' | 'getBlockNumber' | 'getBlock' | 'getBlockMessages' | 'getLoggedMessages'
>;

/** For one call. A range has none: it may take as many calls as it has messages. */
const CALL_MS = 4_000;
/** Time in which logs are read in place of receipts that were not served. */
const UNSERVED_MS = 60_000;

export function createBlockSource(evm: BlockApi, chain: EvmChainID, chainID: BlockchainID): BlockSource {
  return {
    chainID: (signal) => evm.getBlockchainID(chain, signal),
    headBlock: (signal) => evm.getBlockNumber(chain, signal),
    block: (number, signal) => evm.getBlock(chain, number, signal),
    receiptsOf: async (block, signal) =>
      block.txHashes.length === 0 ? [] : await evm.getBlockMessages(chain, block, chainID, signal),
    async logsOf(block, signal) {
      const { number, hash } = block;
      const lastTx = block.txHashes.at(-1);
      const range = { first: number, last: number, hash };
      return lastTx === undefined ? [] : await evm.getLoggedMessages(chain, range, lastTx, chainID, signal);
    },
    async logsIn(first, { number, txHashes: [tx] }, signal) {
      if (tx === undefined) throw new RangeError(`block ${number} has no transaction, and ends no range`);
      return await evm.getLoggedMessages(chain, { first, last: number }, tx, chainID, signal);
    },
  };
}

/** The calls of a source, each with a deadline. */
export interface BlockCalls extends Omit<BlockSource, 'receiptsOf' | 'logsOf'> {
  /** Returns the messages of a block; undefined while the node does not have them. */
  messagesOf(block: EvmBlock, signal: AbortSignal): Promise<readonly LoggedMessage[] | undefined>;
}

export function createBlockCalls(source: BlockSource, clock: Clock): BlockCalls {
  /** Monotonic: receipts are not asked for before, because the endpoint did not serve them. */
  let receiptsFromMs = Number.NEGATIVE_INFINITY;

  async function within<Answer>(
    what: string,
    parent: AbortSignal,
    call: (signal: AbortSignal) => Promise<Answer>,
  ): Promise<Answer> {
    using deadline = startDeadline(clock, CALL_MS, what, parent);
    return await call(deadline.signal);
  }

  async function messagesOf(block: EvmBlock, parent: AbortSignal) {
    const { number } = block;
    const receipts = () =>
      within(`reading the receipts of block ${number}`, parent, (signal) => source.receiptsOf(block, signal));
    const logs = () => within(`reading the logs of block ${number}`, parent, (signal) => source.logsOf(block, signal));
    if (clock.monotonicMs() < receiptsFromMs) return await logs();
    try {
      return await receipts();
    } catch (error) {
      parent.throwIfAborted();
      if (!(error instanceof ApiError) && !(error instanceof DeadlineExceeded)) throw error;
      // The RPC does not serve receipts of blocks, or those of this block are too long.
      const found = await logs();
      receiptsFromMs = clock.monotonicMs() + UNSERVED_MS;
      return found;
    }
  }

  return {
    chainID: (parent) => within('reading the ID of the chain', parent, (signal) => source.chainID(signal)),
    headBlock: (parent) => within('reading the head', parent, (signal) => source.headBlock(signal)),
    block: (number, parent) => within(`reading block ${number}`, parent, (signal) => source.block(number, signal)),
    logsIn: (first, last, parent) =>
      within(`reading the logs of blocks ${first} to ${last.number}`, parent, (signal) =>
        source.logsIn(first, last, signal),
      ),
    messagesOf,
  };
}
