import type * as Blst from '@chainsafe/blst';
import {
  BLS_PUBLIC_KEY_LENGTH,
  BLS_SIGNATURE_LENGTH,
  BLS_UNCOMPRESSED_PUBLIC_KEY_LENGTH,
  BLS_UNCOMPRESSED_SIGNATURE_LENGTH,
} from '../../warp/bls-lengths.ts';
import { isCompressed, isInfinity, parsePoint } from '../curve/point-encoding.ts';
import type { BlsBackend } from './bls-backend.ts';

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
  const backend: BlsBackend<Blst.PublicKey, Blst.Signature, Uint8Array> = {
    name: 'native',
    parsePublicKey: (bytes) =>
      parsePoint(bytes, BLS_PUBLIC_KEY_LENGTH, 'public key', (point) => blst.PublicKey.fromBytes(point)),
    parseSignature: (bytes) =>
      parsePoint(bytes, BLS_SIGNATURE_LENGTH, 'signature', (point) => blst.Signature.fromBytes(point)),
    sumEncodedSignatures(signatures) {
      if (signatures.some(isInfinity)) return undefined;
      try {
        return blst.aggregateSerializedSignatures([...signatures]);
      } catch {
        return undefined;
      }
    },
    sumPackedPublicKeys: (packed) => blst.aggregateSerializedPublicKeys([...packed]),
    aggregatePublicKeys: (keys) => blst.aggregatePublicKeys([...keys]),
    aggregateSignatures: (signatures) => blst.aggregateSignatures([...signatures]),
    hashToCurve: (message) => message,
    verify: (key, message, signature) => blst.verify(message, key, signature, false, true),
    verifyBatch: (checks) =>
      checks.length === 0 ||
      blst.verifyMultipleAggregateSignatures(
        checks.map(({ key: pk, message: msg, signature: sig }) => ({ msg, pk, sig })),
        false,
        true,
      ),
    encodeSignature: (signature) => signature.toBytes(),

    packedPublicKeyBytes: BLS_UNCOMPRESSED_PUBLIC_KEY_LENGTH,
    packedSignatureBytes: BLS_UNCOMPRESSED_SIGNATURE_LENGTH,
    packPublicKey: (key) => key.toBytes(false),
    unpackPublicKey: (packed) => blst.PublicKey.fromBytes(packed),
    packSignature: (signature) => signature.toBytes(false),
    unpackSignature: (packed) =>
      blst.Signature.fromBytes(isCompressed(packed) ? packed.subarray(0, BLS_SIGNATURE_LENGTH) : packed),
    packMessage: (message) => message,
    unpackMessage: (packed) => packed,
  };
  return backend as unknown as BlsBackend;
}
