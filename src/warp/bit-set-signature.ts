import { encodeBitSet, parseBitSet } from '../lib/encoding/bit-set.ts';
import { ByteReader } from '../lib/encoding/byte-reader.ts';
import type { ByteWriter } from '../lib/encoding/byte-writer.ts';
import { attempt, ParseError } from '../lib/encoding/parse-error.ts';
import { BLS_SIGNATURE_LENGTH } from './bls-lengths.ts';

/** `u32 0 · u32 len · signers · 96 signature` (avalanchego `vms/platformvm/warp/signature.go`) */
export interface BitSetSignature {
  /** Indices into the canonical validator set, ascending. */
  readonly signers: readonly number[];
  /** 96 bytes, compressed G2: the aggregate of the signers' signatures. */
  readonly signature: Uint8Array;
}

const BIT_SET_SIGNATURE_TYPE_ID = 0;
/** 8 KiB are 65,536 validators; the whole network plans for about 11,000. */
const MAX_SIGNERS_LENGTH = 8 * 1024;

export function writeBitSetSignature(writer: ByteWriter, { signers, signature }: BitSetSignature): void {
  writer
    .u32(BIT_SET_SIGNATURE_TYPE_ID)
    .lengthPrefixed(encodeBitSet(signers))
    .fixedBytes(signature, BLS_SIGNATURE_LENGTH);
}

/** @throws {ParseError} also on zero-padded signers, which every verifier rejects */
export function readBitSetSignature(reader: ByteReader): BitSetSignature {
  const { signers: bitSet, signature } = readParts(reader);
  const signers = parseBitSet(bitSet);
  if (signers === undefined) throw reader.error('signers are padded with a leading zero byte');
  return { signers, signature };
}

/** Tests for the form of a signature, with any signers. */
export function looksLikeBitSetSignature(bytes: Uint8Array): boolean {
  const reader = new ByteReader(bytes, 'BitSetSignature');
  return !(attempt(() => readParts(reader)) instanceof ParseError) && reader.remaining === 0;
}

function readParts(reader: ByteReader): { readonly signers: Uint8Array; readonly signature: Uint8Array } {
  reader.expectU32(BIT_SET_SIGNATURE_TYPE_ID, 'signature type ID');
  const signers = reader.lengthPrefixed(MAX_SIGNERS_LENGTH, 'signers');
  return { signers, signature: reader.bytes(BLS_SIGNATURE_LENGTH, 'signature') };
}
