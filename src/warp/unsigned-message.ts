import { hash } from 'node:crypto';
import { ByteReader } from '../lib/encoding/byte-reader.ts';
import { ByteWriter } from '../lib/encoding/byte-writer.ts';
import { copyBytes } from '../lib/encoding/bytes.ts';
import { looksLikeBitSetSignature } from './bit-set-signature.ts';
import { type BlockchainID, ID_LENGTH, idBytes, idFromBytes, type MessageID } from './ids.ts';

/**
 * The message that validators sign: `u16 0 · u32 networkID · 32 sourceChainID · u32 len · payload`
 * (avalanchego `vms/platformvm/warp/unsigned_message.go`).
 */
export interface UnsignedMessage {
  readonly networkID: number;
  readonly sourceChainID: BlockchainID;
  /** Opaque, because validators decide what they sign. */
  readonly payload: Uint8Array;
  /** The encoding; BLS signatures are over these bytes. */
  readonly bytes: Uint8Array;
  /** sha256 of {@link bytes}. */
  readonly id: MessageID;
}

/**
 * Longest accepted payload. The reference limits addressed calls to 24 KiB, but not messages. A message must fit into a peer-to-peer
 * frame (2 MiB) to be signed, and messages of public networks are far below 256 KiB.
 */
export const MAX_PAYLOAD_LENGTH = 256 * 1024;
/** codec version, network ID, source chain, payload length */
const HEADER_LENGTH = 2 + 4 + ID_LENGTH + 4;
export const MAX_UNSIGNED_MESSAGE_LENGTH = HEADER_LENGTH + MAX_PAYLOAD_LENGTH;

export function createUnsignedMessage(
  networkID: number,
  sourceChainID: BlockchainID,
  payload: Uint8Array,
): UnsignedMessage {
  const bytes = new ByteWriter().u16(0).u32(networkID).bytes(idBytes(sourceChainID)).lengthPrefixed(payload).finish();
  return { networkID, sourceChainID, payload, bytes, id: messageID(bytes) };
}

/** @throws {ParseError} with a hint if the bytes are a signed message, a common mistake of clients */
export function parseUnsignedMessage(bytes: Uint8Array): UnsignedMessage {
  const reader = new ByteReader(bytes, 'UnsignedMessage');
  const message = readUnsignedMessage(reader, bytes);
  const { length } = message.bytes;
  if (reader.remaining > 0 && looksLikeBitSetSignature(bytes.subarray(length))) {
    throw reader.error(`is a signed message; the unsigned one is its first ${length} bytes`);
  }
  reader.end();
  return message;
}

/** Reads the message at the start of `bytes`, where `reader` is. @throws {ParseError} */
export function readUnsignedMessage(reader: ByteReader, bytes: Uint8Array): UnsignedMessage {
  reader.codecVersion();
  const networkID = reader.u32('networkID');
  const sourceChainID = idFromBytes<BlockchainID>(reader.bytes(ID_LENGTH, 'sourceChainID'), 'sourceChainID');
  const payload = reader.lengthPrefixed(MAX_PAYLOAD_LENGTH, 'payload');
  const own = copyBytes(bytes.subarray(0, bytes.length - reader.remaining));
  return { networkID, sourceChainID, payload, bytes: own, id: messageID(own) };
}

function messageID(bytes: Uint8Array): MessageID {
  return idFromBytes<MessageID>(hash('sha256', bytes, 'buffer'), 'MessageID');
}
