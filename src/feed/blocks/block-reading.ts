import type { EvmBlock, LoggedMessage } from '../../pchain/codec/evm-block.ts';
import { ApiError } from '../../pchain/rpc/api-error.ts';
import type { BlockCalls } from './block-source.ts';

/** Consecutive blocks that were read completely. */
export interface ReadBlocks {
  readonly firstBlock: number;
  readonly last: EvmBlock;
  readonly messages: readonly MessageInBlock[];
}

export interface MessageInBlock {
  readonly logged: LoggedMessage;
  readonly block: EvmBlock;
}

/** Blocks that are read at a time. */
export const CONCURRENT_BLOCKS = 8;

/** Blocks in a row without transactions that are looked at for the end of a range. */
const MAX_EMPTY_BLOCKS = 16;

/** The node does not have a block, or its receipts, and may have them later. */
export class NotYet extends Error {
  override readonly name = 'NotYet';
  /** The block that the node does not have; infinity if it has the block, and not what belongs to it. */
  readonly missingBlock: number;

  constructor(message: string, missingBlock = Number.POSITIVE_INFINITY) {
    super(message);
    this.missingBlock = missingBlock;
  }
}

/** The RPC answers for another chain, or contradicts what was read: going on could skip messages. */
export class ChainContradiction extends Error {
  override readonly name = 'ChainContradiction';
}

/**
 * Reads each block by its number, and its messages by its hash, some blocks at a time. Yields the blocks in order, and throws after those that
 * were read before the first failure.
 *
 * @throws {NotYet}, or what the calls throw
 */
export async function* readByHash(
  calls: BlockCalls,
  firstBlock: number,
  lastBlock: number,
  signal: AbortSignal,
): AsyncGenerator<ReadBlocks> {
  for (let first = firstBlock; first <= lastBlock; first += CONCURRENT_BLOCKS) {
    const count = Math.min(CONCURRENT_BLOCKS, lastBlock - first + 1);
    const reads = Array.from({ length: count }, (_, index) => readBlock(calls, first + index, signal));
    for (const read of await Promise.allSettled(reads)) {
      if (read.status === 'rejected') throw read.reason;
      yield read.value;
    }
  }
}

async function readBlock(calls: BlockCalls, number: number, signal: AbortSignal): Promise<ReadBlocks> {
  const block = await requireBlock(calls, number, signal);
  const messages = await calls.messagesOf(block, signal);
  if (messages === undefined) throw new NotYet(`its node does not have the receipts of block ${number} yet`);
  return { firstBlock: number, last: block, messages: messages.map((logged) => ({ logged, block })) };
}

/**
 * Returns the first block from here on that has transactions: the receipt of one shows that the node has executed all blocks up to it.
 * Undefined if there are many blocks without, or none up to the highest one.
 */
export async function findRangeEnd(
  calls: BlockCalls,
  number: number,
  highest: number,
  signal: AbortSignal,
): Promise<EvmBlock | undefined> {
  for (let tried = number; tried <= Math.min(highest, number + MAX_EMPTY_BLOCKS - 1); tried += 1) {
    const block = await requireBlock(calls, tried, signal);
    if (block.txHashes.length > 0) return block;
  }
  return undefined;
}

/** Returns the last of some blocks that has transactions, and the last one if none has. */
export async function findLastWithTransactions(
  calls: BlockCalls,
  first: number,
  last: number,
  signal: AbortSignal,
): Promise<EvmBlock> {
  const highest = await requireBlock(calls, last, signal);
  let block = highest;
  for (let tried = last - 1; tried >= first && block.txHashes.length === 0; tried -= 1) {
    block = await requireBlock(calls, tried, signal);
  }
  return block.txHashes.length === 0 ? highest : block;
}

/**
 * Reads the logs of a range, and the blocks of its messages for their times. Yields parts of the range in order, and throws after those that
 * were read before the first failure.
 *
 * @param last a block with transactions, see {@link findRangeEnd}
 * @param isWanted the other messages are left out, and their blocks are not read
 * @throws {NotYet}, or what the calls throw
 */
export async function* readByLogs(
  calls: BlockCalls,
  firstBlock: number,
  last: EvmBlock,
  isWanted: (logged: LoggedMessage) => boolean,
  signal: AbortSignal,
): AsyncGenerator<ReadBlocks> {
  const lastBlock = last.number;
  const logs = await calls.logsIn(firstBlock, last, signal);
  if (logs === undefined) throw new NotYet(`its node has not executed block ${lastBlock}`);
  const wanted = logs.filter(isWanted);
  const numbers = [...new Set(wanted.map(({ blockNumber }) => blockNumber))];
  let first = firstBlock;
  while (numbers.length > 0) {
    const group = numbers.splice(0, CONCURRENT_BLOCKS);
    const reads = group.map(async (number) => (number === lastBlock ? last : requireBlock(calls, number, signal)));
    for (const read of await Promise.allSettled(reads)) {
      if (read.status === 'rejected') throw read.reason;
      const block = read.value;
      const found = wanted.filter(({ blockNumber }) => blockNumber === block.number);
      requireHash(block, found);
      yield { firstBlock: first, last: block, messages: found.map((logged) => ({ logged, block })) };
      first = block.number + 1;
    }
  }
  if (first <= lastBlock) yield { firstBlock: first, last, messages: [] };
}

/** @throws {ApiError} if logs have another hash than their block: the endpoint may stand for several nodes */
function requireHash({ number, hash }: EvmBlock, logs: readonly LoggedMessage[]): void {
  const other = logs.find(({ blockHash }) => blockHash !== hash);
  if (other === undefined) return;
  throw new ApiError('invalid_response', `its RPC has two hashes for block ${number}: ${hash} and ${other.blockHash}`);
}

async function requireBlock(calls: BlockCalls, number: number, signal: AbortSignal): Promise<EvmBlock> {
  const block = await calls.block(number, signal);
  if (block === undefined) throw new NotYet(`its node does not have block ${number} yet`, number);
  return block;
}
