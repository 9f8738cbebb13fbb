import { ByteReader } from '../lib/encoding/byte-reader.ts';
import { ByteWriter } from '../lib/encoding/byte-writer.ts';
import { ID_LENGTH } from './ids.ts';

/** Warp payloads of the reference node (avalanchego `vms/platformvm/warp/payload`). EVM chains sign both kinds. */
export type WarpPayload = Hash | AddressedCall;

/** `u16 0 · u32 0 · 32 hash`: an accepted block's hash. */
export interface Hash {
  readonly kind: 'Hash';
  readonly hash: Uint8Array;
}

/** `u16 0 · u32 1 · u32 len · sourceAddress · u32 len · payload` */
export interface AddressedCall {
  readonly kind: 'AddressedCall';
  /** 20 bytes from an EVM, none from the P-Chain. */
  readonly sourceAddress: Uint8Array;
  readonly payload: Uint8Array;
}

const HASH_TYPE_ID = 0;
const ADDRESSED_CALL_TYPE_ID = 1;
/** `MaxMessageSize` of the payload codec, for the whole payload with its header. */
export const MAX_WARP_PAYLOAD_LENGTH = 24 * 1024;

export function encodeWarpPayload(payload: WarpPayload): Uint8Array {
  const writer = new ByteWriter().u16(0);
  switch (payload.kind) {
    case 'Hash':
      return writer.u32(HASH_TYPE_ID).fixedBytes(payload.hash, ID_LENGTH).finish();
    case 'AddressedCall':
      return writer
        .u32(ADDRESSED_CALL_TYPE_ID)
        .lengthPrefixed(payload.sourceAddress)
        .lengthPrefixed(payload.payload)
        .finish();
  }
}

/** Encodes a call that no contract has sent: of the P-Chain, or of the nodes of a chain. */
export function createSourcelessCall(payload: Uint8Array): Uint8Array {
  return encodeWarpPayload({ kind: 'AddressedCall', sourceAddress: new Uint8Array(), payload });
}

export function parseWarpPayload(bytes: Uint8Array): WarpPayload {
  const reader = new ByteReader(bytes, 'Warp payload');
  if (bytes.length > MAX_WARP_PAYLOAD_LENGTH) {
    throw reader.error(`has ${bytes.length} bytes, at most ${MAX_WARP_PAYLOAD_LENGTH} are allowed`);
  }
  reader.codecVersion();
  const typeID = reader.u32('type ID');
  switch (typeID) {
    case HASH_TYPE_ID: {
      const hash = reader.bytes(ID_LENGTH, 'hash');
      reader.end();
      return { kind: 'Hash', hash };
    }
    case ADDRESSED_CALL_TYPE_ID: {
      const sourceAddress = reader.lengthPrefixed(MAX_WARP_PAYLOAD_LENGTH, 'sourceAddress');
      const payload = reader.lengthPrefixed(MAX_WARP_PAYLOAD_LENGTH, 'payload');
      reader.end();
      return { kind: 'AddressedCall', sourceAddress, payload };
    }
    default:
      throw reader.error(`unknown type ID ${typeID}`);
  }
}
