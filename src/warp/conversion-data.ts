import { sha256 } from '@noble/hashes/sha2.js';
import { ByteWriter } from '../lib/encoding/byte-writer.ts';
import { BLS_PUBLIC_KEY_LENGTH } from './bls-lengths.ts';
import { type BlockchainID, idBytes, type SubnetID } from './ids.ts';

/**
 * The L1's data in a ConvertSubnetToL1Tx. Its encoding is only hashed, to the conversion ID (ACP-77):
 * `u16 0 · subnetID · managerChainID · u32 len managerAddress · u32 count · validators{u32 len nodeID · 48 BLS key · u64 weight}`.
 */
export interface ConversionData {
  readonly subnetID: SubnetID;
  readonly managerChainID: BlockchainID;
  readonly managerAddress: Uint8Array;
  readonly validators: readonly ConversionValidator[];
}

export interface ConversionValidator {
  readonly nodeID: Uint8Array;
  /** 48 bytes, compressed G1. */
  readonly blsPublicKey: Uint8Array;
  readonly weight: bigint;
}

/** Managers are 20-byte contract addresses; `MaxSubnetAddressLength` of the reference is 4,096. */
export const MAX_MANAGER_ADDRESS_LENGTH = 4096;

function encodeConversionData(data: ConversionData): Uint8Array {
  const writer = new ByteWriter()
    .u16(0)
    .bytes(idBytes(data.subnetID))
    .bytes(idBytes(data.managerChainID))
    .lengthPrefixed(data.managerAddress)
    .u32(data.validators.length);
  for (const { nodeID, blsPublicKey, weight } of data.validators) {
    writer.lengthPrefixed(nodeID).fixedBytes(blsPublicKey, BLS_PUBLIC_KEY_LENGTH).u64(weight);
  }
  return writer.finish();
}

export function conversionID(data: ConversionData): Uint8Array {
  return sha256(encodeConversionData(data));
}
