import { parseHex } from '../../lib/encoding/bytes.ts';
import { ParseError } from '../../lib/encoding/parse-error.ts';
import { type BlockchainID, idFromBytes, type MessageID } from '../../warp/ids.ts';
import { parseUnsignedMessage, type UnsignedMessage } from '../../warp/unsigned-message.ts';
import { readArray, readHex, readObject, readString } from './json-fields.ts';
import { messageOfLogData, SEND_WARP_MESSAGE, WARP_PRECOMPILE } from './send-warp-log.ts';

/** The part of an EVM transaction's receipt that is about Warp messages. */
export interface EvmReceipt {
  readonly hasFailed: boolean;
  readonly logCount: number;
  /** In the order of their logs. */
  readonly messages: readonly SentMessage[];
}

export interface SentMessage {
  /** Position among all logs of the block, as receipts and explorers show it. */
  readonly logIndex: number;
  readonly message: UnsignedMessage;
}

/** In bytes: more than the logs of a transaction that uses the gas of a whole C-Chain block, in hex. */
export const RECEIPT_RESPONSE_BYTES = 4 * 1024 * 1024;
/** A log costs 375 gas or more. */
const MAX_LOGS = 16_384;
/** The next one is the end of a block in cursors. */
const MAX_LOG_INDEX = 0xffff_fffe;

/**
 * Parses an untrusted result of `eth_getTransactionReceipt`; undefined if the chain has accepted no such transaction.
 *
 * @param txHash in hex with `0x`, in lower case
 * @param chainID undefined if the ID of the chain is not known
 * @throws {ParseError}
 */
export function parseEvmReceipt(
  result: unknown,
  txHash: string,
  chainID: BlockchainID | undefined,
): EvmReceipt | undefined {
  if (result === null) return undefined;
  const receipt = readObject(result, 'receipt');
  if (readString(receipt.transactionHash, 'transactionHash').toLowerCase() !== txHash) {
    throw new ParseError('receipt', 'belongs to another transaction');
  }
  const status = readQuantity(receipt.status, 'status');
  if (status > 1) throw new ParseError('status', 'must be 0x0 or 0x1');
  const logs = readArray(receipt.logs, 'logs');
  if (logs.length > MAX_LOGS) throw new ParseError('logs', `are ${logs.length}, at most ${MAX_LOGS} are allowed`);
  const messages = logs.flatMap((log) => parseWarpLog(log) ?? []);
  if (new Set(messages.map(({ logIndex }) => logIndex)).size < messages.length) {
    throw new ParseError('logs', 'have the same logIndex twice');
  }
  if (messages.some(({ message }) => message.sourceChainID !== (chainID ?? message.sourceChainID))) {
    throw new ParseError('logs', 'have a message of another blockchain');
  }
  return { hasFailed: status === 0, logCount: logs.length, messages };
}

/** Returns undefined for a log of other contracts or events. @throws {ParseError} */
export function parseWarpLog(value: unknown): SentMessage | undefined {
  const log = readObject(value, 'log');
  if (readString(log.address, 'address').toLowerCase() !== WARP_PRECOMPILE) return undefined;
  const topics = readArray(log.topics, 'topics').map((topic) => readString(topic, 'topic').toLowerCase());
  if (topics[0] !== SEND_WARP_MESSAGE) return undefined;
  const text = messageOfLogData(readString(log.data, 'data'));
  if (text === undefined) throw new ParseError('data', 'must be one value of ABI-encoded bytes');
  const message = parseUnsignedMessage(parseHex(text, 'data'));
  if (message.id !== idFromBytes<MessageID>(readHex(topics[2], 'topic'), 'topic')) {
    throw new ParseError('topics', 'have another message ID than the message');
  }
  return { logIndex: readQuantity(log.logIndex, 'logIndex', MAX_LOG_INDEX), message };
}

/** Reads an integer of the Ethereum JSON-RPC. */
export function readQuantity(value: unknown, what: string, max = 0xffff_ffff): number {
  const text = readString(value, what);
  const isQuantity = /^0x(?:0|[1-9a-f][0-9a-f]{0,15})$/i.test(text);
  if (!isQuantity || Number(text) > max) throw new ParseError(what, 'must be a small integer in hex');
  return Number(text);
}
