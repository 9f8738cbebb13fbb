import { sha256 } from '@noble/hashes/sha2.js';
import { base58 } from '@scure/base';

/** Warp messages as EVM transactions emit and take them. Bytes are hex, with or without `0x`, or a `Uint8Array`. */

/** The Warp precompile of the C-Chain and of every L1. */
export const WARP_PRECOMPILE = '0x0200000000000000000000000000000000000005';
/** keccak256 of `SendWarpMessage(address,bytes32,bytes)`. */
const SEND_WARP_MESSAGE = '0x56600c567728a800c0aa927500f831cb451df66a7af570eb4df4dfbf4674887d';

type Hex = `0x${string}`;

/** The access list of a transaction that delivers a message, in the form of ethers, viem and JSON-RPC. */
export type AccessList = { address: Hex; storageKeys: Hex[] }[];

/** A log of ethers (`index`), of viem (`logIndex`), or of `eth_getTransactionReceipt` (`logIndex` in hex). */
export interface ReceiptLog {
  readonly address: string;
  readonly topics: readonly string[];
  readonly data: string;
  readonly index?: number;
  readonly logIndex?: number | string | null;
}

export interface EmittedMessage {
  /** The unsigned message, in hex with `0x`: what `sign` takes. */
  readonly message: Hex;
  /** In cb58. */
  readonly messageId: string;
  /** The contract or account that called the precompile, in lower case. */
  readonly sender: Hex;
  /** Position among all logs of the block. */
  readonly logIndex: number;
}

const WORD_BYTES = 32;
/** A signature is the type ID, the length of the bit set, the bit set, and 96 bytes. */
const SIGNATURE_HEAD_BYTES = 4 + 4;
const BLS_SIGNATURE_BYTES = 96;

/** subnet-evm since Granite, and coreth: `precompile/contracts/warp`. */
const TRANSACTION_GAS = 21_000;
const VERIFICATION_GAS = 125_000;
const SIGNER_GAS = 250;
const READING_GAS = 750;
/** Taken by the verification, and again by each `getVerifiedWarpMessage`. */
const WORD_GAS = 512;
/** codec version, network ID, source chain */
const LENGTH_OFFSET = 2 + 4 + 32;
const HEADER_BYTES = LENGTH_OFFSET + 4;

/**
 * Packs a signed message into the bytes of a predicate: the message, one byte `0xff`, and zeros up to whole words of 32 bytes (subnet-evm
 * `predicate.PackPredicate`).
 *
 * @throws {TypeError} if it is not hex, or shorter than any message
 */
export function toPredicate(signedMessage: string | Uint8Array): Hex {
  const bytes = bytesOf(signedMessage);
  unsignedLength(bytes);
  const packed = new Uint8Array(WORD_BYTES * Math.ceil((bytes.length + 1) / WORD_BYTES));
  packed.set(bytes);
  packed[bytes.length] = 0xff;
  return toHex(packed);
}

/**
 * Makes the access list with which a transaction delivers a signed message: the precompile verifies it before the transaction is executed.
 *
 * @throws {TypeError} if it is not hex, or shorter than any message
 */
export function toAccessList(signedMessage: string | Uint8Array): AccessList {
  const words = toPredicate(signedMessage).slice(2).match(/.{64}/g) ?? [];
  return [{ address: WARP_PRECOMPILE, storageKeys: words.map((word): Hex => `0x${word}`) }];
}

/**
 * Returns the gas of a transaction that delivers a message, without the data of the call and what the contract does: the transaction, the verification
 * of the message, and one `getVerifiedWarpMessage`. A node that estimates gas verifies no message, so this has to be added up.
 *
 * @param signers number of validators that signed; those of the message by default
 * @throws {TypeError} if it is not hex, or no signed message
 */
export function gasOfDelivery(signedMessage: string | Uint8Array, signers = signersOf(bytesOf(signedMessage))): bigint {
  const words = (toPredicate(signedMessage).length - 2) / 2 / WORD_BYTES;
  return BigInt(TRANSACTION_GAS + VERIFICATION_GAS + READING_GAS + 2 * WORD_GAS * words + SIGNER_GAS * signers);
}

/** Returns the unsigned message at the beginning of a signed one. @param signedMessage in hex, whose prefix is kept */
export function unsignedMessageOf(signedMessage: string): string {
  const prefix = /^0x/i.test(signedMessage) ? 2 : 0;
  return signedMessage.slice(0, prefix + 2 * unsignedLength(bytesOf(signedMessage)));
}

/** Number of bits in the bit set of a signed message. */
function signersOf(bytes: Uint8Array): number {
  const signature = bytes.subarray(unsignedLength(bytes));
  const bits = signature.subarray(SIGNATURE_HEAD_BYTES, -BLS_SIGNATURE_BYTES);
  if (signature.length < SIGNATURE_HEAD_BYTES + BLS_SIGNATURE_BYTES) throw new TypeError('the message is not signed');
  return bits.reduce((sum, byte) => sum + byte.toString(2).replaceAll('0', '').length, 0);
}

/**
 * Reads the Warp messages that a transaction emitted from its receipt, in the order of its logs.
 *
 * @param receipt of ethers or viem, or the result of `eth_getTransactionReceipt`
 * @throws {TypeError} if a log of the precompile is malformed
 */
export function fromReceipt(receipt: { readonly logs: readonly ReceiptLog[] }): EmittedMessage[] {
  return receipt.logs
    .filter(({ address, topics }) => isOf(address, WARP_PRECOMPILE) && isOf(topics[0], SEND_WARP_MESSAGE))
    .map(({ topics, data, index, logIndex }) => {
      const [, sender = '', topicOfId = ''] = topics;
      const bytes = messageOfData(data);
      if (toHex(sha256(bytes)) !== topicOfId.toLowerCase())
        throw new TypeError('the log has the ID of another message');
      return {
        message: toHex(bytes),
        messageId: messageIdOf(bytes),
        sender: toHex(bytesOf(sender).subarray(-20)),
        logIndex: Number(index ?? logIndex),
      };
    });
}

/**
 * Returns the ID of a message in cb58: the sha256 of its unsigned part.
 *
 * @param message unsigned or signed
 * @throws {TypeError} if it is not hex, or shorter than it says
 */
export function messageIdOf(message: string | Uint8Array): string {
  const bytes = bytesOf(message);
  const id = sha256(bytes.subarray(0, unsignedLength(bytes)));
  const text = new Uint8Array(id.length + 4);
  text.set(id);
  text.set(sha256(id).subarray(-4), id.length);
  return base58.encode(text);
}

/** Length of the unsigned message at the start of the bytes. */
function unsignedLength(bytes: Uint8Array): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const length = bytes.length < HEADER_BYTES ? Infinity : HEADER_BYTES + view.getUint32(LENGTH_OFFSET);
  if (view.byteLength < length || view.getUint16(0) !== 0) throw new TypeError('the bytes are no Warp message');
  return length;
}

/** Reads ABI-encoded bytes: their offset, 32, and their length in words. */
function messageOfData(data: string): Uint8Array {
  const bytes = bytesOf(data);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const start = 2 * WORD_BYTES;
  const length =
    bytes.length < start || Number(toHex(bytes.subarray(0, WORD_BYTES))) !== WORD_BYTES
      ? undefined
      : view.getUint32(start - 4);
  if (length === undefined || start + length > bytes.length || length === 0) {
    throw new TypeError('the data of the log must be one value of ABI-encoded bytes');
  }
  const message = bytes.subarray(start, start + length);
  if (unsignedLength(message) !== length) throw new TypeError('the data of the log is no unsigned Warp message');
  return message;
}

function bytesOf(given: string | Uint8Array): Uint8Array {
  if (typeof given !== 'string') return given;
  const digits = /^0x/i.test(given) ? given.slice(2) : given;
  if (digits.length % 2 !== 0 || !/^[0-9a-f]*$/i.test(digits)) throw new TypeError('must be hex, with or without 0x');
  return Uint8Array.from(digits.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}

function toHex(bytes: Uint8Array): Hex {
  return `0x${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}

function isOf(text: string | undefined, expected: string): boolean {
  return text?.toLowerCase() === expected;
}
