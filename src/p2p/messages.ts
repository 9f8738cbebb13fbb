import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { create, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { ParseError } from '../primitives/parse-error.ts';
import { MAX_FRAME_LENGTH } from './frames.ts';
import { AppRequestSchema, type Message, MessageSchema } from './gen/p2p_pb.js';

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

function decompress(bytes: Uint8Array): Uint8Array {
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
