import { ParseError } from '../../lib/encoding/parse-error.ts';
import type { BlockchainID } from '../../warp/ids.ts';
import { parseWarpLog, readQuantity, type SentMessage } from './evm-receipt.ts';
import { readArray, readHex, readObject, readString } from './json-fields.ts';

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
/** Heights are integers of JavaScript. */
const MAX_NUMBER = Number.MAX_SAFE_INTEGER;

/** Parses an untrusted block without its transactions; undefined for one that the node does not have. @throws {ParseError} */
export function parseEvmBlock(result: unknown): EvmBlock | undefined {
  if (result === null) return undefined;
  const block = readObject(result, 'block');
  const seconds = readQuantity(block.timestamp, 'timestamp', MAX_NUMBER);
  // ACP-226 adds it to the blocks of newer chains.
  const { timestampMilliseconds: milliseconds } = block;
  return {
    number: readQuantity(block.number, 'number', MAX_NUMBER),
    hash: readHash(block.hash, 'hash'),
    parentHash: readHash(block.parentHash, 'parentHash'),
    timeMs:
      typeof milliseconds === 'string'
        ? readQuantity(milliseconds, 'timestampMilliseconds', MAX_NUMBER)
        : 1_000 * seconds,
    txHashes: readArray(block.transactions, 'transactions').map((hash) => readHash(hash, 'transaction')),
  };
}

/**
 * Parses an untrusted result of `eth_getBlockReceipts`; undefined if the block is not executed yet, and so has no or too few receipts.
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
  const txHashes = new Set(block.txHashes);
  for (const receipt of receipts) {
    const isOfBlock =
      readHash(receipt.blockHash, 'blockHash') === block.hash &&
      txHashes.has(readHash(receipt.transactionHash, 'transactionHash'));
    if (!isOfBlock) throw new ParseError('receipts', 'are those of another block');
  }
  if (receipts.length < block.txHashes.length) return undefined;
  return parseWarpLogs(
    receipts.flatMap((receipt) => readArray(receipt.logs, 'logs')),
    chainID,
  );
}

/** Parses untrusted logs, and returns the Warp messages among them in the order of blocks and logs. @throws {ParseError} */
export function parseWarpLogs(result: unknown, chainID: BlockchainID): readonly LoggedMessage[] {
  return readArray(result, 'logs')
    .flatMap((value) => {
      const sent = parseWarpLog(value);
      if (sent === undefined) return [];
      if (sent.message.sourceChainID !== chainID) throw new ParseError('logs', 'have a message of another blockchain');
      return [{ ...sent, ...parsePlace(value) }];
    })
    .toSorted((a, b) => a.blockNumber - b.blockNumber || a.logIndex - b.logIndex);
}

function parsePlace(value: unknown) {
  const log = readObject(value, 'log');
  return {
    sender: parseSender(readArray(log.topics, 'topics')[1]),
    txHash: readHash(log.transactionHash, 'transactionHash'),
    blockHash: readHash(log.blockHash, 'blockHash'),
    blockNumber: readQuantity(log.blockNumber, 'blockNumber', MAX_NUMBER),
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
