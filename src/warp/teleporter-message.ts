import { equalBytes } from '../lib/encoding/bytes.ts';
import { ParseError } from '../lib/encoding/parse-error.ts';
import { type BlockchainID, idBytes, idFromBytes } from './ids.ts';

/**
 * The message of a Teleporter contract, in the payload of an AddressedCall: the ABI encoding of one struct (icm-contracts
 * `ITeleporterMessenger.sol`). Addresses have 20 bytes.
 */
export interface TeleporterMessage {
  readonly kind: 'TeleporterMessage';
  readonly messageNonce: bigint;
  readonly originSenderAddress: Uint8Array;
  readonly destinationBlockchainID: BlockchainID;
  readonly destinationAddress: Uint8Array;
  readonly requiredGasLimit: bigint;
  /** Empty allows all relayers. */
  readonly allowedRelayerAddresses: readonly Uint8Array[];
  readonly receipts: readonly TeleporterReceipt[];
  /** Opaque data of the contracts that use Teleporter. */
  readonly message: Uint8Array;
}

export interface TeleporterReceipt {
  readonly receivedMessageNonce: bigint;
  readonly relayerRewardAddress: Uint8Array;
}

const WHAT = 'TeleporterMessage';
const WORD = 32;
const ADDRESS_LENGTH = 20;
/** Words of the struct: five fields, and the offsets of three fields of variable length. */
const HEAD_WORDS = 8;
/** The struct follows one word with its offset. */
const STRUCT_OFFSET = WORD;

export function encodeTeleporterMessage(message: TeleporterMessage): Uint8Array {
  const { allowedRelayerAddresses: relayers, receipts } = message;
  const relayersAt = HEAD_WORDS * WORD;
  const receiptsAt = relayersAt + WORD * (1 + relayers.length);
  const messageAt = receiptsAt + WORD * (1 + 2 * receipts.length);
  const words = [
    word(BigInt(STRUCT_OFFSET)),
    word(message.messageNonce),
    addressWord(message.originSenderAddress),
    idBytes(message.destinationBlockchainID),
    addressWord(message.destinationAddress),
    word(message.requiredGasLimit),
    ...[relayersAt, receiptsAt, messageAt].map((offset) => word(BigInt(offset))),
    word(BigInt(relayers.length)),
    ...relayers.map(addressWord),
    word(BigInt(receipts.length)),
    ...receipts.flatMap((receipt) => [word(receipt.receivedMessageNonce), addressWord(receipt.relayerRewardAddress)]),
    word(BigInt(message.message.length)),
  ];
  const bytes = new Uint8Array(words.length * WORD + Math.ceil(message.message.length / WORD) * WORD);
  for (const [index, value] of words.entries()) bytes.set(value, index * WORD);
  bytes.set(message.message, words.length * WORD);
  return bytes;
}

/** Parses only the exact encoding of contracts, so that other payloads are not mistaken for a Teleporter message. */
export function parseTeleporterMessage(bytes: Uint8Array): TeleporterMessage {
  const reader = new WordReader(bytes);
  reader.offset(STRUCT_OFFSET, 'the struct');
  const messageNonce = reader.number('messageNonce');
  const originSenderAddress = reader.address('originSenderAddress');
  const destinationBlockchainID = idFromBytes<BlockchainID>(reader.bytes(WORD, 'destinationBlockchainID'), WHAT);
  const destinationAddress = reader.address('destinationAddress');
  const requiredGasLimit = reader.number('requiredGasLimit');
  // The comparison at the end checks the offsets, which follow from the lengths.
  for (const field of ['allowedRelayerAddresses', 'receipts', 'message']) reader.number(`the offset of ${field}`);
  const relayerCount = reader.count('allowedRelayerAddresses', WORD);
  const allowedRelayerAddresses = Array.from({ length: relayerCount }, () => reader.address('allowedRelayerAddresses'));
  const receiptCount = reader.count('receipts', 2 * WORD);
  const receipts = Array.from({ length: receiptCount }, () => ({
    receivedMessageNonce: reader.number('receivedMessageNonce'),
    relayerRewardAddress: reader.address('relayerRewardAddress'),
  }));
  const message = reader.bytes(reader.count('message', 1), 'message');
  const parsed: TeleporterMessage = {
    kind: 'TeleporterMessage',
    messageNonce,
    originSenderAddress,
    destinationBlockchainID,
    destinationAddress,
    requiredGasLimit,
    allowedRelayerAddresses,
    receipts,
    message,
  };
  if (!equalBytes(encodeTeleporterMessage(parsed), bytes)) throw new ParseError(WHAT, 'is not encoded as contracts do');
  return parsed;
}

class WordReader {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  bytes(length: number, field: string): Uint8Array {
    const end = this.#at + length;
    if (end > this.#bytes.length) throw new ParseError(WHAT, `too short: ${field} needs ${length} bytes`);
    const taken = new Uint8Array(this.#bytes.subarray(this.#at, end));
    this.#at = end;
    return taken;
  }

  number(field: string): bigint {
    const view = Buffer.from(this.bytes(WORD, field).buffer);
    return BigInt(`0x${view.toString('hex')}`);
  }

  offset(expected: number, field: string): void {
    const found = this.number(`the offset of ${field}`);
    if (found !== BigInt(expected)) throw new ParseError(WHAT, `${field} is at ${found}, expected ${expected}`);
  }

  address(field: string): Uint8Array {
    return this.bytes(WORD, field).slice(WORD - ADDRESS_LENGTH);
  }

  /** Checks the count before items are read, so that a huge one costs nothing. */
  count(field: string, itemLength: number): number {
    const count = this.number(`the length of ${field}`);
    if (count * BigInt(itemLength) > BigInt(this.#bytes.length - this.#at)) {
      throw new ParseError(WHAT, `${field} has ${count} items, more than fit`);
    }
    return Number(count);
  }
}

function word(value: bigint): Uint8Array {
  if (value < 0n || value >= 2n ** 256n) throw new RangeError(`${value} does not fit into 256 bits`);
  return Buffer.from(value.toString(16).padStart(2 * WORD, '0'), 'hex');
}

function addressWord(address: Uint8Array): Uint8Array {
  if (address.length !== ADDRESS_LENGTH) throw new RangeError(`an address of ${address.length} bytes`);
  const bytes = new Uint8Array(WORD);
  bytes.set(address, WORD - ADDRESS_LENGTH);
  return bytes;
}
