import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { create, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { ParseError } from '../../lib/encoding/parse-error.ts';
import { AppRequestSchema, type Message, MessageSchema } from '../gen/p2p_pb.js';
import { MAX_FRAME_LENGTH } from './frames.ts';

const WHAT = 'p2p message';

/** Message of a frame, decompressed. `case` is undefined for consensus, bootstrapping and state sync, which a client ignores. */
export type PeerMessage = Exclude<Message['message'], { case: 'compressedZstd' }>;
export type PeerMessageInit = Exclude<
  NonNullable<MessageInitShape<typeof MessageSchema>['message']>,
  { case: 'compressedZstd' } | { case?: undefined }
>;

/** Encodes the payload of a frame. Nodes compress PeerList, AppRequest, AppResponse and AppError, and accept any message either way. */
export function encodeMessage(message: PeerMessageInit, compression: 'none' | 'zstd' = 'none'): Uint8Array {
  const plain = toBinary(MessageSchema, create(MessageSchema, { message }));
  if (compression === 'none') return plain;
  const value = new Uint8Array(zstdCompressSync(plain));
  return toBinary(MessageSchema, create(MessageSchema, { message: { case: 'compressedZstd', value } }));
}

/** Fields of an AppRequest before `app_bytes`, which is last and the only long one. */
interface AppRequestHead {
  readonly chainId: Uint8Array;
  readonly requestId: number;
  /** Nanoseconds. */
  readonly deadline: bigint;
}

/** Encodes an AppRequest up to the content of `app_bytes`, so that one array is sent to many nodes without a copy for each. */
export function encodeAppRequestHead(
  { chainId, requestId, deadline }: AppRequestHead,
  appBytesLength: number,
): Uint8Array {
  const { appRequest } = MessageSchema.field;
  const { chainId: chain, requestId: id, deadline: until, appBytes } = AppRequestSchema.field;
  const fields = new BinaryWriter()
    .tag(chain.number, WireType.LengthDelimited)
    .bytes(chainId)
    .tag(id.number, WireType.Varint)
    .uint32(requestId)
    .tag(until.number, WireType.Varint)
    .uint64(deadline)
    .tag(appBytes.number, WireType.LengthDelimited)
    .uint32(appBytesLength)
    .finish();
  return new BinaryWriter()
    .tag(appRequest.number, WireType.LengthDelimited)
    .uint32(fields.length + appBytesLength)
    .raw(fields)
    .finish();
}

/** Tag of `compressed_zstd`, the first byte of each compressed payload. */
const COMPRESSED_TAG = 0x12;

/**
 * Parses an untrusted payload. Decompression stops at {@link MAX_FRAME_LENGTH}, like in the reference node: a few bytes of zstd can
 * expand to gigabytes.
 *
 * @param maxLength longer messages are not decoded and have no `case`: two megabytes of tiny fields take a third of a second
 * @throws {ParseError} for malformed protobuf or zstd, and for nested compression
 */
export function parseMessage(payload: Uint8Array, maxLength: number = MAX_FRAME_LENGTH): PeerMessage {
  if (payload.length > maxLength && payload[0] !== COMPRESSED_TAG) return { case: undefined };
  const outer = decode(payload);
  if (outer.case !== 'compressedZstd') return outer;
  const plain = decompress(outer.value);
  if (plain.length > maxLength) return { case: undefined };
  const inner = decode(plain);
  if (inner.case === 'compressedZstd') throw new ParseError(WHAT, 'is compressed twice');
  return inner;
}

function decode(bytes: Uint8Array): Message['message'] {
  try {
    return fromBinary(MessageSchema, bytes, { readUnknownFields: false }).message;
  } catch (cause) {
    throw new ParseError(WHAT, 'is not valid protobuf', { cause });
  }
}

const ZSTD_MAGIC = 0xfd2fb528;
/** Descriptors of a single-segment frame without checksum and dictionary, with a content size of one byte, or two from 256 on. */
const [SHORT_FRAME, LONGER_FRAME] = [0x20, 0x60];
const FRAME_HEADER_LENGTH = 5;
const BLOCK_HEADER_LENGTH = 3;
const LAST_STORED_BLOCK = 0x01;

/**
 * Returns the content of a zstd frame with one raw block (RFC 8878, 3.1.1), or undefined for other frames. Responses with a signature
 * are such frames, and the library's stream setup would double the cost of each.
 */
function storedContent(bytes: Uint8Array): Uint8Array | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < FRAME_HEADER_LENGTH + 2 + BLOCK_HEADER_LENGTH) return undefined;
  const descriptor = view.getUint8(4);
  if (view.getUint32(0, true) !== ZSTD_MAGIC || (descriptor !== SHORT_FRAME && descriptor !== LONGER_FRAME)) {
    return undefined;
  }
  const isLonger = descriptor === LONGER_FRAME;
  const size = isLonger ? view.getUint16(FRAME_HEADER_LENGTH, true) + 256 : view.getUint8(FRAME_HEADER_LENGTH);
  const blockAt = FRAME_HEADER_LENGTH + (isLonger ? 2 : 1);
  const blockHeader = view.getUint16(blockAt, true) | (view.getUint8(blockAt + 2) << 16);
  const contentAt = blockAt + BLOCK_HEADER_LENGTH;
  const isWhole = blockHeader === ((size << 3) | LAST_STORED_BLOCK) && bytes.length === contentAt + size;
  return isWhole ? new Uint8Array(bytes.subarray(contentAt)) : undefined;
}

function decompress(bytes: Uint8Array): Uint8Array {
  const stored = storedContent(bytes);
  if (stored !== undefined) return stored;
  try {
    // A copy: the result is a view into a chunk of many KiB, which a stored signature would keep alive.
    return new Uint8Array(zstdDecompressSync(bytes, { maxOutputLength: MAX_FRAME_LENGTH }));
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') {
      throw new ParseError(WHAT, `expands to more than ${MAX_FRAME_LENGTH} bytes`, { cause });
    }
    throw new ParseError(WHAT, 'is not valid zstd', { cause });
  }
}
