import { ParseError } from '../../lib/encoding/parse-error.ts';
import type { BlockchainID } from '../../warp/ids.ts';
import { parseWarpLog, readQuantity, type SentMessage } from './evm-receipt.ts';
import { type JsonObject, readArray, readHex, readObject, readString } from './json-fields.ts';
import { mayMissWarpLogs } from './logs-bloom.ts';

/** The part of an EVM block that tells where it is and whether its receipts are complete. Hashes are `0x` and 64 digits in lower case. */
export interface EvmBlock {
  readonly number: number;
  readonly hash: string;
  readonly parentHash: string;
  /** Unix milliseconds. */
  readonly timeMs: number;
  readonly txHashes: readonly string[];
}

/** A Warp message with the place of its log. */
export interface LoggedMessage extends SentMessage {
  /** Address that called the precompile: `0x` and 40 digits in lower case. */
  readonly sender: string;
  readonly txHash: string;
  readonly blockHash: string;
  readonly blockNumber: number;
}

/** Of a block: its hashes of transactions. */
export const BLOCK_RESPONSE_BYTES = 4 * 1024 * 1024;
/** Of the receipts of a block, which may have thousands of transactions. */
export const RECEIPTS_RESPONSE_BYTES = 32 * 1024 * 1024;
/** A chain with a block in each millisecond has fewer for 8,000 years. */
export const MAX_BLOCK_NUMBER = 2 ** 48 - 1;
/** The end of the year 9999, the last that dates in ISO 8601 have. */
const MAX_SECONDS = 253_402_300_799;

/** Blocks that were asked for, the last one included, and the hash if it is one block. */
export interface BlockRange {
  readonly first: number;
  readonly last: number;
  readonly hash?: string;
}

/** Parses an untrusted block without its transactions; undefined for one that the node does not have. @throws {ParseError} */
export function parseEvmBlock(result: unknown): EvmBlock | undefined {
  if (result === null) return undefined;
  const block = readObject(result, 'block');
  const txHashes = readArray(block.transactions, 'transactions').map((hash) => readHash(hash, 'transaction'));
  if (new Set(txHashes).size < txHashes.length) throw new ParseError('transactions', 'have the same hash twice');
  return {
    number: readQuantity(block.number, 'number', MAX_BLOCK_NUMBER),
    hash: readHash(block.hash, 'hash'),
    parentHash: readHash(block.parentHash, 'parentHash'),
    timeMs: readTimeMs(block),
    txHashes,
  };
}

/** ACP-226 adds milliseconds to the blocks of newer chains. */
function readTimeMs({ timestamp, timestampMilliseconds }: JsonObject): number {
  const seconds = readQuantity(timestamp, 'timestamp', MAX_SECONDS);
  if (typeof timestampMilliseconds !== 'string') return 1_000 * seconds;
  const timeMs = readQuantity(timestampMilliseconds, 'timestampMilliseconds', 1_000 * MAX_SECONDS + 999);
  if (Math.floor(timeMs / 1_000) !== seconds) {
    throw new ParseError('timestampMilliseconds', 'must be in the second of timestamp');
  }
  return timeMs;
}

/**
 * Parses an untrusted result of `eth_getBlockReceipts`; undefined if the block is not executed yet, and so has no or too few receipts, or if
 * receipts do not have all of their logs yet.
 *
 * @throws {ParseError} if receipts are those of another block
 */
export function parseBlockReceipts(
  result: unknown,
  block: EvmBlock,
  chainID: BlockchainID,
): readonly LoggedMessage[] | undefined {
  if (result === null) return undefined;
  const receipts = readArray(result, 'receipts').map((receipt) => readObject(receipt, 'receipt'));
  const missing = new Set(block.txHashes);
  const range = { first: block.number, last: block.number, hash: block.hash };
  const messages = receipts.flatMap((receipt) => {
    const txHash = readHash(receipt.transactionHash, 'transactionHash');
    if (readHash(receipt.blockHash, 'blockHash') !== block.hash || !missing.delete(txHash)) {
      throw new ParseError('receipts', 'are those of another block');
    }
    if (mayMissWarpLogs(receipt.logsBloom, receipt.logs)) missing.add(txHash);
    const logged = parseWarpLogs(receipt.logs, chainID, range);
    if (logged.some((log) => log.txHash !== txHash)) {
      throw new ParseError('receipt', 'has a log of another transaction');
    }
    return logged;
  });
  if (missing.size > 0) return undefined;
  return inOrder(messages);
}

/**
 * Parses untrusted logs, and returns the Warp messages among them in the order of blocks and logs.
 *
 * @throws {ParseError} also if one is outside of the range
 */
export function parseWarpLogs(
  result: unknown,
  chainID: BlockchainID,
  { first, last, hash }: BlockRange,
): readonly LoggedMessage[] {
  const messages = readArray(result, 'logs').flatMap((value) => {
    const sent = parseWarpLog(value);
    if (sent === undefined) return [];
    if (sent.message.sourceChainID !== chainID) throw new ParseError('logs', 'have a message of another blockchain');
    const place = parsePlace(value);
    const isInRange = place.blockNumber >= first && place.blockNumber <= last;
    if (!isInRange || place.blockHash !== (hash ?? place.blockHash)) {
      throw new ParseError(
        'logs',
        `have one of block ${place.blockNumber} (${place.blockHash}), which is not asked for`,
      );
    }
    return [{ ...sent, ...place }];
  });
  return inOrder(messages);
}

/** @throws {ParseError} if two messages have the same place */
function inOrder(messages: readonly LoggedMessage[]): readonly LoggedMessage[] {
  const sorted = messages.toSorted((a, b) => a.blockNumber - b.blockNumber || a.logIndex - b.logIndex);
  for (const [index, { blockNumber, logIndex }] of sorted.entries()) {
    const next = sorted[index + 1];
    if (next?.blockNumber === blockNumber && next.logIndex === logIndex) {
      throw new ParseError('logs', `have index ${logIndex} of block ${blockNumber} twice`);
    }
  }
  return sorted;
}

function parsePlace(value: unknown) {
  const log = readObject(value, 'log');
  return {
    sender: parseSender(readArray(log.topics, 'topics')[1]),
    txHash: readHash(log.transactionHash, 'transactionHash'),
    blockHash: readHash(log.blockHash, 'blockHash'),
    blockNumber: readQuantity(log.blockNumber, 'blockNumber', MAX_BLOCK_NUMBER),
  };
}

/** Addresses are the last 20 of the 32 bytes of a topic. */
function parseSender(topic: unknown): string {
  return `0x${readHash(topic, 'topic').slice(-40)}`;
}

function readHash(value: unknown, what: string): string {
  if (readHex(value, what).length !== 32) throw new ParseError(what, 'must have 32 bytes');
  return readString(value, what).toLowerCase();
}
