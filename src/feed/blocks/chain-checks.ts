import type { EvmBlock } from '../../pchain/codec/evm-block.ts';
import type { BlockchainID } from '../../warp/ids.ts';
import type { Checkpoint } from '../feed-message.ts';
import { ChainContradiction } from './block-reading.ts';
import type { BlockCalls } from './block-source.ts';

/** @throws {ChainContradiction} if the RPC answers for another chain */
export async function requireChain(calls: BlockCalls, chainID: BlockchainID, signal: AbortSignal): Promise<void> {
  const found = await calls.chainID(signal);
  if (found !== chainID) {
    throw new ChainContradiction(
      `its RPC answers for the chain ${found}; correct the RPC, or remove the chain from the feed`,
    );
  }
}

/** @throws {ChainContradiction} if the RPC has another block at this position. A node that is behind is no contradiction. */
export async function requirePosition(calls: BlockCalls, position: Checkpoint, signal: AbortSignal): Promise<void> {
  const block = await calls.block(position.blockNumber, signal);
  if (block !== undefined && block.hash !== position.blockHash) throw contradiction(position, block.hash);
}

export function contradiction({ blockNumber, blockHash }: Checkpoint, found: string): ChainContradiction {
  return new ChainContradiction(
    `its RPC has block ${blockNumber} with hash ${found}, and ${blockHash} was read before; correct the RPC, or, if the chain was begun ` +
      'anew, let the feed forget it: warp-signature-aggregator forget, or POST …/messages/{blockchainId}/forget',
  );
}

export function checkpointOf({ number, hash, timeMs }: EvmBlock): Checkpoint {
  return { blockNumber: number, blockHash: hash, blockTimeMs: timeMs };
}
