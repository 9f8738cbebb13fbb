import type * as Blst from '@chainsafe/blst';
import { ParseError } from '../../lib/encoding/parse-error.ts';
import {
  BLS_PUBLIC_KEY_LENGTH,
  BLS_SIGNATURE_LENGTH,
  BLS_UNCOMPRESSED_PUBLIC_KEY_LENGTH,
  BLS_UNCOMPRESSED_SIGNATURE_LENGTH,
} from '../../warp/bls-lengths.ts';
import { isEncodingOf } from '../curve/point-encoding.ts';
import type { BlsBackend, HashedMessage, PublicKey, Signature } from './bls-backend.ts';

const COMPRESSED_FLAG = 0x80;
const INFINITY_FLAG = 0x40;

/** The package is optional, and for some platforms it has no binary. */
export class NativeBackendMissing extends Error {
  override readonly name = 'NativeBackendMissing';
}

/**
 * blst, the library that the reference node calls, through @chainsafe/blst. It hashes a message only when it verifies it, so a
 * hashed message here is the message itself.
 *
 * @throws {NativeBackendMissing}
 */
export async function loadNativeBackend(): Promise<BlsBackend> {
  let blst: typeof Blst;
  try {
    blst = await import('@chainsafe/blst');
  } catch (cause) {
    throw new NativeBackendMissing(
      'bls.backend is "native", but the optional package @chainsafe/blst cannot be loaded here: install it, or set "noble"',
      { cause },
    );
  }
  return {
    name: 'native',
    parsePublicKey: (bytes) =>
      parsePoint(
        (point) => blst.PublicKey.fromBytes(point),
        ...[bytes, BLS_PUBLIC_KEY_LENGTH, 'public key' as const],
      ) as unknown as PublicKey,
    parseSignature: (bytes) =>
      parsePoint(
        (point) => blst.Signature.fromBytes(point),
        ...[bytes, BLS_SIGNATURE_LENGTH, 'signature' as const],
      ) as unknown as Signature,
    sumEncodedSignatures(signatures) {
      if (signatures.some(isInfinity)) return undefined;
      try {
        return blst.aggregateSerializedSignatures([...signatures]) as unknown as Signature;
      } catch {
        return undefined;
      }
    },
    sumPackedPublicKeys: (packed) => blst.aggregateSerializedPublicKeys([...packed]) as unknown as PublicKey,
    aggregatePublicKeys: (keys) => blst.aggregatePublicKeys(keys.map(blstKey)) as unknown as PublicKey,
    aggregateSignatures: (signatures) =>
      blst.aggregateSignatures(signatures.map(blstSignature)) as unknown as Signature,
    hashToCurve: (message) => message as unknown as HashedMessage,
    hashesWhenVerifying: true,
    verify: (key, message, signature) =>
      blst.verify(blstMessage(message), blstKey(key), blstSignature(signature), false, true),
    verifyBatch: (checks) =>
      checks.length === 0 ||
      blst.verifyMultipleAggregateSignatures(
        checks.map(({ key, message, signature }) => ({
          msg: blstMessage(message),
          pk: blstKey(key),
          sig: blstSignature(signature),
        })),
        false,
        true,
      ),
    encodeSignature: (signature) => blstSignature(signature).toBytes(),
    isEncodingOf: (encoded, signature) => isEncodingOf(encoded, blstSignature(signature).toBytes(false)),

    packedPublicKeyBytes: BLS_UNCOMPRESSED_PUBLIC_KEY_LENGTH,
    packedSignatureBytes: BLS_UNCOMPRESSED_SIGNATURE_LENGTH,
    packPublicKey: (key) => blstKey(key).toBytes(false),
    unpackPublicKey: (packed) => blst.PublicKey.fromBytes(packed) as unknown as PublicKey,
    packSignature: (signature) => blstSignature(signature).toBytes(false),
    unpackSignature: (packed) =>
      blst.Signature.fromBytes(
        isCompressed(packed) ? packed.subarray(0, BLS_SIGNATURE_LENGTH) : packed,
      ) as unknown as Signature,
    packMessage: blstMessage,
    unpackMessage: (packed) => packed as unknown as HashedMessage,
  };
}

function isInfinity(bytes: Uint8Array): boolean {
  return ((bytes[0] ?? 0) & INFINITY_FLAG) !== 0;
}

function isCompressed(packed: Uint8Array): boolean {
  return ((packed[0] ?? 0) & COMPRESSED_FLAG) !== 0;
}

function blstKey(key: PublicKey): Blst.PublicKey {
  return key as unknown as Blst.PublicKey;
}

function blstSignature(signature: Signature): Blst.Signature {
  return signature as unknown as Blst.Signature;
}

function blstMessage(message: HashedMessage): Uint8Array {
  return message as unknown as Uint8Array;
}

function parsePoint<P>(
  fromBytes: (bytes: Uint8Array) => P,
  bytes: Uint8Array,
  length: number,
  what: 'public key' | 'signature',
): P {
  if (bytes.length !== length) throw new ParseError(what, `must have ${length} bytes, has ${bytes.length}`);
  let point: P;
  try {
    point = fromBytes(bytes);
  } catch (cause) {
    throw new ParseError(what, 'is not a compressed point on the curve', { cause });
  }
  // Encodings of infinity with any other bit set were refused above.
  if (isInfinity(bytes)) throw new ParseError(what, 'is the point at infinity');
  return point;
}
