import { ByteReader } from '../lib/encoding/byte-reader.ts';
import { ByteWriter } from '../lib/encoding/byte-writer.ts';
import { type BitSetSignature, readBitSetSignature, writeBitSetSignature } from './bit-set-signature.ts';
import { readUnsignedMessage, type UnsignedMessage } from './unsigned-message.ts';

/** UnsignedMessage bytes · BitSetSignature bytes: what destination chains take. */
export interface SignedMessage {
  readonly unsignedMessage: UnsignedMessage;
  readonly signature: BitSetSignature;
}

export function encodeSignedMessage({ unsignedMessage, signature }: SignedMessage): Uint8Array {
  const writer = new ByteWriter().bytes(unsignedMessage.bytes);
  writeBitSetSignature(writer, signature);
  return writer.finish();
}

/** @throws {ParseError} also on zero-padded signers, which every verifier rejects */
export function parseSignedMessage(bytes: Uint8Array): SignedMessage {
  const reader = new ByteReader(bytes, 'signed message');
  const unsignedMessage = readUnsignedMessage(reader, bytes);
  const signature = readBitSetSignature(reader);
  reader.end();
  return { unsignedMessage, signature };
}
