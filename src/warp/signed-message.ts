import { encodeBitSet, parseBitSet } from '../primitives/bit-set.ts';
import { ByteReader } from '../primitives/byte-reader.ts';
import { ByteWriter } from '../primitives/byte-writer.ts';
import { readUnsignedMessage, type UnsignedMessage } from './unsigned-message.ts';

/** avalanchego `vms/platformvm/warp/signature.go`: the only signature type, with type ID 0. */
export interface BitSetSignature {
  /** Indices into the canonical validator set, ascending. */
  readonly signers: readonly number[];
  /** 96 bytes, compressed G2: the aggregate of the signers' signatures. */
  readonly signature: Uint8Array;
}

/** UnsignedMessage bytes · `u32 0` · `u32 len` · signers · 96-byte signature: what destination chains take. */
export interface SignedMessage {
  readonly unsignedMessage: UnsignedMessage;
  readonly signature: BitSetSignature;
}

const BIT_SET_SIGNATURE_TYPE_ID = 0;
export const SIGNATURE_LENGTH = 96;
/** 8 KiB are 65,536 validators; the whole network plans for about 11,000. */
const MAX_SIGNERS_LENGTH = 8 * 1024;

export function encodeSignedMessage(message: SignedMessage): Uint8Array {
  const { signers, signature } = message.signature;
  return new ByteWriter()
    .bytes(message.unsignedMessage.bytes)
    .u32(BIT_SET_SIGNATURE_TYPE_ID)
    .lengthPrefixed(encodeBitSet(signers))
    .fixedBytes(signature, SIGNATURE_LENGTH)
    .finish();
}

/** @throws {ParseError} also on zero-padded signers, which every verifier rejects */
export function parseSignedMessage(bytes: Uint8Array): SignedMessage {
  const reader = new ByteReader(bytes, 'signed message');
  const unsignedMessage = readUnsignedMessage(reader, bytes);
  reader.expectU32(BIT_SET_SIGNATURE_TYPE_ID, 'signature type ID');
  const signers = parseBitSet(reader.lengthPrefixed(MAX_SIGNERS_LENGTH, 'signers'));
  if (signers === undefined) throw reader.error('signers are padded with a leading zero byte');
  const signature = reader.bytes(SIGNATURE_LENGTH, 'signature');
  reader.end();
  return { unsignedMessage, signature: { signers, signature } };
}
