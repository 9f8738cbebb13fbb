import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { copyBytes } from '../lib/encoding/bytes.ts';
import { ParseError } from '../lib/encoding/parse-error.ts';
import { BLS_SIGNATURE_LENGTH } from './bls-lengths.ts';
import { SignatureRequestSchema, SignatureResponseSchema } from './gen/sdk_pb.js';

/** The request of ACP-118 to sign a message. */
export interface SignatureRequest {
  /** Bytes of the unsigned message. */
  readonly message: Uint8Array;
  /** Required for some messages of the P-Chain, else empty. */
  readonly justification: Uint8Array;
}

/** The handler ID (uvarint) that prefixes every ACP-118 request; responses have no prefix. */
const SIGNATURE_REQUEST_HANDLER_ID = 0x02;
/**
 * A response has 98 bytes; the rest is for future fields. Without a limit, a peer could fill its 2 MiB frame with a million unknown
 * fields, which take a second to decode.
 */
const MAX_SIGNATURE_RESPONSE_LENGTH = 1024;
const DECODE_OPTIONS = { readUnknownFields: false };

/** Returns the `app_bytes` of an AppRequest to the source chain. */
export function encodeSignatureRequest(request: SignatureRequest): Uint8Array {
  const body = toBinary(SignatureRequestSchema, create(SignatureRequestSchema, request));
  const bytes = new Uint8Array(1 + body.length);
  bytes[0] = SIGNATURE_REQUEST_HANDLER_ID;
  bytes.set(body, 1);
  return bytes;
}

/** @throws {ParseError} */
export function parseSignatureRequest(bytes: Uint8Array): SignatureRequest {
  if (bytes[0] !== SIGNATURE_REQUEST_HANDLER_ID) {
    throw new ParseError('SignatureRequest', `handler ID is ${bytes[0]}, expected ${SIGNATURE_REQUEST_HANDLER_ID}`);
  }
  try {
    const { message, justification } = fromBinary(SignatureRequestSchema, bytes.subarray(1), DECODE_OPTIONS);
    // The decoder's bytes are views of the whole frame.
    return { message: copyBytes(message), justification: copyBytes(justification) };
  } catch (cause) {
    throw new ParseError('SignatureRequest', 'is not the protobuf message', { cause });
  }
}

/** Returns the bytes of an AppResponse. */
export function encodeSignatureResponse(signature: Uint8Array): Uint8Array {
  return toBinary(SignatureResponseSchema, create(SignatureResponseSchema, { signature }));
}

/** Returns the 96 bytes of the signature; they need not be a point of the curve. @throws {ParseError} */
export function parseSignatureResponse(bytes: Uint8Array): Uint8Array {
  if (bytes.length > MAX_SIGNATURE_RESPONSE_LENGTH) {
    throw new ParseError(
      'SignatureResponse',
      `has ${bytes.length} bytes, at most ${MAX_SIGNATURE_RESPONSE_LENGTH} are allowed`,
    );
  }
  let signature: Uint8Array;
  try {
    ({ signature } = fromBinary(SignatureResponseSchema, bytes, DECODE_OPTIONS));
  } catch (cause) {
    throw new ParseError('SignatureResponse', 'is not the protobuf message', { cause });
  }
  if (signature.length !== BLS_SIGNATURE_LENGTH) {
    throw new ParseError(
      'SignatureResponse',
      `signature has ${signature.length} bytes, expected ${BLS_SIGNATURE_LENGTH}`,
    );
  }
  // The decoder's bytes are a view of the frame, which a cached signature would keep in memory.
  return copyBytes(signature);
}
