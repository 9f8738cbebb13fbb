import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { create, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { ParseError } from '../../lib/encoding/parse-error.ts';
import { AppRequestSchema, type Message, MessageSchema } from '../gen/p2p_pb.js';
import { MAX_FRAME_LENGTH } from './frames.ts';

const WHAT = 'p2p message';

/**
 * What a frame carries, without the compression around it. `case` is undefined for the messages of consensus,
 * bootstrapping and state sync, which a client has no use for.
 */
export type PeerMessage = Exclude<Message['message'], { case: 'compressedZstd' }>;
export type PeerMessageInit = Exclude<
  NonNullable<MessageInitShape<typeof MessageSchema>['message']>,
  { case: 'compressedZstd' } | { case?: undefined }
>;

/**
 * The payload of a frame. Nodes compress PeerList, AppRequest, AppResponse and AppError, and take any message either way.
 */
export function encodeMessage(message: PeerMessageInit, compression: 'none' | 'zstd' = 'none'): Uint8Array {
  const plain = toBinary(MessageSchema, create(MessageSchema, { message }));
  if (compression === 'none') return plain;
  const value = new Uint8Array(zstdCompressSync(plain));
  return toBinary(MessageSchema, create(MessageSchema, { message: { case: 'compressedZstd', value } }));
}

/** All of an AppRequest but its last field, which is the only long one. */
export interface AppRequestHead {
  readonly chainId: Uint8Array;
  readonly requestId: number;
  /** Nanoseconds. */
  readonly deadline: bigint;
}

/**
 * An AppRequest up to its `app_bytes`, which are to follow as they are: one and the same array can so be sent to many nodes, without a
 * copy for each of them.
 */
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

/** Tag of the field `compressed_zstd`, with which every compressed payload starts. */
const COMPRESSED_TAG = 0x12;

/**
 * Reads an untrusted payload. Decompression stops at {@link MAX_FRAME_LENGTH}, as in the reference node: a few bytes of
 * zstd can expand to gigabytes.
 *
 * @param maxLength of a longer message nothing is decoded and `case` is undefined: two megabytes of tiny fields take a third of a
 *   second, and nothing that a client needs is long
 * @throws {ParseError} on anything that is no protobuf message or no zstd frame, and on compression within compression
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
/** Of a frame in one segment without checksum and dictionary: the size of the content takes one byte, or two where it is from 256 on. */
const [SHORT_FRAME, LONGER_FRAME] = [0x20, 0x60];
const FRAME_HEADER_LENGTH = 5;
const BLOCK_HEADER_LENGTH = 3;
const LAST_STORED_BLOCK = 0x01;

/**
 * The content of a frame that stores it as it is, in one block (RFC 8878, 3.1.1): so are all short answers, as a signature cannot be
 * compressed, and for each the library would set up a stream with its buffers, in the time of the rest of the answer. Undefined
 * for all other frames, good or not.
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
    // A copy: the result is a view into a chunk of many KiB, and a signature that is kept would keep all of it.
    return new Uint8Array(zstdDecompressSync(bytes, { maxOutputLength: MAX_FRAME_LENGTH }));
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') {
      throw new ParseError(WHAT, `expands to more than ${MAX_FRAME_LENGTH} bytes`, { cause });
    }
    throw new ParseError(WHAT, 'is not valid zstd', { cause });
  }
}
