import type { AggregationResult } from '../../../src/aggregation/request/aggregation-request.ts';
import type { Checkpoint, EmittedMessage } from '../../../src/feed/feed-message.ts';
import type { BlockBatch } from '../../../src/feed/message-store.ts';
import { prefixedHex } from '../../../src/lib/encoding/bytes.ts';
import { type BlockchainID, idFromBytes, PRIMARY_NETWORK_ID } from '../../../src/warp/ids.ts';
import { encodeWarpPayload } from '../../../src/warp/payload.ts';
import { createUnsignedMessage } from '../../../src/warp/unsigned-message.ts';

export function chainNumbered(number: number): BlockchainID {
  return idFromBytes<BlockchainID>(new Uint8Array(32).fill(number), 'chain');
}

export const CHAIN = chainNumbered(1);
export const OTHER_CHAIN = chainNumbered(2);
/** Seconds between blocks. */
const BLOCK_MS = 1_000;

export function senderNumbered(number: number): string {
  return prefixedHex(new Uint8Array(20).fill(number));
}

function hashOf(kind: number, number: number): string {
  return `0x${String(kind).padStart(8, '0')}${String(number).padStart(56, '0')}`;
}

export function checkpoint(blockNumber: number): Checkpoint {
  return { blockNumber, blockHash: hashOf(1, blockNumber), blockTimeMs: blockNumber * BLOCK_MS };
}

/** A message whose payload follows from its position. */
export function emitted(blockNumber: number, logIndex: number, changes: Partial<EmittedMessage> = {}): EmittedMessage {
  const { chainID = CHAIN } = changes;
  const payload = encodeWarpPayload({
    kind: 'AddressedCall',
    sourceAddress: new Uint8Array(20).fill(1),
    payload: Buffer.from(`${blockNumber} ${logIndex}`),
  });
  const { blockHash, blockTimeMs } = checkpoint(blockNumber);
  return {
    chainID,
    blockNumber,
    logIndex,
    message: createUnsignedMessage(1, chainID, payload),
    sender: senderNumbered(1),
    destinationChainID: undefined,
    blockHash,
    txHash: hashOf(2, blockNumber),
    blockTimeMs,
    executedMs: blockTimeMs,
    ...changes,
  };
}

/** One block, or the blocks from `firstBlock` to that of the last message. */
export function blocks(firstBlock: number, lastBlock: number, messages: readonly EmittedMessage[] = []): BlockBatch {
  return { firstBlock, checkpoint: checkpoint(lastBlock), messages };
}

/** What an aggregator returns for any message. */
export const SIGNED_RESULT: AggregationResult = {
  signedMessage: Uint8Array.of(1),
  signingSubnetID: PRIMARY_NETWORK_ID,
  pChainHeight: 5n,
  signedWeight: 67n,
  totalWeight: 100n,
  signers: [],
  weights: {} as AggregationResult['weights'],
};
